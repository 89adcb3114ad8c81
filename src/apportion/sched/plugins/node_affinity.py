"""NodeAffinity: nodeSelector and required terms filter, preferred terms score."""

from collections.abc import Mapping, Sequence

from apportion.api.core import Node, PreferredSchedulingTerm
from apportion.api.selectors import compile_node_selector
from apportion.sched.framework.columns import MaskColumn, Scored, normalize_default
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import unresolvable
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import Bools, Int64s, NodeMask, NodeTable, PodInfo, node_names_of

_COLUMNS_MAX = 1024


class NodeAffinity:
    """Columns are shared by pods with equal selectors and terms."""

    name = "NodeAffinity"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._status = unresolvable(self.name, "node(s) didn't match Pod's node affinity/selector")
        self._filters: dict[int, tuple[NodeMask, MaskColumn]] = {}
        self._scores: dict[tuple[PreferredSchedulingTerm, ...], PreferenceScore] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of admitted nodes, and the named nodes when every required term names nodes."""
        spec = pod.kind.template.spec
        mask = self._state.masks.admitted(spec)
        if mask is None:
            return NOTHING_TO_FILTER
        known = self._filters.get(id(mask))
        if known is None or known[0] is not mask:
            if len(self._filters) >= _COLUMNS_MAX:
                self._filters.clear()
            known = self._filters[id(mask)] = (mask, MaskColumn(mask, self._status))
        names = node_names_of(spec.affinity.node_affinity if spec.affinity else None)
        return PreFilterResult(column=known[1], node_names=names)

    def pre_score(self, pod: PodInfo, state: object) -> "PreferenceScore | None":
        """Return the column that adds up the weights of matching preferred terms; None without such terms."""
        affinity = pod.kind.template.spec.affinity
        if affinity is None or affinity.node_affinity is None or not affinity.node_affinity.preferred:
            return None
        terms = affinity.node_affinity.preferred
        column = self._scores.get(terms)
        if column is None:
            if len(self._scores) >= _COLUMNS_MAX:
                self._scores.clear()
            column = self._scores[terms] = PreferenceScore(self._state.nodes, self._masks(terms))
        return column

    def _masks(self, terms: tuple[PreferredSchedulingTerm, ...]) -> list[tuple[int, NodeMask]]:
        # an empty preference matches every node in name but is ignored, as upstream does
        weighted = [t for t in terms if t.weight]
        return [(t.weight, self._state.masks.term(t.preference)) for t in weighted]

    def events_to_register(self) -> Sequence[Registration]:
        """Nodes that appear or change their labels."""
        event = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return [Registration(self.name, event, self._hint_node)]

    def _hint_node(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(new, Node):
            return Hint.SKIP
        return Hint.QUEUE if _admits(pod, new) and not (isinstance(old, Node) and _admits(pod, old)) else Hint.SKIP


def _admits(pod: PodInfo, node: Node) -> bool:
    spec = pod.kind.template.spec
    labels: Mapping[str, str] = node.metadata.labels
    if any(labels.get(k) != v for k, v in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    return compile_node_selector(affinity.required).matches(node.metadata.name, labels)


class PreferenceScore(Scored):
    """The weights of the preferred terms that a node meets, scaled so that the best feasible node has 100."""

    __slots__ = ("_masks", "_nodes", "_seen")

    def __init__(self, nodes: NodeTable, masks: list[tuple[int, NodeMask]]) -> None:
        super().__init__(pointwise=False)
        self._nodes = nodes
        self._masks = masks
        self._compute()

    def _compute(self) -> None:
        self._seen = self._nodes.changes.head
        raw: Int64s = self._nodes.valid * 0
        for weight, mask in self._masks:
            mask.refresh()
            raw = raw + weight * mask.ok
        self.raw = raw
        self.constant = None if raw.any() else 0
        self.stamp += 1

    def refresh(self) -> None:
        """Bring ``raw`` up to date."""
        if self._seen != self._nodes.changes.head:
            self._compute()

    def normalized(self, ok: Bools) -> Int64s:
        """Scale to 100."""
        return normalize_default(self.raw, ok, reverse=False)

"""NodeAffinity: nodeSelector and required terms filter, preferred terms score; those of the configuration too."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from apportion.api.core import Affinity, Node, PodSpec, PreferredSchedulingTerm
from apportion.api.core import NodeAffinity as NodeAffinityView
from apportion.api.selectors import compile_node_selector
from apportion.base import ConfigError
from apportion.sched.framework.columns import MaskColumn, RowGroups, Scored, normalize_default
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import Status, unresolvable
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import Bools, Int64s, NodeMask, NodeTable, PodInfo, node_names_of

_COLUMNS_MAX: Final = 1024
_NAME: Final = "NodeAffinity"
_POD: Final = unresolvable(_NAME, "node(s) didn't match Pod's node affinity/selector")
_ENFORCED: Final = unresolvable(_NAME, "node(s) didn't match scheduler-enforced node affinity")
_CONFLICT: Final = unresolvable(_NAME, "pod affinity terms conflict")


class NodeAffinity:
    """Columns are shared by pods with equal selectors and terms. Behaviour: plugins/nodeaffinity.

    ``addedAffinity`` of the arguments must hold, and is preferred, for every pod of the profile.
    """

    name = _NAME
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        added = _read_added(handle.args)
        self._added = PodSpec(affinity=Affinity(node_affinity=added))
        self._added_mask = self._state.masks.admitted(self._added)
        self._added_terms = added.preferred
        self._filters: dict[int, tuple[NodeMask, MaskColumn | EnforcedColumn]] = {}
        self._scores: dict[tuple[PreferredSchedulingTerm, ...], PreferenceScore] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of admitted nodes, and the named nodes when every required term names nodes."""
        spec = pod.kind.template.spec
        mask = self._state.masks.admitted(spec)
        if mask is None and self._added_mask is None:
            return NOTHING_TO_FILTER
        names = node_names_of(spec.affinity.node_affinity if spec.affinity else None)
        if names is not None and not names:
            return PreFilterResult(status=_CONFLICT)
        return PreFilterResult(column=self._column(mask), node_names=names)

    def _column(self, mask: NodeMask | None) -> "MaskColumn | EnforcedColumn":
        known = self._filters.get(id(mask))
        if known is None or (mask is not None and known[0] is not mask):
            if len(self._filters) >= _COLUMNS_MAX:
                self._filters.clear()
            known = self._filters[id(mask)] = self._build_column(mask)
        return known[1]

    def _build_column(self, mask: NodeMask | None) -> "tuple[NodeMask, MaskColumn | EnforcedColumn]":
        if self._added_mask is None:
            assert mask is not None
            return mask, MaskColumn(mask, _POD)
        if mask is None:
            return self._added_mask, MaskColumn(self._added_mask, _ENFORCED)
        return mask, EnforcedColumn(self._added_mask, mask)

    def pre_score(self, pod: PodInfo, state: object) -> "PreferenceScore | None":
        """Return the column that adds up the weights of matching preferred terms; None without such terms."""
        affinity = pod.kind.template.spec.affinity
        own = affinity.node_affinity.preferred if affinity is not None and affinity.node_affinity is not None else ()
        terms = (*self._added_terms, *own)
        if not terms:
            return None
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
        return [Registration(self.name, event, self._hint_node, per_kind=True)]

    def _hint_node(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(new, Node):
            return Hint.SKIP
        is_new = self._admits(pod, new) and not (isinstance(old, Node) and self._admits(pod, old))
        return Hint.QUEUE if is_new else Hint.SKIP

    def _admits(self, pod: PodInfo, node: Node) -> bool:
        return _matches(self._added, node) and _matches(pod.kind.template.spec, node)


def _read_added(args: Mapping[str, object]) -> NodeAffinityView:
    try:
        return msgspec.convert(args.get("addedAffinity") or {}, NodeAffinityView)
    except msgspec.ValidationError as error:
        raise ConfigError(f"NodeAffinityArgs.addedAffinity: {error}") from error


def _matches(spec: PodSpec, node: Node) -> bool:
    labels: Mapping[str, str] = node.metadata.labels
    if any(labels.get(k) != v for k, v in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None or affinity.required is None:
        return True
    return compile_node_selector(affinity.required).matches(node.metadata.name, labels)


class EnforcedColumn:
    """Nodes that meet both what the configuration demands and what the pod does; the former is named first."""

    __slots__ = ("_added", "_own", "ok", "stamp")
    keeps_reasons = True
    reads_pods = False

    def __init__(self, added: NodeMask, own: NodeMask) -> None:
        self._added = added
        self._own = own
        self.stamp = 0
        self.ok: Bools = added.ok & own.ok

    def refresh(self) -> None:
        """Bring ``ok`` up to date."""
        self._added.refresh()
        self._own.refresh()
        self.ok = self._added.ok & self._own.ok

    def statuses(self, rows: Int64s) -> RowGroups:
        """Say which of the two a row does not meet."""
        groups: list[tuple[Status, Int64s]] = []
        meets_added = self._added.ok[rows]
        for status, found in ((_ENFORCED, rows[~meets_added]), (_POD, rows[meets_added])):
            if len(found):
                groups.append((status, found))
        return groups


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
        raw: Int64s = self._nodes.valid * np.int64(0)
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

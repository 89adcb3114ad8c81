"""TaintToleration: NoSchedule and NoExecute taints must be tolerated; PreferNoSchedule taints cost score."""

from collections.abc import Sequence

from apportion.api.core import Node, Toleration
from apportion.api.selectors import tolerates
from apportion.sched.framework.columns import MaskColumn, Scored, normalize_default
from apportion.sched.framework.plugin import PreFilterResult
from apportion.sched.framework.status import unresolvable
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import HARD_EFFECTS, Bools, Int64s, NodeTable, PodInfo, TaintTest, find_untolerated

_COLUMNS_MAX = 1024


class TaintToleration:
    """Columns are shared by pods with equal tolerations."""

    name = "TaintToleration"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._comparison = handle.gates.enabled("TaintTolerationComparisonOperators")
        self._status = unresolvable(self.name, "node(s) had untolerated taint(s)")
        self._filters: dict[tuple[Toleration, ...], MaskColumn] = {}
        self._scores: dict[tuple[Toleration, ...], SoftTaintScore] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes whose hard taints are tolerated."""
        tolerations = pod.kind.template.spec.tolerations
        column = self._filters.get(tolerations)
        if column is None:
            if len(self._filters) >= _COLUMNS_MAX:
                self._filters.clear()
            mask = self._state.masks.tolerated(tolerations, self._comparison)
            column = self._filters[tolerations] = MaskColumn(mask, self._status)
        return PreFilterResult(column=column)

    def pre_score(self, pod: PodInfo, state: object) -> "SoftTaintScore":
        """Return the column that counts PreferNoSchedule taints which are not tolerated."""
        soft = tuple(t for t in pod.kind.template.spec.tolerations if not t.effect or t.effect == "PreferNoSchedule")
        column = self._scores.get(soft)
        if column is None:
            if len(self._scores) >= _COLUMNS_MAX:
                self._scores.clear()
            column = self._scores[soft] = SoftTaintScore(self._state.nodes, soft, self._comparison)
        return column

    def events_to_register(self) -> Sequence[Registration]:
        """Nodes that appear or change their taints; tolerations added to the pod."""
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        toleration = ClusterEvent("TargetPod", ActionType.UPDATE_POD_TOLERATION)
        return [
            Registration(self.name, node, self._hint_node, per_kind=True),
            Registration(self.name, toleration, self._hint_pod),
        ]

    def _hint_node(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(new, Node):
            return Hint.SKIP
        untolerated = find_untolerated(
            new.spec.taints, pod.kind.template.spec.tolerations, HARD_EFFECTS, self._comparison
        )
        return Hint.QUEUE if untolerated is None else Hint.SKIP

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        return Hint.QUEUE


class SoftTaintScore(Scored):
    """Fewer untolerated PreferNoSchedule taints are better; constant while no node differs from the others."""

    __slots__ = ("_nodes", "_seen", "_test")

    def __init__(self, nodes: NodeTable, tolerations: tuple[Toleration, ...], comparison: bool) -> None:
        super().__init__(pointwise=False)
        self._nodes = nodes
        self._test = TaintTest(
            nodes,
            lambda taints: sum(
                t.effect == "PreferNoSchedule" and not any(tolerates(o, t, comparison) for o in tolerations)
                for t in taints
            ),
        )
        self._compute()

    def _compute(self) -> None:
        self._seen = self._nodes.changes.head
        self.raw = self._test.values()
        self.constant = None if self.raw.any() else 100
        self.stamp += 1

    def refresh(self) -> None:
        """Bring ``raw`` up to date."""
        if self._seen != self._nodes.changes.head:
            self._compute()

    def normalized(self, ok: Bools) -> Int64s:
        """Scale in reverse: the node with most untolerated taints gets 0."""
        return normalize_default(self.raw, ok, reverse=True)

"""NodeResourcesFit: the pod's requests must fit beside those of the pods on the node; scores by a strategy."""

from collections.abc import Sequence

from apportion.api.core import Node
from apportion.api.extended_resources import IMPLICIT_PREFIX
from apportion.api.resource import DeviceClass
from apportion.sched.framework.plugin import PreFilterResult
from apportion.sched.plugins.device_counts import DeviceCounts
from apportion.sched.plugins.fit_column import FitColumn
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.scoring_strategy import AllocationScore, ScoringStrategy, read_strategy
from apportion.sched.queue import DEVICE_CLASS, ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import PodInfo

_COLUMNS_MAX = 2048


class NodeResourcesFit:
    """Columns are shared by pods with equal requests. Behaviour: plugins/noderesources/fit.go."""

    name = "NodeResourcesFit"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._nodes = handle.state.nodes
        self._strategy: ScoringStrategy = read_strategy(handle.args)
        is_on = handle.gates.enabled("DRAExtendedResource")
        self._device_counts = DeviceCounts(handle.state, is_on, self._strategy.resources)
        self._ignored = frozenset(_strings(handle.args.get("ignoredResources")))
        self._ignored_groups = frozenset(_strings(handle.args.get("ignoredResourceGroups")))
        self._filters: dict[tuple[int, frozenset[int]], FitColumn] = {}
        self._scores: dict[object, AllocationScore] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes with enough of everything."""
        return PreFilterResult(column=self._column(pod))

    def _column(self, pod: PodInfo) -> FitColumn:
        usage = pod.usage
        by_devices = frozenset(map(self._nodes.resource_id, self._state.list_device_resources(pod)))
        column = self._filters.get((usage.id, by_devices))
        if column is None:
            if len(self._filters) >= _COLUMNS_MAX:
                self._filters.clear()
            amounts = tuple((i, v) for i, v in usage.amounts if not self._is_ignored(i))
            column = self._filters[usage.id, by_devices] = FitColumn(self._nodes, amounts, by_devices)
        return column

    def _is_ignored(self, resource: int) -> bool:
        name = self._nodes.resources.items[resource]
        return name in self._ignored or name.partition("/")[0] in self._ignored_groups

    def pre_score(self, pod: PodInfo, state: object) -> AllocationScore:
        """Return the strategy's column for these requests."""
        key = self._strategy.signature(pod.usage)
        column = self._scores.get(key)
        if column is None:
            if len(self._scores) >= _COLUMNS_MAX:
                self._scores.clear()
            counts = self._device_counts.find(pod.usage.requests)
            column = self._scores[key] = AllocationScore(self._nodes, self._strategy, pod.usage, counts)
        return column

    def events_to_register(self) -> Sequence[Registration]:
        """Pods that go or shrink, nodes that appear or grow."""
        gone = ClusterEvent("AssignedPod", ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN)
        mine = ClusterEvent("TargetPod", ActionType.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        device_class = ClusterEvent(DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE)
        return [
            Registration(self.name, gone, self._hint_freed, per_kind=True),
            Registration(self.name, mine, None),
            Registration(self.name, node, self._hint_node, per_kind=True),
            Registration(self.name, device_class, self._hint_class, per_kind=True),
        ]

    def _hint_freed(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(old, PodInfo):
            return Hint.QUEUE
        if new is None:
            return Hint.QUEUE  # a deleted pod frees at least its place among the node's pods
        wanted = {i for i, _ in pod.usage.amounts}
        return Hint.QUEUE if any(i in wanted for i, _ in old.usage.amounts) else Hint.SKIP

    def _hint_node(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(new, Node):
            return Hint.SKIP
        row = self._nodes.row_of.get(new.metadata.name)
        if row is None:
            return Hint.SKIP
        return Hint.QUEUE if self._column(pod).fits(row) else Hint.SKIP

    def _hint_class(self, pod: PodInfo, old: object, new: object) -> Hint:
        """A class helps a pod whose resource it serves."""
        if not isinstance(new, DeviceClass):
            return Hint.SKIP
        names = (new.spec.extended_resource_name, IMPLICIT_PREFIX + new.metadata.name)
        return Hint.QUEUE if any(n in names for n in pod.kind.template.extended_resources) else Hint.SKIP


def _strings(value: object) -> list[str]:
    return [str(v) for v in value] if isinstance(value, list | tuple) else []

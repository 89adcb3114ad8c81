"""NodeResourcesFit: the pod's requests must fit beside those of the pods on the node; scores by a strategy."""

from collections.abc import Sequence

import numpy as np

from apportion.api.core import Node
from apportion.api.extended_resources import IMPLICIT_PREFIX
from apportion.api.resource import DeviceClass
from apportion.sched.framework.columns import RowGroups
from apportion.sched.framework.plugin import PreFilterResult
from apportion.sched.framework.status import Code, Status
from apportion.sched.plugins.device_counts import DeviceCounts
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.scoring_strategy import AllocationScore, ScoringStrategy, read_strategy
from apportion.sched.queue import DEVICE_CLASS, ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import Bools, Int64s, NodeTable, PodInfo

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

    def _column(self, pod: PodInfo) -> "FitColumn":
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
        return [
            Registration(self.name, gone, self._hint_freed),
            Registration(self.name, mine, None),
            Registration(self.name, node, self._hint_node),
            Registration(self.name, ClusterEvent(DEVICE_CLASS, ActionType.ADD | ActionType.UPDATE), self._hint_class),
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


class FitColumn:
    """Rows with room for ((resource id, amount), ...) and for one more pod.

    What is in ``by_devices`` is left to DynamicResources on nodes that have none of it to give otherwise.
    """

    __slots__ = ("_amounts", "_by_devices", "_cursor", "_ids", "_is_by_devices", "_nodes", "_wanted", "ok", "stamp")

    def __init__(
        self, nodes: NodeTable, amounts: tuple[tuple[int, int], ...], by_devices: frozenset[int] = frozenset()
    ) -> None:
        self._nodes = nodes
        self._amounts = amounts
        self._by_devices = by_devices
        self._is_by_devices = np.array([[i in by_devices] for i, _ in amounts], np.bool_).reshape(len(amounts), 1)
        self._ids = np.array([i for i, _ in amounts], np.intp)
        self._wanted = np.array([[v] for _, v in amounts], np.int64).reshape(len(amounts), 1)
        self.stamp = 0
        self._compute()

    def _compute(self) -> None:
        nodes = self._nodes
        self._cursor = nodes.usage.head
        ok: Bools = nodes.pod_count < nodes.allowed_pods
        if self._amounts:
            allocatable = nodes.allocatable[self._ids]
            enough = allocatable - nodes.requested[self._ids] >= self._wanted
            if self._by_devices:
                enough |= self._is_by_devices & (allocatable == 0)
            ok &= enough.all(axis=0)
        self.ok = ok

    def fits(self, row: int) -> bool:
        """Return whether the pod fits on one row."""
        nodes = self._nodes
        if nodes.pod_count[row] >= nodes.allowed_pods[row]:
            return False
        allocatable, requested = nodes.allocatable, nodes.requested
        return all(
            allocatable[i, row] - requested[i, row] >= amount or (i in self._by_devices and not allocatable[i, row])
            for i, amount in self._amounts
        )

    def refresh(self) -> None:
        """Bring ``ok`` up to date; only rows whose pods or node changed are looked at."""
        nodes = self._nodes
        if self._cursor == nodes.usage.head:
            return
        rows = nodes.usage.since(self._cursor, 32)
        if rows is None or len(self.ok) != nodes.rows:
            self._compute()
            return
        self._cursor = nodes.usage.head
        for row in rows:
            self.ok[row] = self.fits(row)

    def statuses(self, rows: Int64s) -> RowGroups:
        """Name everything there is too little of; unresolvable where an empty node would be too small as well."""
        if len(rows) == 1:
            return [(self._status_of(int(rows[0])), rows)]
        nodes = self._nodes
        lacks = [nodes.pod_count[rows] >= nodes.allowed_pods[rows]]
        names = ["Too many pods"]
        hopeless = np.zeros(len(rows), np.bool_)
        for resource, amount in self._amounts:
            allocatable = nodes.allocatable[resource, rows]
            counts = allocatable > 0 if resource in self._by_devices else np.True_
            lacks.append((allocatable - nodes.requested[resource, rows] < amount) & counts)
            names.append(f"Insufficient {nodes.resources.items[resource]}")
            hopeless |= (allocatable < amount) & counts
        return _group(rows, np.array([*lacks, hopeless]), names)

    def _status_of(self, row: int) -> Status:
        """Return the same for one row; preemption asks for many of them one by one."""
        nodes = self._nodes
        reasons = ["Too many pods"] if nodes.pod_count[row] >= nodes.allowed_pods[row] else []
        hopeless = False
        for resource, amount in self._amounts:
            allocatable = int(nodes.allocatable[resource, row])
            if not allocatable and resource in self._by_devices:
                continue
            if allocatable - int(nodes.requested[resource, row]) < amount:
                reasons.append(f"Insufficient {nodes.resources.items[resource]}")
            hopeless = hopeless or allocatable < amount
        return _rejection(hopeless, tuple(reasons))


def _group(rows: Int64s, answers: Bools, names: list[str]) -> RowGroups:
    """Put rows with the same column of ``answers`` ([reason, row] bool, the last one: hopeless) together."""
    codes: Int64s = (1 << np.arange(len(answers), dtype=np.int64)) @ answers.astype(np.int64)
    groups: RowGroups = []
    for code in sorted(set(codes.tolist())):
        hopeless = code >> len(names) & 1
        reasons = tuple(name for i, name in enumerate(names) if code >> i & 1)
        groups.append((_rejection(bool(hopeless), reasons), rows[codes == code]))
    return groups


def _rejection(hopeless: bool, reasons: tuple[str, ...]) -> Status:
    code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
    return Status(code, reasons, NodeResourcesFit.name)

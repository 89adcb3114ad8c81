"""NodeResourcesBalancedAllocation: prefers nodes whose resources are used evenly once the pod is there."""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from apportion.sched.framework.columns import MAX_NODE_SCORE, Scored
from apportion.sched.plugins.device_counts import NATIVE, NO_COUNTS, DeviceCountColumn, DeviceCounts, Room, have_changed
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.scoring_strategy import read_resources
from apportion.sched.state import Int64s, NodeTable, PodInfo, Usage

Float64s = npt.NDArray[np.float64]
_COLUMNS_MAX = 2048
_HALF = MAX_NODE_SCORE // 2


class NodeResourcesBalancedAllocation:
    """Columns are shared by pods with equal requests; pods without requests are skipped."""

    name = "NodeResourcesBalancedAllocation"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._nodes = handle.state.nodes
        self._resources = read_resources(handle.args.get("resources"), "NodeResourcesBalancedAllocationArgs.resources")
        is_on = handle.gates.enabled("DRAExtendedResource")
        self._device_counts = DeviceCounts(handle.state, is_on, self._resources)
        self._columns: dict[tuple[int, ...], BalanceScore] = {}

    def pre_score(self, pod: PodInfo, state: object) -> "BalanceScore | None":
        """Return the column for these requests; None when the pod requests none of the resources."""
        requests = dict(pod.usage.requests)
        key = tuple(requests.get(name, 0) for name, _ in self._resources)
        if not any(key):
            return None
        column = self._columns.get(key)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            counts = self._device_counts.find(pod.usage.requests)
            column = self._columns[key] = BalanceScore(self._nodes, self._resources, pod.usage, counts)
        return column


class BalanceScore(Scored):
    """How evenly the resources are used with the pod, compared with how evenly they are without it."""

    __slots__ = ("_by_devices", "_cursor", "_nodes", "_terms")

    def __init__(
        self,
        nodes: NodeTable,
        resources: tuple[tuple[str, int], ...],
        usage: Usage,
        counts: Mapping[str, DeviceCountColumn] = NO_COUNTS,
    ) -> None:
        super().__init__(pointwise=True)
        self._nodes = nodes
        requests = dict(usage.requests)
        self._terms = [
            (Room(nodes, nodes.resource_id(name), counts.get(name)), requests.get(name, 0))
            for name, _ in resources
            if name in NATIVE or requests.get(name)
        ]
        self._by_devices = [room for room, _ in self._terms if room.has_counts]
        self._compute()

    def _compute(self) -> None:
        nodes = self._nodes
        self._cursor = nodes.usage.head
        added = np.array([[v] for _, v in self._terms], np.int64)
        rooms = [room.everywhere(nodes.requested) for room, _ in self._terms]
        allocatable, requested = np.array([a for a, _ in rooms]), np.array([r for _, r in rooms])
        before = _evenness(allocatable, requested)
        after = _evenness(allocatable, requested + added)
        self.raw = (_HALF + (_HALF + after - before) / 2).astype(np.int64)

    def _score_row(self, row: int) -> int:
        nodes = self._nodes
        before: list[float] = []
        after: list[float] = []
        for room, added in self._terms:
            allocatable, requested = room.at(row, nodes.requested)
            if allocatable:
                before.append(min(requested / allocatable, 1.0))
                after.append(min((requested + added) / allocatable, 1.0))
        return int(_HALF + (_HALF + _evenness_of(after) - _evenness_of(before)) / 2)

    def refresh(self) -> None:
        """Bring ``raw`` up to date; only rows whose pods or node changed are scored again."""
        nodes = self._nodes
        if self._by_devices and have_changed(self._by_devices):
            self._compute()
            self.stamp += 1
            return
        if self._cursor == nodes.usage.head:
            return
        rows = nodes.usage.since(self._cursor, 32)
        if rows is None or len(self.raw) != nodes.rows:
            self._compute()
            return
        self._cursor = nodes.usage.head
        for row in rows:
            self.raw[row] = self._score_row(row)


def _evenness_of(fractions: list[float]) -> int:
    """Return 100 × (1 - standard deviation), for the resources of one node."""
    if len(fractions) == 2:
        deviation = abs(fractions[0] - fractions[1]) / 2
    elif fractions:
        mean = sum(fractions) / len(fractions)
        deviation = math.sqrt(sum((f - mean) ** 2 for f in fractions) / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * MAX_NODE_SCORE)


def _evenness(allocatable: Int64s, requested: Int64s) -> Float64s:
    """Return 100 × (1 - standard deviation of the used fractions), per row; absent resources do not count."""
    present = allocatable > 0
    fraction = np.where(present, np.minimum(requested / np.maximum(allocatable, 1), 1.0), 0.0)
    count = present.sum(axis=0)
    mean = fraction.sum(axis=0) / np.maximum(count, 1)
    deviation = np.sqrt((np.where(present, fraction - mean, 0.0) ** 2).sum(axis=0) / np.maximum(count, 1))
    if len(allocatable) == 2:  # the original's shorter formula, which rounds differently
        deviation = np.where(count == 2, np.abs(fraction[0] - fraction[1]) / 2, 0.0)
    evenness: Float64s = np.trunc((1 - deviation) * MAX_NODE_SCORE)
    return evenness

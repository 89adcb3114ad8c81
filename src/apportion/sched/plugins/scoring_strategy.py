"""How full a node may be: the scoring strategies of NodeResourcesFit, in the original's integer arithmetic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from apportion.base import ConfigError
from apportion.sched.framework.columns import Scored
from apportion.sched.plugins.device_counts import NATIVE, NO_COUNTS, DeviceCountColumn, Room, have_changed
from apportion.sched.plugins.scoring_shape import read_shape
from apportion.sched.state import CPU, MEMORY, Bools, Int64s, NodeTable, Usage

MAX_SCORE: Final = 100


@dataclass(frozen=True, slots=True)
class ScoringStrategy:
    """``kind`` is LeastAllocated, MostAllocated or RequestedToCapacityRatio; ``table`` is the shape, by per cent."""

    kind: str
    resources: tuple[tuple[str, int], ...]
    table: tuple[int, ...] = ()

    def signature(self, usage: Usage) -> tuple[object, ...]:
        """Return what the score reads of the requests: pods with equal signatures share a column."""
        requests = dict(usage.requests)
        others = tuple(requests.get(name, 0) for name, _ in self.resources if name not in ("cpu", "memory"))
        return (usage.scored, others)


def read_strategy(args: Mapping[str, object]) -> ScoringStrategy:
    """Return the strategy of NodeResourcesFitArgs. Raises ConfigError naming the field."""
    raw = args.get("scoringStrategy")
    path = "NodeResourcesFitArgs.scoringStrategy"
    if raw is None:
        return ScoringStrategy("LeastAllocated", (("cpu", 1), ("memory", 1)))
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{path}: must be a mapping")
    kind = str(raw.get("type", "LeastAllocated"))
    resources = read_resources(raw.get("resources"), f"{path}.resources")
    if kind in ("LeastAllocated", "MostAllocated"):
        return ScoringStrategy(kind, resources)
    if kind == "RequestedToCapacityRatio":
        return ScoringStrategy(kind, resources, _read_ratio(raw.get("requestedToCapacityRatio"), path))
    raise ConfigError(f"{path}.type: {kind!r} is not LeastAllocated, MostAllocated or RequestedToCapacityRatio")


def _read_ratio(raw: object, path: str) -> tuple[int, ...]:
    shape = raw.get("shape") if isinstance(raw, Mapping) else None
    return read_shape(shape, f"{path}.requestedToCapacityRatio.shape")


def read_resources(raw: object, path: str) -> tuple[tuple[str, int], ...]:
    """Return ((name, weight), ...); cpu and memory with weight 1 when nothing is given."""
    if not raw:
        return (("cpu", 1), ("memory", 1))
    if not isinstance(raw, list):
        raise ConfigError(f"{path}: must be a list of name and weight")
    found = []
    for i, entry in enumerate(raw):
        if not isinstance(entry, Mapping) or "name" not in entry:
            raise ConfigError(f"{path}[{i}]: needs a name")
        weight = entry.get("weight") or 1  # as upstream: 0 means that it was not given
        if not isinstance(weight, int) or not 1 <= weight <= 100:
            raise ConfigError(f"{path}[{i}].weight: must be a whole number from 1 to 100")
        found.append((str(entry["name"]), weight))
    return tuple(found)


class AllocationScore(Scored):
    """The strategy's score of every node for one set of requests; not normalised.

    cpu and memory count with the defaults for containers that request nothing, other resources as requested. Devices
    count where ``counts`` (by resource) says that they stand for a resource.
    """

    __slots__ = ("_by_devices", "_cursor", "_nodes", "_score", "_strategy", "_terms")

    def __init__(
        self,
        nodes: NodeTable,
        strategy: ScoringStrategy,
        usage: Usage,
        counts: Mapping[str, DeviceCountColumn] = NO_COUNTS,
    ) -> None:
        super().__init__(pointwise=True)
        self._nodes = nodes
        self._strategy = strategy
        self._score: Callable[[int, int], int] = {
            "LeastAllocated": _least, "MostAllocated": _most,
        }.get(strategy.kind, self._ratio)  # fmt: skip
        requests = dict(usage.requests)
        self._terms: list[tuple[int, int, int, Room]] = []  # resource id, what the pod adds, weight, what nodes have
        for name, weight in strategy.resources:
            resource = nodes.resource_id(name)
            added = {CPU: usage.scored[0], MEMORY: usage.scored[1]}.get(resource, requests.get(name, 0))
            if added or name in NATIVE:  # an extended resource that is not requested does not count
                self._terms.append((resource, added, weight, Room(nodes, resource, counts.get(name))))
        self._by_devices = [room for *_, room in self._terms if room.has_counts]
        self._compute()

    def _ratio(self, allocatable: int, requested: int) -> int:
        table = self._strategy.table
        return table[100] if requested > allocatable else table[requested * MAX_SCORE // allocatable]

    def _score_row(self, row: int) -> int:
        nodes = self._nodes
        total = weights = 0
        ratio = self._strategy.kind == "RequestedToCapacityRatio"
        for resource, added, weight, room in self._terms:
            allocatable, used = room.at(row, nodes.nonzero if resource <= MEMORY else nodes.requested)
            if not allocatable:
                continue
            score = self._score(allocatable, used + added)
            if ratio and score <= 0:
                continue
            total += score * weight
            weights += weight
        if not weights:
            return 0
        return (2 * total + weights) // (2 * weights) if ratio else total // weights

    def _compute(self) -> None:
        nodes = self._nodes
        self._cursor = nodes.usage.head
        ratio = self._strategy.kind == "RequestedToCapacityRatio"
        total = np.zeros(nodes.rows, np.int64)
        weights = np.zeros(nodes.rows, np.int64)
        for resource, added, weight, room in self._terms:
            allocatable, used = room.everywhere(nodes.nonzero if resource <= MEMORY else nodes.requested)
            score = self._score_all(allocatable, used + added)
            counted: Bools = (allocatable > 0) & (score > 0) if ratio else allocatable > 0
            total += np.where(counted, score * weight, 0)
            weights += counted * weight
        divisor = np.maximum(weights, 1)
        self.raw = (2 * total + divisor) // (2 * divisor) if ratio else total // divisor
        if ratio:
            self.raw[weights == 0] = 0

    def _score_all(self, allocatable: Int64s, requested: Int64s) -> Int64s:
        size = np.maximum(allocatable, 1)
        if self._strategy.kind == "LeastAllocated":
            least: Int64s = np.maximum(allocatable - requested, 0) * MAX_SCORE // size
            return least
        most: Int64s = np.minimum(requested, allocatable) * MAX_SCORE // size
        if self._strategy.kind == "MostAllocated":
            return most
        percent = np.where(requested > allocatable, 100, np.minimum(requested, allocatable) * MAX_SCORE // size)
        return np.array(self._strategy.table, np.int64).take(percent)

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


def _least(allocatable: int, requested: int) -> int:
    return (allocatable - requested) * MAX_SCORE // allocatable if requested <= allocatable else 0


def _most(allocatable: int, requested: int) -> int:
    return min(requested, allocatable) * MAX_SCORE // allocatable

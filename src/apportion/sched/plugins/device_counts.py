"""Devices that stand for an extended resource, counted for every node: what the scoring plugins read.

Behaviour: plugins/noderesources/resource_allocation.go with DRAExtendedResource; what a device plugin offers on a node
goes before devices.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from apportion.alloc import ClassCounts
from apportion.api.resource import DeviceClass
from apportion.sched.state import Bools, ClusterState, Int64s, NodeTable

NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
NO_COUNTS: Final[Mapping[str, "DeviceCountColumn"]] = {}
_COLUMNS_MAX: Final = 256


class DeviceCountColumn:
    """``devices`` and ``used`` are [row] int64: devices of the class that serves a resource; 0 without such a class."""

    __slots__ = ("_class", "_classes_seen", "_counts", "_cursor", "_nodes_seen", "_resource", "_state", "devices",
                 "stamp", "used")  # fmt: skip

    def __init__(self, state: ClusterState, resource: str) -> None:
        self._state = state
        self._resource = resource
        self._class: DeviceClass | None = None
        self._counts: ClassCounts | None = None
        self._classes_seen = self._nodes_seen = self._cursor = -1
        self.devices: Int64s = np.zeros(0, np.int64)
        self.used: Int64s = np.zeros(0, np.int64)
        self.stamp = 0
        self.refresh()

    def refresh(self) -> None:
        """Count again on nodes whose devices changed; ``stamp`` rises when that may be all of them."""
        nodes, devices = self._state.nodes, self._state.devices
        is_other = self._find_class()
        if is_other or self._nodes_seen != nodes.changes.head or len(self.devices) != nodes.rows:
            self._count_all()
        elif self._counts is not None and self._cursor != devices.cursor:
            changed = devices.changed_nodes(self._cursor)
            if changed is None:
                self._count_all()
                return
            self._cursor = devices.cursor
            for row in sorted(nodes.row_of[n] for n in changed if n in nodes.row_of):
                self._count(row)

    def _find_class(self) -> bool:
        """Return whether another class serves the resource than before, or the class has changed."""
        classes = self._state.devices.classes
        if self._classes_seen == classes.version:
            return False
        self._classes_seen = classes.version
        found = classes.find_for_resource(self._resource)
        if found is self._class:
            return False
        self._class = found
        self._counts = None if found is None else ClassCounts(self._state.devices, found)
        return True

    def _count_all(self) -> None:
        nodes = self._state.nodes
        self._nodes_seen, self._cursor = nodes.changes.head, self._state.devices.cursor
        self.devices, self.used = np.zeros(nodes.rows, np.int64), np.zeros(nodes.rows, np.int64)
        if self._counts is not None:
            for row in np.flatnonzero(nodes.valid).tolist():
                self.devices[row], self.used[row] = self._counts.count(nodes.name(row))
        self.stamp += 1

    def _count(self, row: int) -> None:
        assert self._counts is not None
        nodes = self._state.nodes
        counts = self._counts.count(nodes.name(row))
        if counts != (self.devices[row], self.used[row]):
            self.devices[row], self.used[row] = counts
            nodes.usage.add(row)  # tells whoever reads this column which rows to look at


class DeviceCounts:
    """The columns in use, by resource."""

    def __init__(self, state: ClusterState, is_on: bool, resources: Sequence[tuple[str, int]]) -> None:
        """``is_on``: the gate DRAExtendedResource; ``resources``: name and weight of those that are scored."""
        self._state = state
        self._names = tuple(n for n, _ in resources if is_on and n not in NATIVE)
        self._columns: dict[str, DeviceCountColumn] = {}

    def find(self, requests: Sequence[tuple[str, int]]) -> Mapping[str, DeviceCountColumn]:
        """Return the columns of the resources that are scored and requested."""
        if not self._names:
            return NO_COUNTS
        return {name: self._get(name) for name, amount in requests if amount and name in self._names}

    def _get(self, name: str) -> DeviceCountColumn:
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            column = self._columns[name] = DeviceCountColumn(self._state, name)
        return column


class Room:
    """What nodes have of one resource and what is used of it, by device plugins or else by devices."""

    __slots__ = ("_counts", "_nodes", "_resource", "_stamp")

    def __init__(self, nodes: NodeTable, resource: int, counts: DeviceCountColumn | None) -> None:
        self._nodes = nodes
        self._resource = resource
        self._counts = counts
        self._stamp = -1 if counts is None else counts.stamp

    @property
    def has_counts(self) -> bool:
        """Whether devices may stand for the resource."""
        return self._counts is not None

    def refresh(self) -> bool:
        """Return whether all rows may have changed; rows that changed one by one are in the log of the nodes."""
        if self._counts is None:
            return False
        self._counts.refresh()
        has_changed = self._counts.stamp != self._stamp
        self._stamp = self._counts.stamp
        return has_changed

    def at(self, row: int, requested: Int64s) -> tuple[int, int]:
        """Return (allocatable, used) on a node; ``requested`` is [resource, row]."""
        allocatable = int(self._nodes.allocatable[self._resource, row])
        if allocatable or self._counts is None or not self._counts.devices[row]:
            return allocatable, int(requested[self._resource, row])
        return int(self._counts.devices[row]), int(self._counts.used[row])

    def everywhere(self, requested: Int64s) -> tuple[Int64s, Int64s]:
        """Return (allocatable, used) as [row]."""
        allocatable, used = self._nodes.allocatable[self._resource], requested[self._resource]
        if self._counts is None:
            return allocatable, used
        by_devices: Bools = allocatable == 0
        allocatable = np.where(by_devices, self._counts.devices, allocatable)
        return allocatable, np.where(by_devices & (allocatable > 0), self._counts.used, used)


def have_changed(rooms: Sequence[Room]) -> bool:
    """Bring all of them up to date; return whether all rows of one may have changed."""
    return sum(room.refresh() for room in rooms) > 0

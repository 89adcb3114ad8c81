"""Node columns. Every node has a row; rows are reused; arrays grow by doubling."""

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from apportion.api.core import Node, Taint
from apportion.api.quantity import parse_quantity
from apportion.api.view import ResourceList
from apportion.base import ChangeLog
from apportion.sched.state.interning import Interner
from apportion.sched.state.labels import Bools, Int32s, LabelColumn

Int64s = npt.NDArray[np.int64]
CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2
TaintSet = tuple[Taint, ...]


class NodeTable:
    """What the scheduler knows of each node, as columns.

    ``allocatable`` and ``requested`` are [resource, row] int64 (cpu in milli, the rest in whole units),
    ``nonzero`` is [2, row] int64 (cpu milli and bytes with the defaults that scoring assumes), ``allowed_pods``
    and ``pod_count`` are [row] int64, ``version`` is [row] int64 and rises with every change of the node or its pods
    that is not part of a trial, ``taint_set`` is [row] int32, ``unschedulable`` and ``valid`` are [row] bool.
    A row is valid while a Node object describes it; pods may name a node before that.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.names: list[str | None] = []
        self.views: list[Node | None] = []
        self.row_of: dict[str, int] = {}
        self._free: list[int] = []
        self.resources: Interner[str] = Interner()
        for name in ("cpu", "memory", "ephemeral-storage"):
            self.resources.intern(name)
        self.taint_sets: Interner[TaintSet] = Interner()
        self.taint_sets.intern(())
        self.label_columns: dict[str, LabelColumn] = {}
        self.changes: ChangeLog[int] = ChangeLog()  # rows whose Node object changed
        self.usage: ChangeLog[int] = ChangeLog()  # those, and rows whose pods changed
        self.count = 0  # nodes described by a Node object
        self._allocate(3, 16)
        self._slice()

    # ---- arrays -------------------------------------------------------------------------------------------

    def _allocate(self, resources: int, capacity: int) -> None:
        self._allocatable: Int64s = np.zeros((resources, capacity), np.int64)
        self._requested: Int64s = np.zeros((resources, capacity), np.int64)
        self._nonzero: Int64s = np.zeros((2, capacity), np.int64)
        self._counts: Int64s = np.zeros((3, capacity), np.int64)
        self._taint_set: Int32s = np.zeros(capacity, np.int32)
        self._flags: Bools = np.zeros((2, capacity), np.bool_)

    def _slice(self) -> None:
        n = self.rows
        self.allocatable = self._allocatable[:, :n]
        self.requested = self._requested[:, :n]
        self.nonzero = self._nonzero[:, :n]
        self.allowed_pods = self._counts[0, :n]
        self.pod_count = self._counts[1, :n]
        self.version = self._counts[2, :n]
        self.taint_set = self._taint_set[:n]
        self.unschedulable = self._flags[0, :n]
        self.valid = self._flags[1, :n]

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [self._allocatable, self._requested, self._nonzero, self._counts, self._taint_set, self._flags]

    def _grow(self, resources: int, capacity: int) -> None:
        old = self._arrays()
        self._allocate(resources, capacity)
        for source, target in zip(old, self._arrays(), strict=True):
            target[tuple(slice(0, size) for size in source.shape)] = source
        self._slice()

    def resource_id(self, name: str) -> int:
        """Return the column number of a resource, adding a column of zeros for a new one."""
        found = self.resources.intern(name)
        if found >= self._allocatable.shape[0]:
            self._grow(max(found + 1, 2 * self._allocatable.shape[0]), self._allocatable.shape[1])
        return found

    # ---- rows ---------------------------------------------------------------------------------------------

    def ensure_row(self, name: str) -> int:
        """Return the row of the node called ``name``, a new one when it was not known."""
        row = self.row_of.get(name)
        if row is not None:
            return row
        if self._free:
            row = self._free.pop()
            self.names[row] = name
        else:
            row = self.rows
            self.rows += 1
            self.names.append(name)
            self.views.append(None)
            if self.rows > self._allocatable.shape[1]:
                self._grow(self._allocatable.shape[0], 2 * self._allocatable.shape[1])
            self._slice()
            for column in self.label_columns.values():
                column.resize(self.rows)
            self.touch(row)  # masks must grow, also when only a pod names the node so far
        self.row_of[name] = row
        return row

    def set_node(self, node: Node) -> int:
        """Store what ``node`` says in its row and return the row."""
        row = self.ensure_row(node.metadata.name)
        if not self.valid[row]:
            self.count += 1
        self.views[row] = node
        self.valid[row] = True
        self._set_allocatable(row, node.status.allocatable or node.status.capacity)
        self.unschedulable[row] = node.spec.unschedulable
        self.taint_set[row] = self.taint_sets.intern(node.spec.taints)
        for column in self.label_columns.values():
            column.set(row, node.metadata.labels)
        self.touch(row)
        return row

    def unset_node(self, name: str) -> int | None:
        """Forget the Node object of ``name``; the row stays until ``release_row``. Returns the row."""
        row = self.row_of.get(name)
        if row is None or not self.valid[row]:
            return None
        self.count -= 1
        self.views[row] = None
        self.valid[row] = False
        self._set_allocatable(row, {})
        self.unschedulable[row] = False
        self.taint_set[row] = 0
        for column in self.label_columns.values():
            column.set(row, {})
        self.touch(row)
        return row

    def release_row(self, row: int) -> None:
        """Make ``row`` free for another node; it must be invalid and hold no pod."""
        name = self.names[row]
        assert name is not None and not self.valid[row] and not self.pod_count[row]
        del self.row_of[name]
        self.names[row] = None
        self._free.append(row)

    def _set_allocatable(self, row: int, resources: ResourceList) -> None:
        self.allocatable[:, row] = 0
        self.allowed_pods[row] = 0
        for name, raw in resources.items():
            quantity = parse_quantity(raw)
            if name == "pods":
                self.allowed_pods[row] = quantity.value()
            else:
                column = self.resource_id(name)
                self.allocatable[column, row] = quantity.milli_value() if column == CPU else quantity.value()

    def touch(self, row: int) -> None:
        """Note that the Node object of ``row`` changed."""
        self.changes.add(row)
        self.touch_usage(row)

    def touch_usage(self, row: int) -> None:
        """Note that what lies on the node in ``row`` changed, its pods or its volumes."""
        self.version[row] += 1
        self.usage.add(row)

    # ---- labels -------------------------------------------------------------------------------------------

    def label_column(self, key: str) -> LabelColumn:
        """Return the column of a label key; filled on first use, one pass over the nodes."""
        column = self.label_columns.get(key)
        if column is None:
            column = self.label_columns[key] = LabelColumn(key, self.rows)
            for row, view in enumerate(self.views):
                if view is not None:
                    column.set(row, view.metadata.labels)
        return column

    def labels(self, row: int) -> dict[str, str]:
        """Return the labels of the node in ``row``; empty when no Node object describes it."""
        view = self.views[row]
        return view.metadata.labels if view is not None else {}

    def name(self, row: int) -> str:
        """Return the name of the node in ``row``."""
        name = self.names[row]
        assert name is not None
        return name


_DECODE = msgspec.json.Decoder(Node)


def decode_node(raw: bytes | msgspec.Raw) -> Node:
    """Return the view of a Node in JSON."""
    return _DECODE.decode(raw)

"""Where the requests of a pod fit beside those of the pods that are there, kept up to date by changed rows."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from apportion.sched.framework.columns import RowGroups
from apportion.sched.framework.status import Code, Status
from apportion.sched.state import Bools, Int64s, NodeTable, PodInfo

_NAME: Final = "NodeResourcesFit"


class FitColumn:
    """Rows with room for ((resource id, amount), ...) and for one more pod.

    What is in ``by_devices`` is left to DynamicResources on nodes that have none of it to give otherwise.
    """

    __slots__ = ("_amounts", "_by_devices", "_cursor", "_ids", "_is_by_devices", "_nodes", "_wanted", "ok", "stamp")
    keeps_reasons = True

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
        if len(rows) == 1:  # somebody looks at one row after the other
            status = self.open_row(int(rows[0])).find_rejection()
            return [(status, rows)] if status is not None else []
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

    def open_row(self, row: int) -> "FitLedger":
        """Return what the node in ``row`` has left, as a ledger."""
        nodes = self._nodes
        allocatable, requested = nodes.allocatable.item, nodes.requested.item
        wanted: list[tuple[int, int]] = []
        free: dict[int, int] = {}
        is_hopeless = False
        for resource, amount in self._amounts:
            most = allocatable(resource, row)
            if most or resource not in self._by_devices:
                wanted.append((resource, amount))
                free[resource] = most - requested(resource, row)
                is_hopeless = is_hopeless or most < amount
        places = nodes.allowed_pods.item(row) - nodes.pod_count.item(row)
        return FitLedger(nodes.resources.items, wanted, free, places, is_hopeless)


class FitLedger:
    """What one node has left of what a pod wants, in plain integers; preemption asks many nodes one by one.

    ``wanted`` is ((resource id, amount), ...), ``free`` what there is of each, ``places`` how many more pods the node
    takes; ``is_hopeless`` says that it would be too small without any pods as well.
    """

    __slots__ = ("_free", "_is_hopeless", "_names", "_places", "_wanted")

    def __init__(
        self,
        names: Sequence[str],
        wanted: Sequence[tuple[int, int]],
        free: dict[int, int],
        places: int,
        is_hopeless: bool,
    ) -> None:
        self._names = names
        self._wanted = wanted
        self._free = free
        self._places = places
        self._is_hopeless = is_hopeless

    def add(self, pod: PodInfo) -> None:
        """Put a pod on the node."""
        self._count(pod, 1)

    def remove(self, pod: PodInfo) -> None:
        """Take a pod off the node."""
        self._count(pod, -1)

    def _count(self, pod: PodInfo, sign: int) -> None:
        self._places -= sign
        free = self._free
        for resource, amount in pod.usage.amounts:
            if resource in free:
                free[resource] -= sign * amount

    def find_rejection(self) -> Status | None:
        """Name everything there is too little of."""
        free = self._free
        reasons = [] if self._places > 0 else ["Too many pods"]
        for resource, wanted in self._wanted:
            if free[resource] < wanted:
                reasons.append(f"Insufficient {self._names[resource]}")
        return _rejection(self._is_hopeless, tuple(reasons)) if reasons else None


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
    return Status(code, reasons, _NAME)

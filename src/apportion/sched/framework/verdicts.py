"""Why each node is rejected, kept between failures of pods that the same columns judge."""

from typing import Final

import numpy as np
import numpy.typing as npt

from apportion.sched.framework.columns import FilterColumn, RowGroups
from apportion.sched.framework.diagnosis import diagnose
from apportion.sched.framework.status import Status
from apportion.sched.state import NodeTable

STATUSES_MAX: Final = 256
_NONE: Final = -1  # the number of rows that are not rejected, or that no node stands in


class Verdicts:
    """For one combination of columns: per row the number of the status that rejects it.

    The next failure costs as much as there are rows that changed, and one pass over the rows for each status whose
    rows did. The columns must all keep their reasons (see ``can_remember``).
    """

    __slots__ = ("_columns", "_cursor", "_nodes", "_number", "_numbers", "_rows", "_stamp", "_statuses", "hits")

    def __init__(self, nodes: NodeTable, columns: tuple[FilterColumn, ...]) -> None:
        self._nodes = nodes
        self._columns = columns  # kept, so that their ids stay theirs
        self._stamp = -1
        self._cursor = -1
        self._number: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._statuses: list[Status] = []
        self._numbers: dict[Status, int] = {}
        self._rows: RowGroups | None = None  # what `groups` returned, until it changes
        self.hits = 0  # times that rows were patched or nothing had changed; tests of warm caches read it

    def groups(self) -> RowGroups:
        """Return the rejected rows by status, each ascending; they must not be changed."""
        self._refresh()
        if self._rows is None:
            numbers = enumerate(self._statuses)
            found = ((status, (self._number == number).nonzero()[0]) for number, status in numbers)
            self._rows = [(status, rows) for status, rows in found if len(rows)]
        return self._rows

    def _refresh(self) -> None:
        stamp = 0
        for column in self._columns:
            column.refresh()
            stamp += column.stamp
        nodes = self._nodes
        head = nodes.usage.head
        if stamp == self._stamp and len(self._number) == nodes.rows and len(self._statuses) < STATUSES_MAX:
            rows = nodes.usage.since(self._cursor, 512)  # trials name the same few rows again and again
            if rows is not None and len(rows) <= max(8, nodes.rows // 32):
                for row in rows:
                    self._set(row)
                self._cursor = head
                self.hits += 1
                return
        self._rebuild()
        self._stamp = stamp
        self._cursor = head

    def _rebuild(self) -> None:
        self._statuses.clear()
        self._numbers.clear()
        self._number = np.full(self._nodes.rows, _NONE, np.int32)
        for status, rows in diagnose(self._nodes, self._columns).groups:
            self._number[rows] = self._intern(status)
        self._rows = None

    def _set(self, row: int) -> None:
        number = self._judge(row)
        if self._number[row] != number:
            self._number[row] = number
            self._rows = None

    def _judge(self, row: int) -> int:
        if self._nodes.valid[row]:
            for column in self._columns:
                if not column.ok[row]:
                    return self._intern(column.statuses(np.array([row], np.int64))[0][0])
        return _NONE

    def _intern(self, status: Status) -> int:
        number = self._numbers.get(status)
        if number is None:
            number = self._numbers[status] = len(self._statuses)
            self._statuses.append(status)
        return number

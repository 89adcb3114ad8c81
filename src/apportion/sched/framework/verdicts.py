"""Why each node is rejected, kept between failures of pods that the same columns judge."""

from typing import Final

import numpy as np

from apportion.sched.framework.columns import FilterColumn, RowGroups, sum_stamps
from apportion.sched.framework.diagnosis import diagnose
from apportion.sched.framework.row_statuses import RowStatuses
from apportion.sched.framework.status import Status
from apportion.sched.state import NodeTable

STATUSES_MAX: Final = 256


class Verdicts:
    """For one combination of columns: per row the status that rejects it.

    The next failure costs as much as there are rows that changed, and one pass over the rows for each status whose
    rows did. The columns must all keep their reasons (see ``can_remember``).
    """

    __slots__ = ("_columns", "_cursor", "_nodes", "_rows", "_stamp", "hits")

    def __init__(self, nodes: NodeTable, columns: tuple[FilterColumn, ...]) -> None:
        self._nodes = nodes
        self._columns = columns  # kept, so that their ids stay theirs
        self._stamp = -1
        self._cursor = -1
        self._rows = RowStatuses()
        self.hits = 0  # times that rows were patched or nothing had changed; tests of warm caches read it

    def groups(self, stamp: int | None = None) -> RowGroups:
        """Return the rejected rows by status, each ascending; they must not be changed.

        ``stamp``: the sum of the columns' stamps, when they have just been brought up to date.
        """
        self._refresh(sum_stamps(self._columns) if stamp is None else stamp)
        return self._rows.groups()

    def _refresh(self, stamp: int) -> None:
        nodes = self._nodes
        head = nodes.usage.head
        if stamp == self._stamp and len(self._rows) == nodes.rows and len(self._rows.statuses) < STATUSES_MAX:
            rows = nodes.usage.since(self._cursor, 512)  # trials name the same few rows again and again
            if rows is not None and len(rows) <= max(8, nodes.rows // 32):
                for row in rows:
                    self._rows.set(row, self._judge(row))
                self._cursor = head
                self.hits += 1
                return
        self._rebuild()
        self._stamp = stamp
        self._cursor = head

    def _rebuild(self) -> None:
        self._rows.reset(self._nodes.rows)
        for status, rows in diagnose(self._nodes, self._columns).groups:
            self._rows.set_all(rows, status)

    def _judge(self, row: int) -> Status | None:
        if self._nodes.valid[row]:
            for column in self._columns:
                if not column.ok[row]:
                    return column.statuses(np.array([row], np.int64))[0][0]
        return None

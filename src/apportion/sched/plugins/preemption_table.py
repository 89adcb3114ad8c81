"""Candidates for preemption, kept per node: what it would cost to make room there for pods of one sort."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from apportion.sched.framework.plugin import NodeProbe
from apportion.sched.framework.status import Status
from apportion.sched.plugins.preemption_candidates import Budgets, Candidate, select_victims
from apportion.sched.state import Bools, ClusterState, Int64s, PodInfo

_LOG_MAX: Final = 1 << 16  # trials leave many entries for few rows, so long stretches of the log are worth reading
_UNKNOWN: Final = -2
_FITS: Final = -1


class CandidateTable:
    """For pods with equal columns and priority: per row the victims, or the status that speaks against the node.

    Rows are worked out again only when their pods or node changed; everything is when a column says that more than
    that changed (its ``stamp``), or when disruption budgets changed. ``costs`` is [5, row] int64:
    see ``Candidate.cost``.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._statuses: list[Status] = []
        self._cursor = -1
        self._stamp: tuple[int, int] = (-1, -1)
        self._resize(0)

    def _resize(self, rows: int) -> None:
        self._status: npt.NDArray[np.int32] = np.full(rows, _UNKNOWN, np.int32)
        self.costs: Int64s = np.zeros((5, rows), np.int64)
        self._victims: dict[int, Candidate] = {}

    # ---- keeping it up to date ----------------------------------------------------------------------------

    def refresh(self, pod: PodInfo, rows: Int64s, probe: NodeProbe, budgets: Budgets, budgets_version: int) -> None:
        """Work out those of ``rows`` that are not known or not current any more."""
        nodes = self._state.nodes
        stamp = (self._sum_stamps(probe), budgets_version)
        changed = nodes.usage.since(self._cursor, _LOG_MAX) if stamp == self._stamp else None
        if changed is None or len(self._status) != nodes.rows:
            self._resize(nodes.rows)
        else:
            self._status[changed] = _UNKNOWN
        for row in rows[self._status[rows] == _UNKNOWN].tolist():
            self._store(row, select_victims(self._state, pod, row, probe, budgets))
        self._stamp = (self._sum_stamps(probe), budgets_version)
        self._cursor = nodes.usage.head  # the trials put everything back

    @staticmethod
    def _sum_stamps(probe: NodeProbe) -> int:
        for column in probe.columns:
            column.refresh()
        return sum(column.stamp for column in probe.columns)

    def _store(self, row: int, found: Candidate | Status) -> None:
        if isinstance(found, Status):
            self._status[row] = self._intern(found)
            return
        self._status[row] = _FITS
        self._victims[row] = found
        self.costs[:, row] = found.cost

    def _intern(self, status: Status) -> int:
        if status not in self._statuses:
            self._statuses.append(status)
        return self._statuses.index(status)

    # ---- reading ------------------------------------------------------------------------------------------

    def find_cheapest(self, rows: Int64s) -> Candidate | None:
        """Return the candidate among ``rows`` that costs least; the first one among equals."""
        best = rows[self._status[rows] == _FITS]
        if not len(best):
            return None
        for cost in self.costs:
            of_rows = cost[best]
            best = best[of_rows == of_rows.min()]
        return self._victims[int(best[0])]

    def count_reasons(self, rows: Int64s) -> dict[str, int]:
        """Return how many of ``rows`` give each reason."""
        counts: dict[str, int] = {}
        known: Bools = self._status[rows] >= 0
        for number, count in enumerate(np.bincount(self._status[rows][known]).tolist()):
            for reason in self._statuses[number].reasons if count else ():
                counts[reason] = counts.get(reason, 0) + count
        return counts


def sorted_rows(groups: Sequence[Int64s]) -> Int64s:
    """Return the rows of all groups in ascending order."""
    return np.sort(np.concatenate(groups)) if groups else np.zeros(0, np.int64)

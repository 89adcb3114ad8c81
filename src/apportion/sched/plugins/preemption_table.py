"""Candidates for preemption, kept per node: what it would cost to make room there for pods of one sort."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from apportion.sched.framework.probe import NodeProbe
from apportion.sched.framework.status import Status
from apportion.sched.plugins.preemption_candidates import Budgets, Candidate, select_victims
from apportion.sched.state import Bools, ClusterState, Int64s, PodInfo

_UNKNOWN: Final = -1
_FITS: Final = -1


class CandidateTable:
    """For pods with equal columns and priority: per row the victims, or the status that speaks against the node.

    A row is worked out again when its node, its pods or the pods expected there changed; every row is when a column
    says that more than that changed (its ``stamp``), or when disruption budgets did. ``costs`` is [5, row] int64: see
    ``Candidate.cost``.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._statuses: list[Status] = []
        self._stamp: tuple[int, int] = (-1, -1)
        self._resize(0)

    def _resize(self, rows: int) -> None:
        self._status: npt.NDArray[np.int32] = np.zeros(rows, np.int32)
        self._seen: Int64s = np.full(rows, _UNKNOWN, np.int64)  # the version of the row that was worked out
        self._cursor = -1  # in the log of nominations
        self._own: tuple[int, ...] = ()  # a row that was worked out for a pod that is expected there itself
        self.costs: Int64s = np.zeros((5, rows), np.int64)
        self._victims: dict[int, Candidate] = {}

    # ---- keeping it up to date ----------------------------------------------------------------------------

    def refresh(self, pod: PodInfo, rows: Int64s, probe: NodeProbe, budgets: Budgets, budgets_version: int) -> None:
        """Work out those of ``rows`` that are not known or not current any more."""
        versions = self._state.nodes.version
        stamp = (probe.sum_stamps(), budgets_version)
        if stamp != self._stamp or len(self._seen) != len(versions):
            self._resize(len(versions))
        changed = probe.expected.changed_rows(self._cursor)
        own = probe.expected.own_row()
        stale = range(len(versions)) if changed is None else changed
        for row in (*stale, *self._own, *([] if own is None else [own])):
            self._seen[row] = _UNKNOWN
        self._cursor = probe.expected.nominator.changes.head
        self._own = () if own is None else (own,)
        for row in rows[self._seen[rows] != versions[rows]].tolist():
            self._store(row, select_victims(self._state, pod, row, probe, budgets))
            self._seen[row] = versions[row]
        self._stamp = (probe.sum_stamps(), budgets_version)  # the trials put everything back

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

    def list_all(self, rows: Int64s) -> list[Candidate]:
        """Return the candidates among ``rows``, in row order."""
        return [self._victims[row] for row in rows[self._status[rows] == _FITS].tolist()]

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

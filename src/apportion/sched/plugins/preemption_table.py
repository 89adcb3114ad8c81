"""Candidates for preemption, kept per node: what it would cost to make room there for pods of one sort."""

import heapq
from typing import Final

import numpy as np
import numpy.typing as npt

from apportion.sched.framework.probe import NodeProbe
from apportion.sched.framework.status import Status
from apportion.sched.plugins.preemption_candidates import Budgets, Candidate, select_victims
from apportion.sched.state import Bools, ClusterState, Int64s, PodInfo

_UNKNOWN: Final = -1
_FITS: Final = -1
_DEAD_MAX: Final = 64


class CandidateTable:
    """For pods with equal columns and priority: per row the victims, or the status that speaks against the node.

    A row is worked out again when its node, its pods or the pods expected there changed; every row is when a column
    says that more than that changed (its ``stamp``), or when disruption budgets did. Which rows are of interest, those
    that are rejected for something that removing pods may undo, is told by a mask, [row] bool.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._statuses: list[Status] = []
        # stamps, version of the budgets, changes of nodes and their pods, started pods, nominations
        self._now = (-1, -1, -1, -1, -1)
        self._mask: Bools | None = None
        self._counts: dict[str, int] | None = None  # what `count_reasons` returned, until something changes
        self.judged = 0  # rows worked out; tests of warm caches read it
        self.hits = 0  # times that nothing had changed; the same
        self._resize(0)

    def _resize(self, rows: int) -> None:
        self._status: npt.NDArray[np.int32] = np.zeros(rows, np.int32)
        self._seen: Int64s = np.full(rows, _UNKNOWN, np.int64)  # the version of the row that was worked out
        self._cursor = -1  # in the log of nominations
        self._own: tuple[int, ...] = ()  # a row that was worked out for a pod that is expected there itself
        self._victims: dict[int, Candidate] = {}
        # the candidates by cost and row, with a number that no two have; dead ones stay until they come up
        self._by_cost: list[tuple[tuple[int, ...], int, int, Candidate]] = []

    # ---- keeping it up to date ----------------------------------------------------------------------------

    def refresh(self, pod: PodInfo, mask: Bools, probe: NodeProbe, budgets_version: int) -> None:
        """Work out those rows of the mask that are not known or not current any more.

        Nothing is looked at when nothing has changed since the last pod and ``mask`` is the very array it came with.
        """
        own = probe.expected.own_row()
        now = (probe.sum_stamps(), budgets_version, *self._heads(probe))
        if now == self._now and mask is self._mask and own is None and not self._own:
            self.hits += 1
            return
        self._counts = None
        versions = self._state.nodes.version
        if now[:2] != self._now[:2] or len(self._seen) != len(versions):
            self._resize(len(versions))
        self._mark_stale(probe, own)
        budgets = Budgets(self._state)
        for row in (mask & (self._seen != versions)).nonzero()[0].tolist():
            self._store(row, select_victims(self._state, pod, row, probe, budgets))
            self._seen[row] = versions[row]
        # trials have put everything back, but changed the columns meanwhile
        self._now = (now[0] if probe.opens else probe.sum_stamps(), budgets_version, *self._heads(probe))
        self._mask = mask

    def _heads(self, probe: NodeProbe) -> tuple[int, int, int]:
        return self._state.nodes.usage.head, self._state.starts, probe.expected.nominator.changes.head

    def _mark_stale(self, probe: NodeProbe, own: int | None) -> None:
        """Forget the rows where other pods are expected than before, or than for other pods."""
        changed = probe.expected.changed_rows(self._cursor)
        if changed is None:
            self._seen[:] = _UNKNOWN
        for row in (*(changed or ()), *self._own, *([] if own is None else [own])):
            self._seen[row] = _UNKNOWN
        self._cursor = probe.expected.nominator.changes.head
        self._own = () if own is None else (own,)

    def _store(self, row: int, found: Candidate | Status) -> None:
        self.judged += 1
        if isinstance(found, Status):
            self._status[row] = self._intern(found)
            self._victims.pop(row, None)
            return
        self._status[row] = _FITS
        self._victims[row] = found
        heapq.heappush(self._by_cost, (found.cost, row, self.judged, found))
        if len(self._by_cost) > 2 * len(self._victims) + _DEAD_MAX:
            self._by_cost = [entry for entry in self._by_cost if self._victims.get(entry[1]) is entry[3]]
            heapq.heapify(self._by_cost)

    def _intern(self, status: Status) -> int:
        if status not in self._statuses:
            self._statuses.append(status)
        return self._statuses.index(status)

    # ---- reading ------------------------------------------------------------------------------------------

    def find_cheapest(self, mask: Bools) -> Candidate | None:
        """Return the candidate that costs least; the first one by row among equals."""
        while self._by_cost:
            _, row, _, found = self._by_cost[0]
            if self._victims.get(row) is found:
                if mask[row]:
                    return found
                del self._victims[row]
                self._seen[row] = _UNKNOWN  # it is worked out again when it is of interest again
            heapq.heappop(self._by_cost)
        return None

    def list_all(self, mask: Bools) -> list[Candidate]:
        """Return the candidates, in row order."""
        return [self._victims[row] for row in (mask & (self._status == _FITS)).nonzero()[0].tolist()]

    def count_reasons(self, mask: Bools) -> dict[str, int]:
        """Return how many rows of the mask that ``refresh`` was given last give each reason."""
        if self._counts is None:
            self._counts = self._count_reasons(mask)
        return dict(self._counts)

    def _count_reasons(self, mask: Bools) -> dict[str, int]:
        counts: dict[str, int] = {}
        for number, count in enumerate(np.bincount(self._status[mask & (self._status >= 0)]).tolist()):
            for reason in self._statuses[number].reasons if count else ():
                counts[reason] = counts.get(reason, 0) + count
        return counts

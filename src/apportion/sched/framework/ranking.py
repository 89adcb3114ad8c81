"""A ranking: the total score of every feasible node for one combination of columns, kept between decisions.

The next pod with the same columns pays for the rows that changed, for one maximum and for finding the ties.
"""

import numpy as np

from apportion.sched.framework.columns import FilterColumn, ScoreColumn, can_open, can_remember, sum_stamps
from apportion.sched.state import Bools, Int64s, NodeTable

Scores = tuple[tuple[int, ScoreColumn], ...]
INFEASIBLE = -1


class Ranking:
    """``ranked`` is [row] int64: the weighted sum of normalised scores, -1 where a filter says no.

    Behaviour: the framework's score sum, ``sum(normalized * weight)``, integers throughout.
    """

    __slots__ = (
        "_cursor",
        "_nodes",
        "_patchable",
        "_scores",
        "_stamp",
        "filter_stamp",
        "filters",
        "hits",
        "key",
        "opens",
        "ranked",
        "remembers",
    )

    def __init__(self, nodes: NodeTable, filters: tuple[FilterColumn, ...], scores: Scores) -> None:
        self._nodes = nodes
        self.filters = filters
        self._scores = scores
        self.key = tuple(map(id, filters))  # see `NodeProbe`
        self.opens = can_open(filters)
        self.remembers = can_remember(filters)
        self._stamp = -1
        self.filter_stamp = -1  # the sum of the stamps of the filters when they were last brought up to date
        self._cursor = -1
        self._patchable = False
        self.hits = 0  # times that rows were patched or nothing had changed; tests of warm caches read it
        self.ranked: Int64s = np.zeros(0, np.int64)

    def refresh(self) -> None:
        """Bring ``ranked`` up to date; cost grows with the changed rows, or one pass per column for all rows."""
        stamp = self.filter_stamp = sum_stamps(self.filters)
        for _, score in self._scores:
            score.refresh()
            stamp += score.stamp
        nodes = self._nodes
        head = nodes.usage.head
        if stamp == self._stamp and self._patchable:
            if head == self._cursor:
                self.hits += 1
                return
            rows = nodes.usage.since(self._cursor, max(8, nodes.rows // 8))
            if rows is not None and len(self.ranked) == nodes.rows and self._can_patch():
                self._patch(rows)
                self._cursor = head
                self.hits += 1
                return
        self._rebuild()
        self._stamp = stamp
        self._cursor = head

    def _can_patch(self) -> bool:
        for _, score in self._scores:  # noqa: SIM110 - asked for every decision, and a loop costs half
            if not score.pointwise and score.constant is None:
                return False
        return True

    def feasible(self) -> Bools:
        """Return [row] bool: every filter says yes."""
        ok = self._nodes.valid.copy()
        for column in self.filters:
            ok &= column.ok
        return ok

    def _rebuild(self) -> None:
        ok = self.feasible()
        offset = 0
        total = np.zeros(len(ok), np.int64)
        for weight, score in self._scores:
            if score.constant is not None:
                offset += weight * score.constant
            else:
                total += weight * (score.raw if score.pointwise else score.normalized(ok))
        total += offset
        total[~ok] = INFEASIBLE
        self.ranked = total
        self._patchable = self._can_patch()

    def _patch(self, rows: list[int]) -> None:
        ranked, valid = self.ranked, self._nodes.valid
        for row in rows:
            total = INFEASIBLE
            if valid[row] and all(c.ok[row] for c in self.filters):
                total = 0
                for weight, score in self._scores:
                    constant = score.constant
                    total += weight * (int(score.raw[row]) if constant is None else constant)
            ranked[row] = total


def find_best(ranked: Int64s) -> Int64s:
    """Return the rows that share the highest total, in row order; empty when no node is feasible."""
    if not len(ranked):
        return np.zeros(0, np.int64)
    highest = ranked[ranked.argmax()]
    if highest < 0:
        return np.zeros(0, np.int64)
    ties: Int64s = (ranked == highest).nonzero()[0]
    return ties

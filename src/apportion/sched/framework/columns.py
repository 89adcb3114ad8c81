"""Columns: what a plugin says of every node at once, kept up to date between decisions.

A column belongs to one plugin and one signature (what the plugin reads of a pod), so pods that look alike to the
plugin share it. ``refresh`` does work in proportion to what changed. ``stamp`` rises when rows changed that the
node table's ``usage`` log does not list (a whole zone, for example); readers then look at all rows again.

A filter column may say more of itself, which spares its readers work:
- ``keeps_reasons``: true when what ``statuses`` says of a row changes only together with the row, as listed in the
  ``usage`` log, or with ``stamp``, so that it can be remembered.
- ``reads_pods``: false when no answer depends on the pods of any node.
- ``open_row(row)``: returns a ``RowLedger`` when the answer for a node depends on nothing but the node itself and what
  its pods take of it.
"""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from apportion.sched.framework.status import Status
from apportion.sched.state import Bools, Int64s, PodInfo

RowGroups = list[tuple[Status, Int64s]]
MAX_NODE_SCORE = 100


class FilterColumn(Protocol):
    """Which nodes a plugin admits. ``ok`` is [row] bool."""

    ok: Bools
    stamp: int

    def refresh(self) -> None:
        """Bring ``ok`` up to date."""
        ...

    def statuses(self, rows: Int64s) -> RowGroups:
        """Say why each of ``rows`` is rejected, rows with the same answer together. Asked for only when needed."""
        ...


class RowLedger(Protocol):
    """What one node has to give, on paper: pods are put on it and taken off while the columns stay as they are."""

    def add(self, pod: PodInfo) -> None:
        """Put a pod on the node."""
        ...

    def remove(self, pod: PodInfo) -> None:
        """Take a pod off the node."""
        ...

    def find_rejection(self) -> Status | None:
        """Return why the node would not do, None if it would."""
        ...


def sum_stamps(columns: Iterable[FilterColumn]) -> int:
    """Bring columns up to date and return a number that rises when rows beyond those in the log changed."""
    stamp = 0
    for column in columns:
        column.refresh()
        stamp += column.stamp
    return stamp


def can_remember(columns: Iterable[FilterColumn]) -> bool:
    """Return whether the reasons of all these columns can be remembered."""
    return all(getattr(c, "keeps_reasons", False) for c in columns)


def can_open(columns: Iterable[FilterColumn]) -> bool:
    """Return whether a node can be judged on paper: each column has a ledger, or does not read the pods."""
    return all(hasattr(c, "open_row") or not getattr(c, "reads_pods", True) for c in columns)


class ScoreColumn(Protocol):
    """What a plugin gives to every node.

    ``raw`` is [row] int64 before normalising. ``pointwise`` means that normalising changes nothing, so that one
    row can be scored by itself; ``constant`` is the normalised score when it is the same on every node.
    ``skip`` says that PreScore would have skipped the plugin, so that its 0 is not worth showing.
    """

    skip: bool
    stamp: int
    pointwise: bool
    constant: int | None
    raw: Int64s

    def refresh(self) -> None:
        """Bring ``raw`` up to date."""
        ...

    def raw_scores(self, ok: Bools) -> Int64s:
        """Return [row] int64 before normalising, given the feasible rows."""
        ...

    def normalized(self, ok: Bools) -> Int64s:
        """Return [row] int64 in 0..100, given the feasible rows; what stands in other rows does not matter."""
        ...


class Scored:
    """Base of score columns. ``raw`` is [row] int64 and is what most plugins give before normalising."""

    __slots__ = ("constant", "pointwise", "raw", "skip", "stamp")

    def __init__(self, pointwise: bool) -> None:
        self.skip = False
        self.stamp = 0
        self.pointwise = pointwise
        self.constant: int | None = None
        self.raw: Int64s = np.zeros(0, np.int64)

    def raw_scores(self, ok: Bools) -> Int64s:
        """Return [row] int64 before normalising."""
        return self.raw

    def normalized(self, ok: Bools) -> Int64s:
        """Return the scores as they are; overridden by plugins that scale them."""
        return self.raw


class MaskColumn:
    """A filter column over a mask that somebody else keeps, with one status for every rejected row."""

    __slots__ = ("_mask", "_status", "ok", "stamp")
    keeps_reasons = True
    reads_pods = False

    def __init__(self, mask: "Refreshable", status: Status) -> None:
        self._mask = mask
        self._status = status
        self.stamp = 0
        self.ok = mask.ok

    def refresh(self) -> None:
        """Bring ``ok`` up to date."""
        self._mask.refresh()
        self.ok = self._mask.ok

    def statuses(self, rows: Int64s) -> RowGroups:
        """Give every row the one status."""
        return [(self._status, rows)]


class Refreshable(Protocol):
    """A mask that can be brought up to date."""

    ok: Bools

    def refresh(self) -> None:
        """Bring ``ok`` up to date."""
        ...


class ZeroScore(Scored):
    """The score column of a plugin that has nothing to say about a pod: 0 everywhere."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(pointwise=False)
        self.constant = 0

    def refresh(self) -> None:
        """Nothing changes."""

    def raw_scores(self, ok: Bools) -> Int64s:
        """Return zeros."""
        return np.zeros(len(ok), np.int64)

    def normalized(self, ok: Bools) -> Int64s:
        """Return zeros."""
        return np.zeros(len(ok), np.int64)


def normalize_default(raw: Int64s, ok: Bools, reverse: bool) -> Int64s:
    """Scale so that the largest feasible score becomes 100; reversed, the smallest is best.

    Behaviour: helper.DefaultNormalizeScore, integer division included.
    """
    highest = int(raw[ok].max(initial=0))
    if highest == 0:
        return np.full(len(raw), MAX_NODE_SCORE if reverse else 0, np.int64)
    scaled = raw * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled

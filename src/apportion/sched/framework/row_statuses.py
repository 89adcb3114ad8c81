"""Rows by the status that stands against them, kept row by row."""

import numpy as np
import numpy.typing as npt

from apportion.sched.framework.columns import RowGroups
from apportion.sched.framework.status import Status
from apportion.sched.state import Bools, Int64s

_NONE = -1  # the number of rows that no status stands against


class RowStatuses:
    """A number for each row, and the statuses that the numbers stand for."""

    __slots__ = ("_groups", "_number", "_numbers", "statuses")

    def __init__(self) -> None:
        self.reset(0)

    def reset(self, rows: int) -> None:
        """Begin anew: no status stands against any row."""
        self._number: npt.NDArray[np.int32] = np.full(rows, _NONE, np.int32)
        self._numbers: dict[Status, int] = {}
        self.statuses: list[Status] = []
        self._groups: RowGroups | None = None  # what `groups` returned, until something changes

    def __len__(self) -> int:
        return len(self._number)

    def set(self, row: int, status: Status | None) -> None:
        """Note what stands against a row."""
        number = _NONE if status is None else self._intern(status)
        if self._number[row] != number:
            self._number[row] = number
            self._groups = None

    def set_all(self, rows: Int64s, status: Status) -> None:
        """Note what stands against many rows."""
        self._number[rows] = self._intern(status)
        self._groups = None

    def groups(self) -> RowGroups:
        """Return the rows by status, each ascending; they must not be changed. One pass for each status if not kept."""
        if self._groups is None:
            found = ((s, (self._number == number).nonzero()[0]) for number, s in enumerate(self.statuses))
            self._groups = [(status, rows) for status, rows in found if len(rows)]
        return self._groups

    def mask(self) -> Bools:
        """Return [row] bool: some status stands against the row."""
        mask: Bools = self._number != _NONE
        return mask

    def _intern(self, status: Status) -> int:
        number = self._numbers.get(status)
        if number is None:
            number = self._numbers[status] = len(self.statuses)
            self.statuses.append(status)
        return number

"""When the queue has to be looked at again although nothing happened."""

from math import floor
from typing import Final

# Upstream looks for pods that rest too long every half minute (flushUnschedulableEntitiesLeftover).
SCAN_INTERVAL_S: Final = 30


class ScanTimes:
    """A grid of scan times. What a scan finds depends on the last grid time only, not on when it is called.

    The grid starts at a full second, where floats are exact, so a time on it is never missed by rounding.
    """

    __slots__ = ("_start_s",)

    def __init__(self, start_s: float) -> None:
        self._start_s = floor(start_s)

    def last_s(self, now_s: float) -> float:
        """Return the latest scan time that is not after ``now_s``."""
        return self._start_s + SCAN_INTERVAL_S * ((now_s - self._start_s) // SCAN_INTERVAL_S)

    def next_after_s(self, time_s: float) -> float:
        """Return the first scan time after ``time_s``."""
        return self.last_s(time_s) + SCAN_INTERVAL_S


def next_second_after_s(time_s: float) -> float:
    """Return the first full second after ``time_s``: backoffs are looked at once a second."""
    return float(floor(time_s) + 1)

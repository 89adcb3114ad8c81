"""When a pod that failed may be tried again. Pure arithmetic on times; nothing is stored here."""

from math import floor, isqrt
from typing import Final

from apportion.sched.queue.config import QueueConfig

NO_BACKOFF_S: Final = float("-inf")
_NS: Final = 1_000_000_000


class Backoff:
    """Doubling delays in windows of one second.

    Pods whose delays end in the same window are ordered by priority rather than by the split second in
    which they failed. Whole nanoseconds keep the doubling exact. Behaviour: backend/queue/backoff_queue.go.
    """

    __slots__ = ("_initial_ns", "_max_ns", "_windowed")

    def __init__(self, config: QueueConfig) -> None:
        self._initial_ns = round(config.initial_backoff_s * _NS)
        self._max_ns = round(config.max_backoff_s * _NS)
        self._windowed = config.pop_from_backoff

    def delay_s(self, failures: int, size: int = 1) -> float:
        """Return the delay after so many failures; larger groups (``size`` pods) have a longer limit."""
        if not self._max_ns or not failures:
            return 0.0
        limit_ns = self._max_ns if size == 1 else isqrt(self._max_ns * self._max_ns * size)
        doublings = failures - 1
        if self._initial_ns > limit_ns >> doublings:
            return limit_ns / _NS
        return (self._initial_ns << doublings) / _NS

    def expiry_s(self, failed_s: float, failures: int, size: int = 1) -> float:
        """Return when the backoff after a failure at ``failed_s`` ends; ``NO_BACKOFF_S`` without one."""
        if not self._max_ns or not failures:
            return NO_BACKOFF_S
        expiry = failed_s + self.delay_s(failures, size)
        return float(floor(expiry)) if self._windowed else expiry

    def is_running(self, expiry_s: float, now_s: float) -> bool:
        """Return whether a backoff is still on; it is in the window in which it ends, too."""
        return expiry_s >= (floor(now_s) if self._windowed else now_s)

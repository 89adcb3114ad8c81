"""Time and chance are constructor arguments. The deciding rooms get these and read no other clock."""

from typing import Protocol


class Clock(Protocol):
    """Where the scheduler reads time. Seconds since the Unix epoch, as float."""

    def now(self) -> float:
        """Return the current time in seconds since the Unix epoch."""
        ...


class VirtualClock:
    """A clock that moves only when told to."""

    __slots__ = ("_now_s",)

    def __init__(self, start_s: float = 1_767_225_600.0) -> None:  # 2026-01-01T00:00:00Z
        self._now_s = start_s

    def now(self) -> float:
        """Return the virtual time in seconds since the Unix epoch."""
        return self._now_s

    def advance_to(self, when_s: float) -> None:
        """Move forward to ``when_s``; a time in the past changes nothing."""
        self._now_s = max(self._now_s, when_s)

"""How long to wait before the next attempt."""

from collections.abc import Callable
from typing import Final, Protocol

from apportion.base import Rng

FIRST_S: Final = 0.8
LONGEST_S: Final = 30.0
_PARTS: Final = 1 << 20


class Timers(Protocol):
    """What calls back later: an asyncio loop, or virtual time."""

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> object:
        """Call ``callback`` after a delay in seconds."""
        ...


class Backoff:
    """Delays that double and vary. Behaviour: client-go's reflector: 0.8 s to 30 s, up to twice that by chance."""

    def __init__(self, rng: Rng, first_s: float = FIRST_S, longest_s: float = LONGEST_S) -> None:
        self._rng = rng
        self._first_s = first_s
        self._longest_s = longest_s
        self._failures = 0

    def next_s(self) -> float:
        """Return the delay after one more failure in a row."""
        delay_s = min(self._first_s * 2.0 ** min(self._failures, 60), self._longest_s)
        self._failures += 1
        return delay_s * (1 + self._rng.below(_PARTS) / _PARTS)

    def reset(self) -> None:
        """Begin anew: something worked."""
        self._failures = 0

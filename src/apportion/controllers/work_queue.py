"""The queue of a controller: keys that need another look, each at most once, failures again after a growing delay."""

import heapq
import math
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from apportion.base import Clock

K = TypeVar("K", bound=Hashable)
FIRST_DELAY_S: Final = 0.005
LONGEST_DELAY_S: Final = 1000.0
_DOUBLINGS_MAX: Final = 18  # beyond the longest delay


class WorkQueue(Generic[K]):
    """Behaviour: client-go's rate limited work queue: a key that is being worked on comes back after that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: dict[K, None] = {}
        self._busy: dict[K, bool] = {}  # keys being worked on, and whether they were added meanwhile
        self._later: list[tuple[float, int, K]] = []
        self._alarms: dict[K, float] = {}  # when each delayed key is due; other entries of _later are void
        self._failures: dict[K, int] = {}
        self._count = 0

    def add(self, key: K) -> None:
        """Ask for a look at ``key``."""
        if key in self._busy:
            self._busy[key] = True
        else:
            self._ready[key] = None

    def add_after(self, key: K, delay_s: float) -> None:
        """Ask for a look at ``key`` after a delay; of several delays the shortest counts."""
        when_s = self._clock.now() + delay_s
        if when_s < self._alarms.get(key, math.inf):
            self._alarms[key] = when_s
            self._count += 1
            heapq.heappush(self._later, (when_s, self._count, key))

    def take(self) -> K | None:
        """Return the next key to work on; None when there is none. ``finish`` must follow."""
        now_s = self._clock.now()
        while (due_s := self.next_wakeup_s()) is not None and due_s <= now_s:
            key = heapq.heappop(self._later)[2]
            del self._alarms[key]
            self.add(key)
        if not self._ready:
            return None
        key = next(iter(self._ready))
        del self._ready[key]
        self._busy[key] = False
        return key

    def finish(self, key: K, failed: bool) -> None:
        """End the work on ``key``; after a failure it comes back, each time later."""
        again = self._busy.pop(key)
        if failed:
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            delay_s = min(FIRST_DELAY_S * 2 ** (failures - 1), LONGEST_DELAY_S)
            self.add_after(key, delay_s)
        else:
            self._failures.pop(key, None)
        if again:
            self.add(key)

    def next_wakeup_s(self) -> float | None:
        """Return when the next delayed key is due, None when none is."""
        while self._later and self._alarms.get(self._later[0][2]) != self._later[0][0]:
            heapq.heappop(self._later)  # an earlier alarm took its place
        return self._later[0][0] if self._later else None

    def list_keys(self) -> list[K]:
        """Return the keys that wait, are worked on or come back later, each once."""
        return list(dict.fromkeys([*self._ready, *self._busy, *sorted(self._alarms, key=self._alarms.__getitem__)]))

    def __len__(self) -> int:
        return len(self._ready) + len(self._busy) + len(self._alarms)

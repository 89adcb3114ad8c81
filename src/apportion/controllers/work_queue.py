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


class _Alarms(Generic[K]):
    """When each key is due; of several times the earliest counts."""

    def __init__(self) -> None:
        self.times: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []  # entries that are not in ``times`` any more are void
        self._count = 0

    def set(self, key: K, when_s: float) -> None:
        if when_s < self.times.get(key, math.inf):
            self.times[key] = when_s
            self._count += 1
            heapq.heappush(self._heap, (when_s, self._count, key))

    def next_s(self) -> float | None:
        while self._heap and self.times.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now_s: float) -> list[K]:
        due = []
        while (when_s := self.next_s()) is not None and when_s <= now_s:
            key = heapq.heappop(self._heap)[2]
            del self.times[key]
            due.append(key)
        return due


class WorkQueue(Generic[K]):
    """Behaviour: client-go's rate limited work queue: a key that is being worked on comes back after that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: dict[K, None] = {}
        self._busy: dict[K, bool] = {}  # keys being worked on, and whether they were added meanwhile
        self._later: _Alarms[K] = _Alarms()
        self._deadlines: _Alarms[K] = _Alarms()
        self._failures: dict[K, int] = {}

    def add(self, key: K) -> None:
        """Ask for a look at ``key``."""
        if key in self._busy:
            self._busy[key] = True
        else:
            self._ready[key] = None

    def add_after(self, key: K, delay_s: float) -> None:
        """Ask for a look at ``key`` after a delay that something waits for; of several delays the shortest counts."""
        self._later.set(key, self._clock.now() + delay_s)

    def add_deadline(self, key: K, delay_s: float) -> None:
        """Ask for a look at ``key`` when a time limit has passed that nobody waits for: the system is idle until then.

        Of several limits the shortest counts.
        """
        self._deadlines.set(key, self._clock.now() + delay_s)

    def take(self) -> K | None:
        """Return the next key to work on; None when there is none. ``finish`` must follow."""
        if self._later.times or self._deadlines.times:
            now_s = self._clock.now()
            for key in (*self._later.pop_due(now_s), *self._deadlines.pop_due(now_s)):
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
            self.add_after(key, min(FIRST_DELAY_S * 2 ** min(failures - 1, _DOUBLINGS_MAX), LONGEST_DELAY_S))
        else:
            self._failures.pop(key, None)
        if again:
            self.add(key)

    def next_delay_s(self) -> float | None:
        """Return when the next delayed key is due, None when none is; leaves deadlines out."""
        return self._later.next_s()

    def next_wakeup_s(self) -> float | None:
        """Return when the next key is due, None when none is."""
        return min((t for t in (self._later.next_s(), self._deadlines.next_s()) if t is not None), default=None)

    def list_keys(self) -> list[K]:
        """Return the keys that wait, are worked on or come back after a delay, each once; leaves deadlines out."""
        later = self._later.times
        return list(dict.fromkeys([*self._ready, *self._busy, *sorted(later, key=later.__getitem__)]))

    def __len__(self) -> int:
        return len(self._ready) + len(self._busy) + len(self._later.times) + len(self._deadlines.times)

"""A loop with virtual time: callbacks in the order in which they were asked for, and no waiting."""

import heapq
from collections import deque
from collections.abc import Callable

from apportion.base import VirtualClock

Callback = Callable[[], None]


class VirtualLoop:
    """What drives a control plane when nobody waits: one thread, no sockets, the clock moves from timer to timer."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self._ready: deque[Callback] = deque()
        self._timers: list[tuple[float, int, Callback]] = []
        self._count = 0

    def call_soon(self, callback: Callback) -> None:
        """Call ``callback`` after those that wait already."""
        self._ready.append(callback)

    def call_later(self, delay_s: float, callback: Callback) -> None:
        """Call ``callback`` once the clock has moved by ``delay_s``; of equal times the first asked comes first."""
        self._count += 1
        heapq.heappush(self._timers, (self.clock.now() + delay_s, self._count, callback))

    def drain(self, until_s: float) -> None:
        """Run what is ready, and all that becomes due up to ``until_s``, where the clock then stands."""
        while True:
            while self._ready:
                self._ready.popleft()()
            if not self._timers or self._timers[0][0] > until_s:
                break
            due_s, _, callback = heapq.heappop(self._timers)
            self.clock.advance_to(due_s)
            self._ready.append(callback)
        self.clock.advance_to(until_s)

"""Which request is next: those about one object one after the other, others beside each other, up to a limit."""

from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lanes(Generic[T]):
    """Items wait in the order in which they came; a lane is taken again only when its last item is done."""

    def __init__(self, in_flight_max: int) -> None:
        self._in_flight_max = in_flight_max
        self._in_flight = 0
        self._ready: deque[tuple[Hashable, T]] = deque()
        self._behind: dict[Hashable, deque[T]] = {}  # by lane that is taken: who comes after
        self._waiting = 0

    def __len__(self) -> int:
        """How many wait."""
        return self._waiting

    def add(self, lane: Hashable, item: T) -> None:
        """Queue an item; those without a lane (None) wait for nobody."""
        self._waiting += 1
        if lane is not None and lane in self._behind:
            self._behind[lane].append(item)
            return
        if lane is not None:
            self._behind[lane] = deque()
        self._ready.append((lane, item))

    def take(self) -> tuple[Hashable, T] | None:
        """Return the next item and its lane, None while none may go. ``finish`` must follow."""
        if not self._ready or self._in_flight >= self._in_flight_max:
            return None
        self._in_flight += 1
        self._waiting -= 1
        return self._ready.popleft()

    def finish(self, lane: Hashable) -> None:
        """Say that the item taken from a lane is done."""
        self._in_flight -= 1
        if lane is None:
            return
        behind = self._behind[lane]
        if behind:
            self._ready.append((lane, behind.popleft()))
        else:
            del self._behind[lane]

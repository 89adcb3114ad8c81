"""The list of what changed, for readers that come at different times."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class ChangeLog(Generic[K]):
    """What changed (rows, names), in order. Each reader keeps its own cursor and asks for what came after it.

    Bounded: when more than ``keep`` entries lie in the log the oldest half is dropped, and a reader that was
    further behind is told to look at everything.
    """

    __slots__ = ("_base", "_entries", "_keep", "_last", "head")

    def __init__(self, keep: int = 65536) -> None:
        self._entries: list[K] = []
        self._base = 0
        self._keep = keep
        self.head = 0
        self._last: tuple[int, int, list[K]] = (-1, -1, [])  # (cursor, head, what was answered)

    def add(self, entry: K) -> None:
        """Note that something about ``entry`` changed."""
        self._entries.append(entry)
        self.head += 1
        if len(self._entries) > self._keep:
            drop = self._keep // 2
            del self._entries[:drop]
            self._base += drop

    def since(self, cursor: int, most: int) -> list[K] | None:
        """Return the distinct entries noted after ``cursor``; None means "too many to list, redo all".

        ``most`` is the number of entries beyond which redoing all is cheaper than listing them. The list must not be
        changed: readers often come one after the other from the same place, and get the same one.
        """
        if cursor < self._base or self.head - cursor > most:
            return None
        last_cursor, last_head, last = self._last
        if last_cursor == cursor and last_head == self.head:
            return last
        fresh = self._entries[cursor - self._base :]
        found = fresh if len(fresh) == 1 else list(dict.fromkeys(fresh))
        self._last = (cursor, self.head, found)
        return found

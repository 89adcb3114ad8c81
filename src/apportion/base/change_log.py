"""The list of what changed, for readers that come at different times."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class ChangeLog(Generic[K]):
    """What changed (rows, names), in order. Each reader keeps its own cursor and asks for what came after it.

    Bounded: when more than ``keep`` entries lie in the log the oldest half is dropped, and a reader that was
    further behind is told to look at everything.
    """

    __slots__ = ("_base", "_entries", "_keep", "head")

    def __init__(self, keep: int = 65536) -> None:
        self._entries: list[K] = []
        self._base = 0
        self._keep = keep
        self.head = 0

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

        ``most`` is the number of entries beyond which redoing all is cheaper than listing them.
        """
        if cursor < self._base or self.head - cursor > most:
            return None
        fresh = self._entries[cursor - self._base :]
        return fresh if len(fresh) == 1 else list(dict.fromkeys(fresh))

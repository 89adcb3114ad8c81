"""Dense ids for things that repeat, and the list of rows that changed."""

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Interner(Generic[K]):
    """Gives equal keys one small integer. Ids are handed out in order of first appearance and never reused."""

    __slots__ = ("_ids", "items")

    def __init__(self) -> None:
        self._ids: dict[K, int] = {}
        self.items: list[K] = []

    def intern(self, key: K) -> int:
        """Return the id of ``key``, a new one when it was not met before."""
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.items)
            self.items.append(key)
        return found

    def find(self, key: K) -> int | None:
        """Return the id of ``key``, or None when it was never interned."""
        return self._ids.get(key)

    def __len__(self) -> int:
        return len(self.items)


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

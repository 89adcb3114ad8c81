"""Dense ids for things that repeat."""

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

"""A heap from which anything can be withdrawn."""

from heapq import heapify, heappop, heappush
from typing import Any, Final, Generic, TypeVar

from apportion.sched.queue.entity import QueuedEntity

EntityT = TypeVar("EntityT", bound=QueuedEntity)

# Below this many dead entries a rebuild costs more than it saves.
_DEAD_ENTRIES_MIN: Final = 64


class EntityHeap(Generic[EntityT]):
    """Entities in the order of their keys, smallest first.

    An entity stands in one heap at a time and points to its entry. Withdrawing it only cuts that pointer;
    dead entries are skipped when they come up, and the heap is rebuilt once they outnumber the living, so
    memory stays in proportion. Everything costs O(log n), amortised.
    """

    __slots__ = ("_entries", "_live")

    def __init__(self) -> None:
        self._entries: list[tuple[Any, ...]] = []
        self._live = 0

    def __len__(self) -> int:
        return self._live

    def push(self, entry: tuple[Any, ...]) -> None:
        """Add the entity that ends ``entry``; what stands before it is the key and must be unique."""
        entry[-1].heap_entry = entry
        self._live += 1
        heappush(self._entries, entry)

    def withdraw(self, entity: EntityT) -> None:
        """Take out an entity that is in this heap."""
        entity.heap_entry = None
        self._live -= 1
        if len(self._entries) > 2 * self._live + _DEAD_ENTRIES_MIN:
            self._entries = [entry for entry in self._entries if entry[-1].heap_entry is entry]
            heapify(self._entries)

    def find_first(self) -> EntityT | None:
        """Return the entity with the smallest key, which stays."""
        entries = self._entries
        while entries:
            entity: EntityT = entries[0][-1]
            if entity.heap_entry is entries[0]:
                return entity
            heappop(entries)
        return None

    def pop(self) -> EntityT | None:
        """Take out the entity with the smallest key."""
        entries = self._entries
        while entries:
            entry = heappop(entries)
            entity: EntityT = entry[-1]
            if entity.heap_entry is entry:
                entity.heap_entry = None
                self._live -= 1
                return entity
        return None

"""The unschedulable pool: entities that wait until something changes, the gated ones among them."""

from collections.abc import Iterable
from typing import Generic

from apportion.sched.queue.heap import EntityHeap, EntityT


class ParkedPool(Generic[EntityT]):
    """Parked entities by the plugins that hold them, and by age.

    An event costs only as much as there are entities whose holders asked for it.
    """

    __slots__ = ("_by_age", "_by_holder", "gated")

    def __init__(self) -> None:
        self._by_holder: dict[str, dict[str, EntityT]] = {}
        self._by_age: EntityHeap[EntityT] = EntityHeap()
        self.gated = 0  # how many of them a gate keeps here

    def __len__(self) -> int:
        return len(self._by_age)

    def add(self, entity: EntityT, holders: tuple[str, ...]) -> None:
        """Park an entity under its holders."""
        entity.holders = holders
        for holder in holders:
            self._by_holder.setdefault(holder, {})[entity.uid] = entity
        self.gated += bool(entity.gating_plugin)
        self._by_age.push((entity.rest_since_s, entity.sequence, entity))

    def withdraw(self, entity: EntityT) -> None:
        """Take out an entity that is parked here, before anything of it changes."""
        for holder in entity.holders:
            held = self._by_holder[holder]
            del held[entity.uid]
            if not held:
                del self._by_holder[holder]
        self.gated -= bool(entity.gating_plugin)
        self._by_age.withdraw(entity)

    def find_held_by(self, holders: Iterable[str]) -> list[EntityT]:
        """Return the entities that any of ``holders`` keeps here, each once, in a stable order."""
        found: dict[str, EntityT] = {}
        for holder in holders:
            found.update(self._by_holder.get(holder, {}))
        return list(found.values())

    def find_all(self) -> list[EntityT]:
        """Return all parked entities, in a stable order."""
        return self.find_held_by(sorted(self._by_holder))

    def find_oldest(self) -> EntityT | None:
        """Return the entity that has rested longest."""
        return self._by_age.find_first()

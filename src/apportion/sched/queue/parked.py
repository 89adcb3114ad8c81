"""The unschedulable pool: entities that wait until something changes, the gated ones among them."""

from collections.abc import Hashable, Iterable
from typing import Any, Generic, TypeVar

from apportion.sched.queue.heap import EntityHeap, EntityT

KeyT = TypeVar("KeyT", bound=Hashable)


class ParkedPool(Generic[EntityT]):
    """Parked entities by the plugins that hold them, and by age.

    An event costs only as much as there are entities whose holders asked for it; less when many of them are kin: of
    one kind, and rejected by the same plugins.
    """

    __slots__ = ("_by_age", "_by_holder", "_by_interest", "gated")

    def __init__(self) -> None:
        self._by_holder: dict[str, dict[tuple[Any, ...], dict[str, EntityT]]] = {}  # by kin, by uid
        # by holder and interest, then the same
        self._by_interest: dict[tuple[str, str], dict[tuple[Any, ...], dict[str, EntityT]]] = {}
        self._by_age: EntityHeap[EntityT] = EntityHeap()
        self.gated = 0  # how many of them a gate keeps here

    def __len__(self) -> int:
        return len(self._by_age)

    def add(self, entity: EntityT, holders: tuple[str, ...], interests: tuple[str, ...], kind: Hashable) -> None:
        """Park an entity under its holders, and under each of them by what it is interested in."""
        entity.holders = holders
        entity.interests = interests
        # kin have the same holders, so each of these may keep them by the same key
        entity.kin = (kind, entity.unschedulable_plugins, entity.pending_plugins, entity.gating_plugin, holders)
        for holder in holders:
            self._by_holder.setdefault(holder, {}).setdefault(entity.kin, {})[entity.uid] = entity
            for interest in interests:
                self._by_interest.setdefault((holder, interest), {}).setdefault(entity.kin, {})[entity.uid] = entity
        self.gated += bool(entity.gating_plugin)
        self._by_age.push((entity.rest_since_s, entity.sequence, entity))

    def withdraw(self, entity: EntityT) -> None:
        """Take out an entity that is parked here, before anything of it changes."""
        for holder in entity.holders:
            _withdraw_from(self._by_holder, holder, entity)
            for interest in entity.interests:
                _withdraw_from(self._by_interest, (holder, interest), entity)
        self.gated -= bool(entity.gating_plugin)
        self._by_age.withdraw(entity)

    def is_holding(self, holder: str) -> bool:
        """Return whether ``holder`` keeps anything here."""
        return holder in self._by_holder

    def find_interested(self, holder: str, interests: Iterable[str]) -> dict[tuple[Any, ...], dict[str, EntityT]]:
        """Return the entities that ``holder`` keeps here and that have one of the interests, by kin and uid."""
        found: dict[tuple[Any, ...], dict[str, EntityT]] = {}
        for interest in interests:
            for kin, entities in self._by_interest.get((holder, interest), {}).items():
                # kin need not have the same interests
                found[kin] = found[kin] | entities if kin in found else entities
        return found

    def find_held_by(self, holders: Iterable[str]) -> dict[tuple[Any, ...], dict[str, EntityT]]:
        """Return the entities that any of ``holders`` keeps here, by kin and uid, in a stable order."""
        found: dict[tuple[Any, ...], dict[str, EntityT]] = {}
        for holder in holders:
            found.update(self._by_holder.get(holder, {}))
        return found

    def find_all(self) -> list[EntityT]:
        """Return all parked entities, in a stable order."""
        return [entity for kin in self.find_held_by(sorted(self._by_holder)).values() for entity in kin.values()]

    def find_oldest(self) -> EntityT | None:
        """Return the entity that has rested longest."""
        return self._by_age.find_first()


def _withdraw_from(index: dict[KeyT, dict[tuple[Any, ...], dict[str, EntityT]]], key: KeyT, entity: EntityT) -> None:
    held = index[key]
    kin = held[entity.kin]
    del kin[entity.uid]
    if not kin:
        del held[entity.kin]
        if not held:
            del index[key]

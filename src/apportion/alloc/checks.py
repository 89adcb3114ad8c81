"""What a device must pass to be picked. Each check can take a pick and give the last one back.

``take`` returns whether the pick passes, and leaves no trace when it does not. Picks are given back in the
reverse order, so a check keeps a stack and restores exactly what was there before.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

from apportion.alloc.attributes import UNTYPED, Values
from apportion.alloc.lineup import PoolInput
from apportion.alloc.plan import Alternative
from apportion.alloc.pool import NO_GROUP


class Pick(NamedTuple):
    """A device chosen for an alternative."""

    alternative: Alternative
    pool: int  # position among the node's pools
    device: int  # position in the pool


class Check(Protocol):
    def take(self, pick: Pick) -> bool:
        """Return whether the pick passes; if so, remember it."""
        ...

    def give_back(self, pick: Pick) -> None:
        """Forget the last pick taken."""
        ...

    def state(self) -> Hashable:
        """Return what decides about further picks: equal states, equal answers."""
        ...


class SharedCounters:
    """Partitions draw on their pool's counters; none may go below zero (KEP-4815).

    A shared device draws once, with its first user.
    """

    def __init__(self, pools: Sequence[PoolInput]) -> None:
        self._pools = pools
        self._remaining = [list(p.remaining_nano) for p in pools]
        self._is_overdrawn = [min(p.remaining_nano, default=0) < 0 for p in pools]
        self._users: dict[tuple[int, int], int] = {
            (i, device): 1 for i, p in enumerate(pools) for device, _ in p.shares
        }

    def take(self, pick: Pick) -> bool:
        pool, place = self._pools[pick.pool], (pick.pool, pick.device)
        if pool.lineup.multi >> pick.device & 1:
            users = self._users.get(place, 0)
            if users or self._draw(pick):
                self._users[place] = users + 1
                return True
            return False
        return self._draw(pick)

    def _draw(self, pick: Pick) -> bool:
        remaining = self._remaining[pick.pool]
        draws = self._pools[pick.pool].lineup.consumes[pick.device]
        # As upstream: while any counter of the pool is overdrawn, nobody may draw on any of them.
        if draws and self._is_overdrawn[pick.pool]:
            return False
        if any(amount > remaining[counter] for counter, amount in draws):
            return False
        for counter, amount in draws:
            remaining[counter] -= amount
        return True

    def give_back(self, pick: Pick) -> None:
        pool, place = self._pools[pick.pool], (pick.pool, pick.device)
        if pool.lineup.multi >> pick.device & 1:
            self._users[place] -= 1
            if self._users[place]:
                return
        for counter, amount in pool.lineup.consumes[pick.device]:
            self._remaining[pick.pool][counter] += amount

    def state(self) -> Hashable:
        """What is left, and which shared devices have drawn already."""
        users = tuple(sorted(place for place, count in self._users.items() if count))
        return tuple(map(tuple, self._remaining)), users


class CompatibilityGroups:
    """All users of a counter set must have a compatibility group in common, or none must declare any."""

    def __init__(self, pools: Sequence[PoolInput]) -> None:
        self._pools = pools
        self._common: list[dict[str, frozenset[str]]] = [dict(p.groups) for p in pools]
        self._undo: list[dict[str, frozenset[str]]] = []

    def take(self, pick: Pick) -> bool:
        before = self._common[pick.pool]
        after = dict(before)
        for counter_set, groups in self._pools[pick.pool].lineup.kinds[pick.device].groups:
            groups = groups or NO_GROUP
            after[counter_set] = after.get(counter_set, groups) & groups
            if not after[counter_set]:
                return False
        self._undo.append(before)
        self._common[pick.pool] = after
        return True

    def give_back(self, pick: Pick) -> None:
        self._common[pick.pool] = self._undo.pop()

    def state(self) -> Hashable:
        """The groups in common, by pool and counter set."""
        return tuple(tuple(sorted((name, tuple(sorted(g))) for name, g in own.items())) for own in self._common)


class ConsumableCapacity:
    """The shares of a device must fit into its capacity (KEP-5075)."""

    def __init__(self, pools: Sequence[PoolInput]) -> None:
        self._pools = pools
        self._used: dict[tuple[int, int], tuple[int, ...]] = {
            (i, device): used for i, p in enumerate(pools) for device, used in p.shares
        }

    def get_used(self, pool: int, device: int) -> tuple[int, ...]:
        """What is taken of each capacity so far, () when the device is unused."""
        return self._used.get((pool, device), ())

    def take(self, pick: Pick) -> bool:
        kind = self._pools[pick.pool].lineup.kinds[pick.device]
        if not kind.multi:
            return True
        amounts = kind.amounts_nano[pick.alternative.id]
        used = self._used.get((pick.pool, pick.device)) or (0,) * len(amounts)
        total = tuple(u + a for u, a in zip(used, amounts, strict=True))
        if any(t > c for t, c in zip(total, kind.capacity_nano, strict=True)):
            return False
        self._used[(pick.pool, pick.device)] = total
        return True

    def give_back(self, pick: Pick) -> None:
        kind = self._pools[pick.pool].lineup.kinds[pick.device]
        if not kind.multi:
            return
        amounts = kind.amounts_nano[pick.alternative.id]
        used = self._used[(pick.pool, pick.device)]
        self._used[(pick.pool, pick.device)] = tuple(u - a for u, a in zip(used, amounts, strict=True))

    def state(self) -> Hashable:
        """What is taken of each device."""
        return tuple(sorted((place, used) for place, used in self._used.items() if any(used)))


class MatchAttribute:
    """All devices under the constraint share a value of the attribute."""

    def __init__(self, constraint: int, pools: Sequence[PoolInput], with_lists: bool) -> None:
        self._constraint = constraint
        self._pools = pools
        self._with_lists = with_lists
        self._common: list[Values] = []  # after each pick: the values that all picks so far share

    def take(self, pick: Pick) -> bool:
        values = self._pools[pick.pool].lineup.kinds[pick.device].find_values(pick.alternative.id, self._constraint)
        if values is None or (self._with_lists and values == UNTYPED):
            return False
        common = values & self._common[-1] if self._common else values
        if self._common and not common:
            return False
        self._common.append(common)
        return True

    def give_back(self, pick: Pick) -> None:
        self._common.pop()

    def state(self) -> Hashable:
        """The values in common, None before the first pick."""
        return self._common[-1] if self._common else None


class DistinctAttribute:
    """No two devices under the constraint share a value of the attribute."""

    def __init__(self, constraint: int, pools: Sequence[PoolInput]) -> None:
        self._constraint = constraint
        self._pools = pools
        self._picked: list[Values] = []

    def take(self, pick: Pick) -> bool:
        values = self._pools[pick.pool].lineup.kinds[pick.device].find_values(pick.alternative.id, self._constraint)
        if values is None or any(self._clashes(values, other) for other in self._picked):
            return False
        self._picked.append(values)
        return True

    @staticmethod
    def _clashes(one: Values, other: Values) -> bool:
        # A value without usable type cannot be told apart from anything.
        return UNTYPED in (one, other) or not one.isdisjoint(other)

    def give_back(self, pick: Pick) -> None:
        self._picked.pop()

    def state(self) -> Hashable:
        """All values that are taken, and whether one of them is of no usable type."""
        return frozenset[object]().union(*self._picked), UNTYPED in self._picked

"""Which devices are still to be had while a search runs."""

from collections.abc import Iterator, Sequence

from apportion.alloc.checks import Pick
from apportion.alloc.lineup import PoolInput
from apportion.alloc.plan import Alternative


class Occupancy:
    """Bitmaps by pool of what is taken, by earlier allocations or by picks of this search.

    A shared device (allowMultipleAllocations) is never occupied by a pick; capacity decides. Admin access
    ignores what others hold and holds nothing, but one claim never gets a device twice.
    """

    def __init__(self, pools: Sequence[PoolInput]) -> None:
        self._pools = pools
        self._busy = [p.taken for p in pools]
        self._of_claim: dict[tuple[int, int], int] = {}  # (claim, pool) -> picks of that claim

    def is_busy(self, pool: int, device: int) -> bool:
        return bool(self._busy[pool] >> device & 1)

    def _blocked(self, alternative: Alternative, pool: int) -> int:
        own = self._of_claim.get((alternative.claim, pool), 0)
        return own if alternative.admin_access else own | self._busy[pool]

    def is_free(self, pick: Pick) -> bool:
        return not self._blocked(pick.alternative, pick.pool) >> pick.device & 1

    def find_candidates(self, alternative: Alternative, start: tuple[int, int]) -> Iterator[tuple[int, int]]:
        """Yield (pool, device) from ``start`` on: free, and matching or with a failed selector."""
        for pool in range(start[0], len(self._pools)):
            mask = self._find_mask(alternative, pool, start)
            while mask:
                low = mask & -mask
                yield pool, low.bit_length() - 1
                mask ^= low

    def _find_mask(self, alternative: Alternative, pool: int, start: tuple[int, int]) -> int:
        lineup, a = self._pools[pool].lineup, alternative.id
        mask = (lineup.fits[a] | lineup.failing[a]) & ~self._blocked(alternative, pool)
        return mask >> start[1] << start[1] if pool == start[0] else mask

    def can_supply(self, alternative: Alternative, count: int, start: tuple[int, int]) -> bool:
        """Return whether enough candidates are left; a failed selector among them leaves that open."""
        left = count
        for pool in range(start[0], len(self._pools)):
            mask = self._find_mask(alternative, pool, start)
            if mask and mask & self._pools[pool].lineup.failing[alternative.id]:
                return True
            left -= mask.bit_count()
        return left <= 0

    def find_supply(self, pool: int, alternatives: Sequence[Alternative]) -> int | None:
        """Bitmap of free devices that suit any of the alternatives; None where a failed selector may come first."""
        lineup = self._pools[pool].lineup
        found = 0
        for a in alternatives:
            free = ~self._blocked(a, pool)
            if lineup.failing[a.id] & free:
                return None
            found |= lineup.fits[a.id] & free
        return found

    def state(self) -> tuple[object, ...]:
        """Return what later requests can notice."""
        return (tuple(self._busy), tuple(sorted((k, mask) for k, mask in self._of_claim.items() if mask)))

    def take(self, pick: Pick) -> None:
        if not self._pools[pick.pool].lineup.multi >> pick.device & 1:
            self._flip(pick)

    def give_back(self, pick: Pick) -> None:
        if not self._pools[pick.pool].lineup.multi >> pick.device & 1:
            self._flip(pick)

    def _flip(self, pick: Pick) -> None:
        bit = 1 << pick.device
        key = (pick.alternative.claim, pick.pool)
        self._of_claim[key] = self._of_claim.get(key, 0) ^ bit
        if not pick.alternative.admin_access:
            self._busy[pick.pool] ^= bit

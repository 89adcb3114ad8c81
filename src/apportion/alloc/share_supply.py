"""Counting before searching, for shared devices: how many shares of a device can there be at most?

A shared device has several places, one for each share. Of the shares of one device the largest stands in place 0,
the next largest in place 1, and so on: so whoever stands in place i asks for no more than what i + 1 equal shares
would leave. That is a bound and no proof that the shares fit, which is enough to know what is hopeless.
"""

from collections.abc import Sequence

from apportion.alloc.lineup import Kind, PoolInput
from apportion.alloc.plan import RESULTS_MAX, Alternative


class ShareSupply:
    """Spreads bitmaps of devices over the places of their shares; exclusive devices have one place."""

    def __init__(self, pools: Sequence[PoolInput]) -> None:
        self._pools = pools
        width = sum(len(p.lineup.kinds) for p in pools)
        has_shares = any(p.lineup.multi for p in pools)
        # by number of places: times a bitmap of devices it gives the bitmap of their places
        self._repeats = [0, 1]
        for i in range(1, RESULTS_MAX if has_shares else 1):
            self._repeats.append(self._repeats[-1] | 1 << i * width)
        self.layers = self._repeats[-1]
        self._used = [dict(p.shares) for p in pools]
        self._measures: dict[tuple[int, int], tuple[int, int] | None] = {}

    def spread(self, pool: int, devices: int, alternatives: Sequence[Alternative]) -> int:
        """Return the places of these devices that a request may have; a device with too little left has none."""
        shared = devices & self._pools[pool].lineup.multi
        spread = devices ^ shared
        known: dict[tuple[int, tuple[int, ...]], int] = {}  # places by kind and use
        while shared:
            low = shared & -shared
            shared ^= low
            device = low.bit_length() - 1
            key = (self._pools[pool].lineup.kind_ids[device], self._used[pool].get(device, ()))
            if key not in known:
                known[key] = self._count_places(pool, device, alternatives)
            spread |= low * self._repeats[known[key]]
        return spread

    def _count_places(self, pool: int, device: int, alternatives: Sequence[Alternative]) -> int:
        measure = self._find_measure(pool, device)
        if measure is None:
            return RESULTS_MAX
        dimension, left = measure
        amounts = self._pools[pool].lineup.kinds[device].amounts_nano
        least = min((amounts[a.id][dimension] for a in alternatives if amounts[a.id]), default=0)
        return min(left // least, RESULTS_MAX) if least else RESULTS_MAX

    def _find_measure(self, pool: int, device: int) -> tuple[int, int] | None:
        """Return which capacity to count by, the same for all requests, and what is left of it; None without any."""
        if (pool, device) not in self._measures:
            kind = self._pools[pool].lineup.kinds[device]
            used = self._used[pool].get(device) or (0,) * len(kind.capacity_nano)
            left = [c - u for c, u in zip(kind.capacity_nano, used, strict=True)]
            scarcest = min(range(len(left)), key=lambda i: left[i] // max(_find_least(kind, i), 1), default=None)
            self._measures[pool, device] = None if scarcest is None else (scarcest, left[scarcest])
        return self._measures[pool, device]


def _find_least(kind: Kind, dimension: int) -> int:
    """Return the smallest amount that any request takes of a capacity."""
    return min((amounts[dimension] for amounts in kind.amounts_nano if amounts and amounts[dimension]), default=1)

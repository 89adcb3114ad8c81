"""Counting before searching: are there enough devices for all requests together?"""

from collections.abc import Sequence
from typing import Final

GROUPS_MAX: Final = 256  # also bounds the depth of the recursion below


class Effort:
    """How much counting may still cost, about a microsecond a unit; counting is to save work, not to make it."""

    __slots__ = ("left",)

    def __init__(self, units: int) -> None:
        self.left = units

    def spend(self, units: int) -> bool:
        """Return whether there was as much left."""
        self.left -= units
        return self.left >= 0


def has_enough(demands: Sequence[int], masks: Sequence[int], effort: Effort | None = None) -> bool:
    """Return whether devices can be dealt out so that request i gets ``demands[i]`` of those in ``masks[i]``.

    Masks are bitmaps over one numbering of the devices. Exact for requests that only differ in which devices
    match (bipartite flow); cost grows with requests x distinct device groups, not with devices. True as well where
    that is too much to count.
    """
    groups = _split_groups(masks)
    cost = len(groups) * (len(demands) + sum(demands))
    if len(groups) > GROUPS_MAX or (effort is not None and not effort.spend(cost)):
        return True  # the search will tell
    given = [[0] * len(demands) for _ in groups]  # [group][request]
    left = [mask.bit_count() for mask, _ in groups]
    return all(
        _deal_one(request, groups, given, left, set()) for request, demand in enumerate(demands) for _ in range(demand)
    )


def _split_groups(masks: Sequence[int]) -> list[tuple[int, int]]:
    """Partition the devices by which requests they match: [(device bitmap, request bitmap)]."""
    groups: list[tuple[int, int]] = []
    for request, mask in enumerate(masks):
        refined = []
        for devices, requests in groups:
            refined.append((devices & mask, requests | 1 << request))
            refined.append((devices & ~mask, requests))
            mask &= ~devices
        refined.append((mask, 1 << request))
        groups = [g for g in refined if g[0]]
    return groups


def _deal_one(
    request: int,
    groups: Sequence[tuple[int, int]],
    given: list[list[int]],
    left: list[int],
    seen: set[int],
) -> bool:
    """Give ``request`` one device, moving what others were given if that helps (an augmenting path)."""
    for g, (_, requests) in enumerate(groups):
        if g in seen or not requests >> request & 1:
            continue
        seen.add(g)
        if left[g]:
            left[g] -= 1
            given[g][request] += 1
            return True
        for other, count in enumerate(given[g]):
            if count and _deal_one(other, groups, given, left, seen):
                given[g][other] -= 1
                given[g][request] += 1
                return True
    return False

"""Counting before searching, for constraints: is there any value, or are there enough values, for all requests?"""

from collections.abc import Sequence
from typing import NamedTuple

from apportion.alloc.attributes import TypedValue
from apportion.alloc.lineup import PoolInput
from apportion.alloc.plan import Constraint, Request
from apportion.alloc.supply import Effort, has_enough


class Need(NamedTuple):
    """How many devices a request needs at least, and the bitmap of free ones over all pools of the node.

    Shared devices stand in the bitmap once for each share that the request may get; ``layers`` times a bitmap of
    devices is all their places.
    """

    request: Request
    least: int
    supply: int
    layers: int


def is_unsatisfiable(
    index: int, constraint: Constraint, needs: Sequence[Need], pools: Sequence[PoolInput], effort: Effort
) -> bool:
    """Return whether counting values shows that a constraint cannot hold; False leaves it open.

    Only requests count all of whose alternatives are under the constraint.
    """
    covered = [n for n in needs if all(index in a.constraints for a in n.request.alternatives)]
    if sum(n.least for n in covered) < 2:
        return False  # a single device satisfies any constraint that it has the attribute for
    by_value = []
    for need in covered:
        if effort.left <= 0:
            return False
        by_value.append(_find_masks(index, need, pools, effort))
    if constraint.is_distinct:
        return not _has_enough_values(covered, by_value, effort)
    return not _has_common_value(needs, covered, by_value, effort)


def _find_masks(index: int, need: Need, pools: Sequence[PoolInput], effort: Effort) -> dict[TypedValue, int]:
    """Return by value the free devices that have it and suit one of the request's alternatives."""
    found: dict[TypedValue, int] = {}
    offset = 0
    for pool in pools:
        for alternative in need.request.alternatives:
            masks = pool.lineup.get_masks_by_value(alternative.id, index)
            effort.spend(len(masks))
            for value, mask in masks.items():
                found[value] = found.get(value, 0) | (mask << offset) * need.layers & need.supply
        offset += len(pool.lineup.kinds)
    return {value: mask for value, mask in found.items() if mask}


def _has_enough_values(covered: Sequence[Need], by_value: Sequence[dict[TypedValue, int]], effort: Effort) -> bool:
    """Each device uses up at least one value that no other has: deal out values instead of devices."""
    number = {value: i for i, value in enumerate(dict.fromkeys(v for masks in by_value for v in masks))}
    masks = [sum(1 << number[v] for v in masks) for masks in by_value]
    return has_enough([n.least for n in covered], masks, effort)


def _has_common_value(
    needs: Sequence[Need], covered: Sequence[Need], by_value: Sequence[dict[TypedValue, int]], effort: Effort
) -> bool:
    """All devices share some value: for one value there must be enough devices that have it."""
    place = {id(n): i for i, n in enumerate(covered)}
    shared = set(by_value[0]).intersection(*by_value[1:])
    counts = [n.least for n in needs]
    return any(
        has_enough(counts, [by_value[place[id(n)]][value] if id(n) in place else n.supply for n in needs], effort)
        for value in shared
    )

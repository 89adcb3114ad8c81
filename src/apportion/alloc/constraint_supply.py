"""Counting before searching, for constraints: is there any value, or are there enough values, for all requests?"""

from collections.abc import Sequence
from typing import NamedTuple

from apportion.alloc.attributes import TypedValue
from apportion.alloc.lineup import PoolInput
from apportion.alloc.plan import Constraint, Request
from apportion.alloc.supply import has_enough


class Need(NamedTuple):
    """How many devices a request needs at least, and the bitmap of free ones over all pools of the node."""

    request: Request
    least: int
    supply: int


def is_unsatisfiable(index: int, constraint: Constraint, needs: Sequence[Need], pools: Sequence[PoolInput]) -> bool:
    """Return whether counting values shows that a constraint cannot hold; False leaves it open.

    Only requests count all of whose alternatives are under the constraint.
    """
    covered = [n for n in needs if all(index in a.constraints for a in n.request.alternatives)]
    if sum(n.least for n in covered) < 2:
        return False  # a single device satisfies any constraint that it has the attribute for
    by_value = [_find_masks(index, n, pools) for n in covered]
    if constraint.is_distinct:
        return not _has_enough_values(covered, by_value)
    return not _has_common_value(needs, covered, by_value)


def _find_masks(index: int, need: Need, pools: Sequence[PoolInput]) -> dict[TypedValue, int]:
    """Return by value the free devices that have it and suit one of the request's alternatives."""
    found: dict[TypedValue, int] = {}
    offset = 0
    for pool in pools:
        for alternative in need.request.alternatives:
            for value, mask in pool.lineup.get_masks_by_value(alternative.id, index).items():
                found[value] = found.get(value, 0) | mask << offset & need.supply
        offset += len(pool.lineup.kinds)
    return {value: mask for value, mask in found.items() if mask}


def _has_enough_values(covered: Sequence[Need], by_value: Sequence[dict[TypedValue, int]]) -> bool:
    """Each device uses up at least one value that no other has: deal out values instead of devices."""
    number = {value: i for i, value in enumerate(dict.fromkeys(v for masks in by_value for v in masks))}
    return has_enough([n.least for n in covered], [sum(1 << number[v] for v in masks) for masks in by_value])


def _has_common_value(
    needs: Sequence[Need], covered: Sequence[Need], by_value: Sequence[dict[TypedValue, int]]
) -> bool:
    """All devices share some value: for one value there must be enough devices that have it."""
    place = {id(n): i for i, n in enumerate(covered)}
    shared = set(by_value[0]).intersection(*by_value[1:])
    counts = [n.least for n in needs]
    return any(
        has_enough(counts, [by_value[place[id(n)]][value] if id(n) in place else n.supply for n in needs])
        for value in shared
    )

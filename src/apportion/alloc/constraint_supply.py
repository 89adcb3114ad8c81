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


# by position of the request among the needs: the free devices by value
_Masks = dict[int, dict[TypedValue, int]]


def is_unsatisfiable(
    constraints: Sequence[Constraint], needs: Sequence[Need], pools: Sequence[PoolInput], effort: Effort
) -> bool:
    """Return whether counting values shows that the constraints cannot hold; False leaves it open.

    Only requests count all of whose alternatives are under a constraint. Each constraint is looked at alone, then
    those of matchAttribute together.
    """
    supplies = [n.supply for n in needs]
    matches: list[_Masks] = []
    for index, constraint in enumerate(constraints):
        covered = [i for i, n in enumerate(needs) if all(index in a.constraints for a in n.request.alternatives)]
        if sum(needs[i].least for i in covered) < 2:
            continue  # a single device satisfies any constraint that it has the attribute for
        masks: _Masks = {}
        for i in covered:
            if effort.left <= 0:
                return False
            masks[i] = _find_masks(index, needs[i], pools, effort)
        if constraint.is_distinct:
            if not _has_enough_values([needs[i].least for i in covered], list(masks.values()), effort):
                return True
        elif not _has_common_values([masks], needs, supplies, effort):
            return True
        else:
            matches.append(masks)
    return len(matches) > 1 and not _has_common_values(matches, needs, supplies, effort)


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


def _has_enough_values(counts: Sequence[int], by_value: Sequence[dict[TypedValue, int]], effort: Effort) -> bool:
    """Each device uses up at least one value that no other has: deal out values instead of devices."""
    number = {value: i for i, value in enumerate(dict.fromkeys(v for masks in by_value for v in masks))}
    masks = [sum(1 << number[v] for v in masks) for masks in by_value]
    return has_enough(counts, masks, effort)


def _has_common_values(
    matches: Sequence[_Masks], needs: Sequence[Need], supplies: Sequence[int], effort: Effort
) -> bool:
    """For one value of each constraint there must be enough devices that have them all."""
    if not matches:
        return True
    masks, counts = matches[0], [n.least for n in needs]
    first, *others = masks.values()
    for value in first:  # in the order of devices: what is left of the effort must not depend on hashes
        if all(value in other for other in others):
            left = [masks[i][value] & supply if i in masks else supply for i, supply in enumerate(supplies)]
            if has_enough(counts, left, effort) and _has_common_values(matches[1:], needs, left, effort):
                return True
    return False

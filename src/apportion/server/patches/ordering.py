"""In which order a merged list comes out.

Items of the patch stand in the order of the patch (or of ``$setElementOrder``), the others in the order they had. The
two sequences are then woven: an item that was there before another, and that the patch does not name, stays before it.
"""

from typing import Any


def order_merged(merged: list[Any], old: list[Any], wanted: list[Any], key: str) -> list[Any]:
    """Return ``merged`` in order; ``key`` is the field that identifies items, "" for plain ones."""

    def identify(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    rank: dict[Any, int] = {}
    for item in wanted:
        rank.setdefault(identify(item), len(rank))
    before: dict[Any, int] = {}
    for place, item in enumerate(old):
        before.setdefault(identify(item), place)
    named = sorted((v for v in merged if identify(v) in rank), key=lambda v: rank[identify(v)])
    others = sorted((v for v in merged if identify(v) not in rank), key=lambda v: before.get(identify(v), len(before)))
    return _weave(others, named, lambda item: before.get(identify(item)))


def _weave(others: list[Any], named: list[Any], find_place: Any) -> list[Any]:
    woven: list[Any] = []
    left, right = 0, 0
    while left < len(others) and right < len(named):
        one, other = find_place(others[left]), find_place(named[right])
        if one is not None and other is not None and one < other:
            woven.append(others[left])
            left += 1
        else:
            woven.append(named[right])
            right += 1
    return woven + others[left:] + named[right:]

"""Selectors, found by a label that whatever they select must have."""

from collections.abc import Iterable, Mapping
from typing import Final, Generic, TypeVar

from apportion.api.selectors import LabelMatcher

T = TypeVar("T")
_PAIRS_MAX: Final = 16  # a selector with more values than these is looked at for all labels


class SelectorIndex(Generic[T]):
    """Things with selectors. Finding those that may select some labels costs as much as there are labels and answers.

    Things whose selectors name no value are always among the answers.
    """

    __slots__ = ("_added", "_by_pair", "_others")

    def __init__(self) -> None:
        self._added = 0
        self._by_pair: dict[tuple[str, str], dict[int, T]] = {}  # by the number of the thing
        self._others: dict[int, T] = {}

    def add(self, matchers: Iterable[LabelMatcher], thing: T) -> None:
        """Add a thing that selects what matches all of ``matchers``."""
        self._added += 1
        known = [pairs for matcher in matchers if (pairs := matcher.find_pairs()) is not None]
        pairs = min(known, key=len, default=None)
        if pairs is None or len(pairs) > _PAIRS_MAX:
            self._others[self._added] = thing
            return
        for pair in pairs:
            self._by_pair.setdefault(pair, {})[self._added] = thing

    def find(self, labels: Mapping[str, str]) -> list[T]:
        """Return at least the things that select ``labels``, in the order in which they were added."""
        found = dict(self._others)
        for pair in labels.items():
            things = self._by_pair.get(pair)
            if things:
                found.update(things)
        return [found[number] for number in sorted(found)]

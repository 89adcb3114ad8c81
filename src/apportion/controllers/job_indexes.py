"""Sets of completion indexes, kept as intervals: a job may have very many. Source: job/indexed_job_utils.go."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class Indexes:
    """An immutable set of indexes."""

    __slots__ = ("_intervals", "_starts")

    def __init__(self, intervals: Iterable[tuple[int, int]] = ()) -> None:
        self._intervals = tuple(intervals)  # first and last, ascending, never adjacent
        self._starts = [first for first, _ in self._intervals]

    @classmethod
    def parse(cls, text: str, completions: int) -> "Indexes":
        """Return the indexes below ``completions`` in a text such as ``1,3-5,7``."""
        found = []
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            interval = (int(first), min(int(last or first), completions - 1))
            if interval[0] <= interval[1]:
                found.append(interval)
        return cls(_join(found))

    def __contains__(self, index: int) -> bool:
        return self.next_missing(index) != index

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self._intervals)

    def __iter__(self) -> Iterator[int]:
        for first, last in self._intervals:
            yield from range(first, last + 1)

    def __str__(self) -> str:
        texts = [_print(first, last) for first, last in self._intervals]
        return ",".join(texts)

    def add(self, indexes: Iterable[int]) -> "Indexes":
        """Return the set with more indexes."""
        return Indexes(_join(sorted([*self._intervals, *((i, i) for i in indexes)])))

    def next_missing(self, index: int) -> int:
        """Return the first index from ``index`` on that is not in the set."""
        place = bisect_right(self._starts, index) - 1
        if place < 0 or self._intervals[place][1] < index:
            return index
        return self._intervals[place][1] + 1

    def count_common(self, other: "Indexes") -> int:
        """Return how many indexes are in both."""
        return sum(
            max(0, min(last, until) - max(first, start) + 1)
            for first, last in self._intervals
            for start, until in other._intervals
        )


def _join(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in intervals:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _print(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"

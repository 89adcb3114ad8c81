"""Counters, gauges and histograms, and their text form (Prometheus exposition format 0.0.4).

A metric is cheap to change: one dictionary entry a label set. Reading costs as much as there are label sets.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

TEXT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels: TypeAlias = tuple[str, ...]
ReadFn: TypeAlias = Callable[[], Mapping[Labels, float]]


class Metric:
    """What all have: a name, a text that explains it, and the names of its labels."""

    kind = ""

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.text = text
        self.labels = tuple(labels)

    def samples(self) -> Iterator[tuple[str, Labels, Labels, float]]:
        """Yield (suffix of the name, label names, label values, value)."""
        raise NotImplementedError

    def render(self) -> Iterator[str]:
        """Yield the lines of this metric."""
        yield f"# HELP {self.name} {_escape(self.text)}"
        yield f"# TYPE {self.name} {self.kind}"
        for suffix, names, values, number in self.samples():
            pairs = ",".join(f'{n}="{_escape(v, True)}"' for n, v in zip(names, values, strict=True))
            yield (
                f"{self.name}{suffix}{{{pairs}}} {_print(number)}" if pairs else f"{self.name}{suffix} {_print(number)}"
            )


class Counter(Metric):
    """Only rises."""

    kind = "counter"

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self.values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, labels: Labels = (), amount: float = 1) -> None:
        """Count something."""
        self.values[labels] = self.values.get(labels, 0) + amount

    def samples(self) -> Iterator[tuple[str, Labels, Labels, float]]:
        """Yield the counts."""
        for labels in sorted(self.values):
            yield "", self.labels, labels, self.values[labels]


class Reading(Metric):
    """A gauge, or a counter that somebody else keeps: read when it is asked for, so it costs nothing otherwise."""

    def __init__(self, name: str, text: str, labels: Sequence[str], read: ReadFn, kind: str = "gauge") -> None:
        super().__init__(name, text, labels)
        self.kind = kind
        self._read = read

    def samples(self) -> Iterator[tuple[str, Labels, Labels, float]]:
        """Yield what is the case now."""
        for labels, value in sorted(self._read().items()):
            yield "", self.labels, labels, value


class Histogram(Metric):
    """How often a value fell below each of ``bounds``, and the sum of all."""

    kind = "histogram"

    def __init__(self, name: str, text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        super().__init__(name, text, labels)
        self.bounds = tuple(bounds)
        self._series: dict[Labels, list[float]] = {}  # counts between bounds, one beyond the last, and the sum

    def observe(self, value: float, labels: Labels = ()) -> None:
        """Count a value."""
        series = self._series.get(labels)
        if series is None:
            series = self._series[labels] = [0.0] * (len(self.bounds) + 2)
        series[bisect_left(self.bounds, value)] += 1
        series[-1] += value

    def count(self, labels: Labels = ()) -> int:
        """Return how many values were counted."""
        return int(sum(self._series.get(labels, [0.0])[:-1]))

    def samples(self) -> Iterator[tuple[str, Labels, Labels, float]]:
        """Yield cumulated buckets, sum and count."""
        names = (*self.labels, "le")
        for labels, series in sorted(self._series.items()):
            total = 0.0
            for bound, count in zip((*map(_print, self.bounds), "+Inf"), series, strict=False):
                total += count
                yield "_bucket", names, (*labels, bound), total
            yield "_sum", self.labels, labels, series[-1]
            yield "_count", self.labels, labels, total


def render(metrics: Iterable[Metric]) -> bytes:
    """Return the text form of metrics, by name."""
    ordered = sorted(metrics, key=lambda m: m.name)
    return "".join(f"{line}\n" for metric in ordered for line in metric.render()).encode()


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return the bounds of ``count`` buckets, each ``factor`` times the one before."""
    bounds = []
    for _ in range(count):
        bounds.append(start)
        start *= factor  # step by step: the same roundings as in the original, so the same labels
    return tuple(bounds)


def _print(number: float) -> str:
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(float(number))


def _escape(text: str, is_label: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if is_label else text

"""Throughput over short windows: how steady a rate is, not only how high on average."""

from collections.abc import Sequence
from typing import Final

WINDOW_S: Final = 0.1
PERCENTILES: Final = (50, 90, 95, 99)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least ``percent`` of all values do not exceed; 0 for none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    rank = -(-len(ordered) * percent // 100)  # rounded up
    return ordered[max(int(rank) - 1, 0)]


def window_rates(times_s: Sequence[float], start_s: float, end_s: float) -> list[float]:
    """Return events per second in each full window of 100 ms; a shorter run is one window."""
    duration_s = end_s - start_s
    if duration_s <= 0:
        return []
    count = int(duration_s / WINDOW_S + 1e-9)
    if count == 0:
        return [len(times_s) / duration_s]
    counts = [0] * count
    for time_s in times_s:
        window = int((time_s - start_s) / WINDOW_S)
        if 0 <= window < count:
            counts[window] += 1
    return [c / WINDOW_S for c in counts]


def relative_spread(rates: Sequence[float]) -> float:
    """Return half the range of several runs as a part of their mean; 0 for fewer than two."""
    if len(rates) < 2:
        return 0.0
    mean = sum(rates) / len(rates)
    return (max(rates) - min(rates)) / 2 / mean if mean else 0.0


def sampling_error(windows: Sequence[float]) -> float:
    """Return twice the standard error of the mean over windows of one run, as a part of the mean.

    An estimate for when there is one run only: windows next to each other are alike, so it is rather too low.
    """
    if len(windows) < 2:
        return 0.0
    mean = sum(windows) / len(windows)
    if not mean:
        return 0.0
    variance = sum((w - mean) ** 2 for w in windows) / (len(windows) - 1)
    return float(2 * (variance / len(windows)) ** 0.5 / mean)

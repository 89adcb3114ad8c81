"""Compares two sets of results, and results with committed figures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from apportion.base import InputError

NOISE_MIN: Final = 0.03  # two runs of the same differ that much on a quiet machine
DROP_MAX: Final = 0.2


@dataclass(frozen=True, slots=True)
class Comparison:
    """One workload in two results. ``noise`` is the part by which they may differ by chance."""

    name: str
    mode: str
    before: float | None
    after: float | None
    noise: float = 0.0

    @property
    def ratio(self) -> float | None:
        """After over before; None when one of them is missing."""
        return self.after / self.before if self.after is not None and self.before else None

    @property
    def verdict(self) -> str:
        """What the ratio says: faster, slower, or nothing because of the noise."""
        if self.ratio is None:
            return "only in one" if self.before is None or self.after is None else "no figure"
        if abs(self.ratio - 1) <= self.noise:
            return "within the noise"
        return "faster" if self.ratio > 1 else "slower"


def read_results(path: str) -> list[dict[str, Any]]:
    """Return the workloads of a JSON file that bench wrote. Raises InputError."""
    try:
        found = orjson.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    workloads = found.get("workloads") if isinstance(found, dict) else None
    if not isinstance(workloads, list) or not all(isinstance(w, dict) and w.get("name") for w in workloads):
        raise InputError(f'{path}: has no list "workloads" as "apportion bench -o json" prints it')
    return workloads


def compare(before: Iterable[dict[str, Any]], after: Iterable[dict[str, Any]]) -> list[Comparison]:
    """Return a comparison for each workload and mode in either, in the order of their names."""
    old, new = _by_key(before), _by_key(after)
    found = []
    for key in sorted({*old, *new}):
        a, b = old.get(key, {}), new.get(key, {})
        noise = max(a.get("spread", 0.0) + b.get("spread", 0.0), NOISE_MIN)
        found.append(Comparison(*key, a.get("podsPerSecond"), b.get("podsPerSecond"), noise))
    return found


def _by_key(results: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(r["name"], r.get("mode", "")): r for r in results if "error" not in r}


def relative_to_machine(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result whose rate is per thousand rounds of the calibration loop that ran beside it.

    It is the rate by processor time, which other programs on the machine change least.
    """
    return {**result, "podsPerSecond": result["podsPerCpuSecond"] / result["calibration"]}


def find_drops(committed: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]) -> list[Comparison]:
    """Return where results are more than 20 % below committed figures, both taken relative to their machine."""
    known = [relative_to_machine(r) for r in committed if "error" not in r]
    now = [relative_to_machine(r) for r in results if "error" not in r]
    return [c for c in compare(known, now) if c.ratio is not None and c.ratio < 1 - DROP_MAX]

"""Results in scheduler_perf's own format, which tools like benchstat's converters read.

Format: ``DataItems`` in test/integration/scheduler_perf/util.go, version v1, one file for each test case.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from apportion.base import InputError
from apportion.bench.outcome import Json

_PREFIX: Final = "BenchmarkPerfScheduling"
_US_IN_MS: Final = 1000


def make_data_items(results: Sequence[Json]) -> Json:
    """Return the data items of results; those that failed have none."""
    return {"version": "v1", "dataItems": [item for r in results if "error" not in r for item in _make_items(r)]}


def _make_items(result: Json) -> list[dict[str, Any]]:
    labels = {"Name": f"{_PREFIX}/{result['name']}", "Mode": result["mode"]}
    throughput = {
        "Average": result["podsPerSecond"],
        **{f"Perc{p}": result[f"podsPerSecondP{p}"] for p in (50, 90, 95, 99)},
    }
    latency = {
        "Average": result["decisionMeanUs"] / _US_IN_MS,
        "Perc50": result["decisionP50Us"] / _US_IN_MS,
        "Perc99": result["decisionP99Us"] / _US_IN_MS,
    }
    memory = {"Max": result["peakMemoryMiB"]}
    unit = f"{result['counted']}/s"
    return [
        {"data": throughput, "unit": unit, "labels": {**labels, "Metric": "SchedulingThroughput"}},
        {"data": latency, "unit": "ms", "labels": {**labels, "Metric": "scheduling_decision_duration"}},
        {"data": memory, "unit": "MiB", "labels": {**labels, "Metric": "peak_memory"}},
    ]


def write_data_items(results: Sequence[Json], folder: str, stamp: str) -> list[Path]:
    """Write one file for each test case and return their paths. Raises InputError when that is not possible."""
    by_case: dict[str, list[Json]] = {}
    for result in results:
        by_case.setdefault(result["name"].split("/")[0], []).append(result)
    written = []
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for case, entries in by_case.items():
            items = make_data_items(entries)
            if items["dataItems"]:
                path = Path(folder) / f"{_PREFIX}_{case}_{stamp}.json"
                path.write_bytes(orjson.dumps(items, option=orjson.OPT_INDENT_2))
                written.append(path)
    except OSError as error:
        raise InputError(f"--data-items {folder}: {error.strerror}") from None
    return written

"""What the run of a workload from a file came to: one run, or several of the same."""

from collections.abc import Mapping, Sequence
from typing import Any

from apportion.bench.collecting import Sample
from apportion.bench.windows import PERCENTILES, percentile, relative_spread, sampling_error, window_rates

Json = dict[str, Any]


def describe_run(samples: Sequence[Sample], peak_mib: float) -> Json:
    """Return one run as JSON: rates in pods (or objects) per second, latencies in microseconds."""
    duration_s = sum(s.end_s - s.start_s for s in samples)
    pods = sum(len(s.bound_s) for s in samples)
    counted = pods or sum(s.objects for s in samples)
    windows = [r for s in samples for r in window_rates(s.bound_s, s.start_s, s.end_s)]
    latencies = [ns / 1000 for s in samples for ns in s.latencies_ns]
    return {
        "counted": "pods" if pods else "objects",
        "pods": counted,
        "durationSeconds": round(duration_s, 6),
        "cpuSeconds": round(sum(s.cpu_s for s in samples), 6),
        "podsPerSecond": _rate(counted, duration_s),
        "windows": [round(w, 1) for w in windows],
        "decisionP50Us": round(percentile(latencies, 50), 1),
        "decisionP99Us": round(percentile(latencies, 99), 1),
        "decisionMeanUs": round(sum(latencies) / len(latencies), 1) if latencies else 0.0,
        "peakMemoryMiB": round(peak_mib, 1),
    }


def _rate(count: int, duration_s: float) -> float:
    return round(count / duration_s, 1) if duration_s > 0 else 0.0


def combine_runs(name: str, mode: str, labels: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> Json:
    """Return the result of a workload. The windows of all runs make the percentiles, the runs make the spread."""
    windows = [w for run in runs for w in run["windows"]]
    duration_s = sum(run["durationSeconds"] for run in runs)
    rates = [run["podsPerSecond"] for run in runs]
    latency = {k: _median([run[k] for run in runs]) for k in ("decisionP50Us", "decisionP99Us", "decisionMeanUs")}
    return {
        "name": name,
        "mode": mode,
        "labels": sorted(labels),
        "counted": runs[0]["counted"],
        "pods": sum(run["pods"] for run in runs),
        "durationSeconds": round(duration_s, 6),
        "podsPerCpuSecond": _rate(sum(run["pods"] for run in runs), sum(run["cpuSeconds"] for run in runs)),
        "podsPerSecond": _rate(sum(run["pods"] for run in runs), duration_s),
        **{f"podsPerSecondP{p}": round(percentile(windows, p), 1) for p in PERCENTILES},
        "runs": rates,
        "spread": round(relative_spread(rates) or sampling_error(windows), 4),
        **latency,
        "peakMemoryMiB": max(run["peakMemoryMiB"] for run in runs),
        "calibration": round(_median([run["calibration"] for run in runs]), 3),
        "notes": list(dict.fromkeys(note for run in runs for note in run["notes"])),
    }


def failed(name: str, mode: str, labels: Sequence[str], why: str) -> Json:
    """Return the result of a workload that could not run, or whose placements do not hold."""
    return {"name": name, "mode": mode, "labels": sorted(labels), "error": why}


def _median(values: Sequence[float]) -> float:
    return percentile(values, 50)

"""Each run of a workload in a process of its own, so that its memory is its own; and how often it is run."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from apportion.bench.measurement import BenchError, Progress
from apportion.bench.outcome import Json, combine_runs, failed
from apportion.bench.perf_files import PerfWorkload, read_workloads
from apportion.bench.runner import Settings, find_obstacle, run_once

MEASURED_S: Final = 10.0  # a run that lasts less is repeated until it does
WALL_S: Final = 60.0  # but not beyond this
RUNS_MAX: Final = 30


@dataclass(frozen=True, slots=True)
class Plan:
    """How workloads are run; without ``repeat`` those labelled performance are repeated until they last."""

    settings: Settings
    repeat: int | None = None


def run_workload(workload: PerfWorkload, plan: Plan, progress: Progress) -> tuple[Json, str]:
    """Return the result, with an ``error`` when the workload cannot run, and the profile, "" without one."""
    mode = plan.settings.mode
    runs: list[Json] = []
    start_s = time.monotonic()
    try:
        find_obstacle(workload)
        while not runs or not _is_enough(workload, plan, runs, time.monotonic() - start_s):
            runs.append(_run_child(workload, plan.settings, len(runs), progress))
    except BenchError as error:
        return failed(workload.name, mode, sorted(workload.labels), str(error)), ""
    result = combine_runs(workload.name, mode, sorted(workload.labels), runs)
    if workload.threshold is not None:
        result["threshold"] = workload.threshold
    return result, runs[-1]["profile"]


def _is_enough(workload: PerfWorkload, plan: Plan, runs: list[Json], wall_s: float) -> bool:
    if plan.repeat is not None:
        return len(runs) >= plan.repeat
    if "performance" not in workload.labels or len(runs) >= RUNS_MAX:
        return True
    longest_s = wall_s / len(runs)
    return sum(r["durationSeconds"] for r in runs) >= MEASURED_S or wall_s + longest_s > WALL_S


def _run_child(workload: PerfWorkload, settings: Settings, number: int, progress: Progress) -> Json:
    job = {
        "path": workload.path,
        "name": workload.name,
        "mode": settings.mode,
        "seed": settings.seed + number,
        "profiles": settings.profiles,
    }
    command = [sys.executable, "-m", "apportion.bench", "file", orjson.dumps(job).decode()]
    with (
        tempfile.TemporaryFile() as output,
        subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as child,
    ):
        assert child.stderr is not None
        said = list(_read_progress(child.stderr, progress))
        if child.wait():
            raise BenchError(_explain(said) or f"ended with {child.returncode}")
        output.seek(0)
        found: Json = orjson.loads(output.read())
    return found


def _read_progress(lines: Any, progress: Progress) -> Iterator[str]:
    """Pass progress on, and yield the other lines."""
    for line in lines:
        if line.startswith("progress "):
            done, total = line.split()[1:3]
            progress(int(done), int(total))
        else:
            yield line.rstrip()


def _explain(said: list[str]) -> str:
    """Return the error that a child told, or the last line of its traceback."""
    told = [line.removeprefix("error ") for line in said if line.startswith("error ")]
    return " ".join(told) or next((line for line in reversed(said) if line.strip()), "")


def run_job(text: str, progress: Progress) -> Json:
    """Run the job that a parent process asked for. Raises ApportionError when the workload cannot run."""
    job = orjson.loads(text)
    workload = next(w for w in read_workloads([job["path"]]) if w.name == job["name"])
    return run_once(workload, Settings(job["mode"], job["seed"], job["profiles"]), progress)

"""Runs one workload of a file once, in this process, and checks what came out."""

import asyncio
import resource
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from apportion.api.feature_gates import GATES, FeatureGates
from apportion.base import ConfigError, InputError
from apportion.bench.calibration import calibrate
from apportion.bench.collecting import Collector
from apportion.bench.executor import Executor
from apportion.bench.measurement import BenchError, Progress
from apportion.bench.opcodes import find_problems
from apportion.bench.outcome import Json, describe_run
from apportion.bench.perf_files import PerfWorkload
from apportion.bench.profiling import Profiler
from apportion.bench.verify import verify
from apportion.bench.world import World
from apportion.bench.world_api import ApiWorld
from apportion.bench.world_core import CoreWorld
from apportion.sched.framework.config import SchedulerConfig, read_config
from apportion.sched.shell.shell import WATCHED

# what kube-scheduler is taken to reach where a file has no threshold
DEFAULT_RATE: Final = 300.0
_PROGRESS_EVERY: Final = 200
_CHANGING: Final = ("updateAny",)  # after such an operation a node may hold more than it has


@dataclass(frozen=True, slots=True)
class Settings:
    """How a workload is run."""

    mode: str
    seed: int = 0
    profiles: bool = False


def run_once(workload: PerfWorkload, settings: Settings, progress: Progress) -> Json:
    """Run a workload and return what was measured. Raises BenchError, InputError or ConfigError saying why not."""
    find_obstacle(workload)
    gates, notes = read_gates(workload.gates)
    config = read_scheduler_config(workload.config_path)
    before = calibrate()
    profiler = Profiler(settings.profiles, in_sections=settings.mode == "core")
    run = _run_in_core if settings.mode == "core" else _run_through_api
    found = run(workload, settings, config, gates, profiler, progress)
    return {
        **found,
        "calibration": max(before, calibrate()),
        "notes": [*notes, *(["ran under the profiler, which slows it down"] if settings.profiles else [])],
        "profile": profiler.describe(f"{workload.name}, mode {settings.mode}"),
    }


def find_obstacle(workload: PerfWorkload) -> None:
    """Raise BenchError naming the opcode, gate or field that keeps a workload from running."""
    problems = [*workload.problems, *(p for o in workload.operations for p in find_problems(o))]
    if problems:
        raise BenchError(problems[0])
    opcodes = {o["opcode"] for o in workload.operations}
    if "createPodGroups" in opcodes and "podgroups" not in WATCHED:
        raise BenchError("opcode createPodGroups: pod groups are not scheduled as groups yet (gate GenericWorkload)")


def read_gates(wanted: Mapping[str, bool]) -> tuple[FeatureGates, list[str]]:
    """Return the gates, and a note for each that cannot be set. Raises BenchError for one that is not known."""
    settings, notes = {}, []
    for name, value in wanted.items():
        gate = GATES.get(name)
        if gate is not None and gate.locked and gate.default != value:
            notes.append(f"gate {name} is always {'on' if gate.default else 'off'}")
        else:
            settings[name] = value
    try:
        return FeatureGates(settings), notes
    except ConfigError as error:
        raise BenchError(f"feature gates: {error}") from None


def read_scheduler_config(path: str | None) -> SchedulerConfig:
    """Return the scheduler configuration in a file, the default one without a file."""
    if path is None:
        return SchedulerConfig()
    try:
        with open(path, encoding="utf-8") as file:
            return read_config(yaml.load(file, yaml.CSafeLoader), path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None


def _run_in_core(
    workload: PerfWorkload,
    settings: Settings,
    config: SchedulerConfig,
    gates: FeatureGates,
    profiler: Profiler,
    progress: Progress,
) -> Json:
    world = CoreWorld(config, gates, settings.seed, workload.rate or DEFAULT_RATE, profiler)
    return _complete(_execute(workload, world, gates, profiler, progress))


def _complete(work: Coroutine[Any, Any, Json]) -> Json:
    """Run a coroutine that never waits for anything outside."""
    try:
        work.send(None)
    except StopIteration as done:
        result: Json = done.value
        return result
    raise AssertionError("core mode waits for nobody")


def _run_through_api(
    workload: PerfWorkload,
    settings: Settings,
    config: SchedulerConfig,
    gates: FeatureGates,
    profiler: Profiler,
    progress: Progress,
) -> Json:
    async def run() -> Json:
        world = ApiWorld(config, gates, settings.seed)
        try:
            return await _execute(workload, world, gates, profiler, progress)
        finally:
            world.stop()

    return asyncio.run(run())


async def _execute(
    workload: PerfWorkload, world: World, gates: FeatureGates, profiler: Profiler, progress: Progress
) -> Json:
    collector = Collector(world, profiler.start, profiler.stop)
    world.board.listeners.append(_count(world, progress))
    await Executor(workload, world, collector, gates).run()
    if not collector.samples:
        raise BenchError("nothing is measured: no operation collects metrics")
    found = describe_run(collector.samples, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    _check(workload, world)
    return found


def _count(world: World, progress: Progress) -> Callable[[object], None]:
    seen = 0

    def count(entry: object) -> None:
        nonlocal seen
        seen += 1
        if seen % _PROGRESS_EVERY == 0:
            progress(seen, max(len(world.board.entries), seen))

    return count


def _check(workload: PerfWorkload, world: World) -> None:
    """Raise BenchError unless every placement holds."""
    trees = world.trees
    pods, claims, slices = trees("pods"), trees("resourceclaims"), trees("resourceslices")
    changes = any(o["opcode"] in _CHANGING for o in workload.operations)
    problems = verify(trees("nodes"), pods, claims, slices, checks_rooms=not changes)
    if problems:
        raise BenchError(f"{problems[0]} ({len(problems)} problems)")

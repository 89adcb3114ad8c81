"""Core mode: time is virtual, and what happens beside the measured pods happens at kube-scheduler's pace."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apportion.api.feature_gates import FeatureGates
from apportion.bench.collecting import Collector
from apportion.bench.executor import Executor
from apportion.bench.measurement import BenchError
from apportion.bench.perf_files import PerfWorkload
from apportion.bench.profiling import Profiler
from apportion.bench.runner import _complete
from apportion.bench.world_core import CoreWorld
from apportion.sched.framework.config import SchedulerConfig

_NODE = "{apiVersion: v1, kind: Node, metadata: {generateName: n-}, status: {capacity: {cpu: '%s', pods: '110'}}}"
_POD = (
    "{apiVersion: v1, kind: Pod, metadata: {generateName: p-, labels: {of: '%s'}}, spec: {priority: %d, "
    "containers: [{name: c, image: i, resources: {requests: {cpu: '%s'}}}]}}"
)
_FILES = {
    "node.yaml": _NODE % 2,
    "churn.yaml": _POD % ("churn", 0, "0"),
    "low.yaml": _POD % ("low", 1, "1"),
    "high.yaml": _POD % ("high", 9, "2"),
    "small.yaml": _POD % ("small", 0, "10m"),
}


def _run(folder: Path, rate: float, *operations: Mapping[str, Any]) -> tuple[CoreWorld, Collector]:
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    nodes = {"opcode": "createNodes", "count": 2, "nodeTemplatePath": "node.yaml"}
    workload = PerfWorkload("w", str(folder / "w.yaml"), frozenset(), (nodes, *operations), {}, {})
    gates = FeatureGates.parse("")
    world = CoreWorld(SchedulerConfig(), gates, 0, rate, Profiler(False, True))
    collector = Collector(world, lambda: None, lambda: None)

    async def run() -> dict[str, Any]:
        await Executor(workload, world, collector, gates).run()
        return {}

    _complete(run())
    return world, collector


def _pods(world: CoreWorld, of: str) -> list[Any]:
    return [p for p in world.trees("pods") if p["metadata"]["labels"]["of"] == of]


def test_a_churn_goes_by_measured_pods(tmp_path: Path) -> None:
    """Every 100 ms for a scheduler that does 100 pods/s is once for ten pods, however fast we are."""
    churn = {"opcode": "churn", "mode": "create", "intervalMilliseconds": 100, "templatePaths": ["churn.yaml"]}
    pods = {"opcode": "createPods", "count": 45, "podTemplatePath": "small.yaml", "collectMetrics": True}
    world, collector = _run(tmp_path, 100, churn, pods)
    assert len(_pods(world, "churn")) == 4
    assert len(collector.samples[0].bound_s) == 45
    assert len(collector.samples[0].latencies_ns) >= 45


def test_a_churn_that_recreates_takes_away_what_it_made(tmp_path: Path) -> None:
    churn = {"opcode": "churn", "mode": "recreate", "number": 1, "intervalMilliseconds": 100}
    churn["templatePaths"] = ["churn.yaml"]
    pods = {"opcode": "createPods", "count": 25, "podTemplatePath": "small.yaml", "collectMetrics": True}
    world, _ = _run(tmp_path, 100, churn, pods, {"opcode": "sleep", "duration": "100ms"})
    assert len(_pods(world, "churn")) == 1  # made, gone, made


def test_pods_are_deleted_beside_what_follows(tmp_path: Path) -> None:
    first = {"opcode": "createPods", "count": 20, "podTemplatePath": "small.yaml", "namespace": "first"}
    delete = {"opcode": "deletePods", "namespace": "first", "deletePodsPerSecond": 50, "skipWaitToCompletion": True}
    pods = {"opcode": "createPods", "count": 21, "podTemplatePath": "small.yaml", "collectMetrics": True}
    world, _ = _run(tmp_path, 100, first, delete, pods)
    assert len(world.trees("pods")) == 20 + 21 - 10


def test_time_jumps_over_backoffs_to_the_preemption(tmp_path: Path) -> None:
    low = {"opcode": "createPods", "count": 4, "podTemplatePath": "low.yaml"}
    high = {"opcode": "createPods", "count": 2, "podTemplatePath": "high.yaml", "collectMetrics": True}
    world, collector = _run(tmp_path, 100, low, high)
    assert len(collector.samples[0].bound_s) == 2
    assert _pods(world, "low") == []


def test_pods_that_fit_nowhere_end_the_run(tmp_path: Path) -> None:
    low = {"opcode": "createPods", "count": 5, "podTemplatePath": "low.yaml"}
    with pytest.raises(BenchError, match="all pods of operation 1 have nodes"):
        _run(tmp_path, 100, low)


def test_a_steady_state_keeps_its_level(tmp_path: Path) -> None:
    steady = {"opcode": "createPods", "count": 3, "podTemplatePath": "small.yaml", "steadyState": True}
    steady |= {"duration": "30ms", "collectMetrics": True}
    world, collector = _run(tmp_path, 100, steady)
    (sample,) = collector.samples
    assert len(sample.bound_s) > 3
    assert sample.end_s - sample.start_s >= 0.03
    assert len(world.trees("pods")) <= 4

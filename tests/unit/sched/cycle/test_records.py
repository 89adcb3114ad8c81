"""Metrics and log lines of decisions, in a scheduler whose time is made by the test."""

import logging
from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

# histograms of upstream that a scheduler with ordinary pods fills, with their smallest and largest bounds
BOUNDS = {
    "scheduler_scheduling_attempt_duration_seconds": ("0.001", "16.384"),
    "scheduler_scheduling_algorithm_duration_seconds": ("0.001", "16.384"),
    "scheduler_pod_scheduling_sli_duration_seconds": ("0.01", "5242.88"),
    "scheduler_pod_scheduling_attempts": ("1", "16"),
    "scheduler_framework_extension_point_duration_seconds": ("0.0001", "0.2048"),
}


class Recorded(Bench):
    """A bench whose scheduler keeps metrics; ``tick_s`` passes whenever it looks at the clock for durations."""

    def __init__(self) -> None:
        self.tick_s = 0.25
        self._perf_s = 0.0
        super().__init__(perf=self._perf)

    def _perf(self) -> float:
        self._perf_s += self.tick_s
        return self._perf_s

    def metrics(self) -> dict[str, str]:
        recorder = self.scheduler.recorder
        assert recorder is not None
        lines = recorder.render(self.scheduler).decode().splitlines()
        assert len(lines) == len(set(lines))
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))  # type: ignore[misc]


def test_attempts_are_counted_by_result() -> None:
    bench = Recorded()
    bench.put("nodes", node_tree("n1", cpu="1"))
    bench.put("pods", pod_tree("p"), pod_tree("q"))
    bench.run()
    found = bench.metrics()
    attempts = "scheduler_schedule_attempts_total"
    assert found[f'{attempts}{{result="scheduled",profile="default-scheduler"}}'] == "1"
    assert found[f'{attempts}{{result="unschedulable",profile="default-scheduler"}}'] == "1"
    assert found['scheduler_pending_pods{queue="unschedulable"}'] == "1"
    assert found['scheduler_queue_incoming_pods_total{queue="active",event="UnscheduledPodAdd"}'] == "2"
    assert found['scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"}'] == "1"
    assert found['scheduler_cache_size{type="nodes"}'] == "1"
    assert found['scheduler_cache_size{type="pods"}'] == "1"
    assert found['scheduler_goroutines{operation="binding"}'] == "0"
    assert found["scheduler_preemption_attempts_total"] == "1"
    assert found["scheduler_pod_scheduling_attempts_count"] == "1"


def test_durations_fall_into_upstreams_buckets() -> None:
    bench = Recorded()
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("p"))
    bench.run()
    found = bench.metrics()
    for name, bounds in BOUNDS.items():
        listed = [key.rsplit('le="', 1)[1].split('"')[0] for key in found if key.startswith(f"{name}_bucket")]
        finite = sorted({b for b in listed if b != "+Inf"}, key=float)
        assert (finite[0], finite[-1]) == bounds, name
    assert found["scheduler_scheduling_algorithm_duration_seconds_count"] == "1"
    for point in ("PreFilter", "Filter", "Score", "Reserve", "Permit", "Bind"):
        labels = f'extension_point="{point}",status="Success",profile="default-scheduler"'
        assert found[f"scheduler_framework_extension_point_duration_seconds_count{{{labels}}}"] == "1"


def test_victims_are_counted() -> None:
    bench = Recorded()
    bench.put("nodes", node_tree("n1", cpu="2"))
    bench.put("pods", pod_tree("a", node="n1"), pod_tree("b", node="n1"), pod_tree("high", cpu="2", priority=5))
    bench.run()
    assert bench.metrics()["scheduler_preemption_victims_sum"] == "2"


def test_each_attempt_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "apportion.decisions")
    bench = Recorded()
    bench.put("nodes", node_tree("n1", cpu="1"))
    bench.put("pods", pod_tree("p"), pod_tree("q"))
    bench.run()
    lines: list[dict[str, Any]] = [{"msg": r.getMessage(), **r.fields} for r in caplog.records]  # type: ignore[attr-defined]
    by_pod = {line["pod"]: line for line in lines}
    assert (by_pod["default/p"]["msg"], by_pod["default/p"]["node"]) == ("scheduled", "n1")
    assert by_pod["default/p"]["attempt"] == 1
    assert by_pod["default/p"]["duration_ms"] > 0
    assert by_pod["default/q"]["msg"] == "unschedulable"
    assert by_pod["default/q"]["reason"].startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_plugins_are_counted_in_every_attempt_and_timed_in_one_of_ten() -> None:
    bench = Recorded()
    bench.put("nodes", node_tree("n1", cpu="100"))
    for i in range(20):
        bench.put("pods", pod_tree(f"p{i}", labels={"i": str(i)}))
        bench.run()
    found = bench.metrics()
    evaluations = {}
    for point in ("PreFilter", "Filter", "PreScore", "Score"):
        labels = f'plugin="NodeResourcesFit",extension_point="{point}",profile="default-scheduler"'
        evaluations[point] = found[f"scheduler_plugin_evaluation_total{{{labels}}}"]
    assert evaluations == dict.fromkeys(evaluations, "20")
    timed = "scheduler_plugin_execution_duration_seconds"
    for point in ("PreFilter", "Filter", "PreScore", "Score"):
        labels = f'plugin="NodeResourcesFit",extension_point="{point}",status="Success"'
        assert found[f"{timed}_count{{{labels}}}"] == "2", point
    finite = {k.rsplit('le="', 1)[1].split('"')[0] for k in found if k.startswith(f"{timed}_bucket")} - {"+Inf"}
    assert (min(finite, key=float), len(finite)) == ("1e-05", 20)
    # a plugin with nothing to say about these pods is asked, and has no column
    labels = 'plugin="NodePorts",extension_point="{}",profile="default-scheduler"'
    assert found[f"scheduler_plugin_evaluation_total{{{labels.format('PreFilter')}}}"] == "20"
    assert f"scheduler_plugin_evaluation_total{{{labels.format('Filter')}}}" not in found


def test_events_and_calls_are_timed_by_what_they_are() -> None:
    bench = Recorded()
    bench.put("nodes", node_tree("n1", cpu="1"))
    bench.put("pods", pod_tree("p"), pod_tree("q"))
    bench.run()
    found = bench.metrics()
    events = {k.split('event="')[1][:-2]: v for k, v in found.items() if "event_handling_duration_seconds_count" in k}
    assert events == {"NodeAdd": "1", "UnscheduledPodAdd": "2", "UnscheduledPodUpdate": "1", "AssignedPodUpdate": "1"}
    total = "scheduler_async_api_call_execution_total"
    calls = {k.removeprefix(total): v for k, v in found.items() if k.startswith(total)}
    assert calls == {
        '{call_type="pod_binding",result="success"}': "1",
        '{call_type="pod_status_patch",result="success"}': "1",
    }
    seconds = "scheduler_async_api_call_execution_duration_seconds_count"
    assert found[f'{seconds}{{call_type="pod_binding",result="success"}}'] == "1"
    assert not [k for k in found if k.startswith("scheduler_pending_async_api_calls")]


def test_hints_are_timed_by_what_they_say() -> None:
    bench = Recorded()
    bench.put("nodes", node_tree("n1", cpu="1"))
    bench.put("pods", pod_tree("p", cpu="3"), pod_tree("q", nodeSelector={"disk": "ssd"}))
    bench.run()
    bench.put("nodes", node_tree("n2", cpu="2"), node_tree("n3", cpu="4"))
    found = bench.metrics()
    name = "scheduler_queueing_hint_execution_duration_seconds"
    labels = 'plugin="{}",event="NodeAdd",hint="{}"'
    skipped = labels.format("NodeResourcesFit", "QueueSkip")
    assert found[f"{name}_count{{{skipped}}}"] == "1"
    assert found[f"{name}_sum{{{skipped}}}"] == "0.25"
    assert found[f"{name}_count{{{labels.format('NodeResourcesFit', 'Queue')}}}"] == "1"
    assert found[f"{name}_count{{{labels.format('NodeAffinity', 'QueueSkip')}}}"] == "2"
    assert f'{name}_bucket{{{skipped},le="1e-05"}}' in found

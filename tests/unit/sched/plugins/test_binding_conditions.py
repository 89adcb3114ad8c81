from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

from apportion.api.feature_gates import FeatureGates
from apportion.base import ConfigError, Rng
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig, read_config
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState

DRIVER = "d.example.com"
CLAIMED = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
ATTACHED = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}


def config(**args: Any) -> SchedulerConfig:
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "DynamicResources", "args": args}]}],
    }
    return read_config(tree, "test")


def bench_with(*pods: dict[str, Any], device: dict[str, Any] = ATTACHED, **args: Any) -> Bench:
    """Return a cluster of one node with one device, and the claim c, in which the pods have been tried."""
    bench = Bench(config(**args))
    bench.put("nodes", node_tree("n1"))
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": [{"name": "dev", **device}]}
    bench.put("resourceslices", {"metadata": {"name": "n1"}, "spec": spec})
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}]
    meta = {"name": "c", "namespace": "default", "uid": "uid-c"}
    bench.put("resourceclaims", {"metadata": meta, "spec": {"devices": {"requests": requests}}})
    bench.put("pods", *(pods or (pod_tree("p", **CLAIMED),)))
    bench.run()
    return bench


def find(bench: Bench, resource: str, name: str) -> dict[str, Any]:
    tree = bench.transport.find(resource, "default", name)
    assert tree is not None
    return tree


def results(bench: Bench) -> list[dict[str, Any]]:
    allocation = find(bench, "resourceclaims", "c")["status"].get("allocation")
    return allocation["devices"]["results"] if allocation else []


def report(bench: Bench, *conditions: str, **place: str) -> None:
    """Have the driver say that the conditions are true."""
    tree = find(bench, "resourceclaims", "c")
    listed = [{"type": c, "status": "True", "reason": "Why", "message": "because"} for c in conditions]
    device = {"driver": DRIVER, "pool": "n1", "device": "dev", **place, "conditions": listed}
    bench.put("resourceclaims", {**tree, "status": {**tree["status"], "devices": [device]}})
    bench.run()


def wait(bench: Bench, seconds: float) -> None:
    bench.clock.advance_to(bench.clock.now() + seconds)
    bench.scheduler.flush()
    bench.run()


def test_a_pod_waits_for_its_device_and_holds_up_nobody() -> None:
    bench = bench_with(pod_tree("p", **CLAIMED), pod_tree("other"))
    assert (bench.node_of("p"), bench.node_of("other")) == ("", "n1")
    assert find(bench, "pods", "p")["status"]["nominatedNodeName"] == "n1"
    assert [r["device"] for r in results(bench)] == ["dev"]
    report(bench, "attached")
    assert bench.node_of("p") == "n1"
    assert bench.scheduler.is_idle


def test_all_conditions_must_be_true() -> None:
    device = {"bindingConditions": ["attached", "flashed"], "bindingFailureConditions": ["broken"]}
    bench = bench_with(device=device)
    report(bench, "attached")
    assert bench.node_of("p") == ""
    report(bench, "attached", "flashed")
    assert bench.node_of("p") == "n1"


def test_a_failed_device_is_given_back_and_the_pod_tried_again() -> None:
    bench = bench_with()
    report(bench, "attached", "broken")
    text = "device binding failed: claim=c, reason=Why, message=because"
    assert bench.message_of("p") == text
    assert results(bench) and not find(bench, "resourceclaims", "c")["status"].get("reservedFor")
    wait(bench, 2)
    assert "deallocation of ResourceClaim completed" in bench.message_of("p")
    wait(bench, 10)  # another try: for all that anybody knows the device may be well again
    assert results(bench) and not find(bench, "resourceclaims", "c")["status"].get("devices")
    report(bench, "attached")
    assert bench.node_of("p") == "n1"


def test_the_wait_ends_in_time() -> None:
    bench = bench_with(bindingTimeout="1m30s")
    wait(bench, 80)
    assert bench.message_of("p") == ""
    wait(bench, 15)
    assert bench.message_of("p") == "device binding timeout"
    wait(bench, 2)
    assert "deallocation of ResourceClaim completed" in bench.message_of("p")


def test_another_scheduler_goes_on_with_what_is_allocated() -> None:
    bench = bench_with()
    before = results(bench)
    bench.state = ClusterState()
    bench.scheduler = build_scheduler(config(), bench.state, FeatureGates.parse(""), bench.clock, Rng(1))
    bench.shell = Shell(bench.scheduler, bench.transport, bench.clock)
    bench.shell.start()
    bench.deliver()
    bench.run()
    assert bench.node_of("p") == "" and results(bench) == before
    report(bench, "attached")
    assert bench.node_of("p") == "n1" and results(bench) == before


def test_a_claim_that_loses_its_devices_meanwhile_ends_the_wait() -> None:
    bench = bench_with()
    bench.put("resourceclaims", {**find(bench, "resourceclaims", "c"), "status": {}})
    bench.run()
    assert bench.message_of("p") == "claim c got deallocated elsewhere in the meantime"


def metrics_of(bench: Bench) -> dict[str, float]:
    """Return the counts of waits by status, and how many were timed."""
    recorder = bench.scheduler.recorder
    assert recorder is not None
    lines = [line.rsplit(" ", 1) for line in recorder.render(bench.scheduler).decode().splitlines()]
    labels = f'{{profile="default-scheduler",driver="{DRIVER}",status="'
    names = ("allocations_total", "wait_duration_seconds_count", "wait_duration_seconds_sum")
    prefixes = {f"scheduler_dra_bindingconditions_{name}{labels}": name for name in names}
    return {
        f"{name} {line[len(prefix) : -2]}": float(value)
        for line, value in lines
        for prefix, name in prefixes.items()
        if line.startswith(prefix)
    }


@pytest.mark.parametrize("outcome", ["success", "failed", "timeout", "error"])
def test_waits_are_counted_by_outcome(outcome: str) -> None:
    bench = bench_with(pod_tree("other"))
    gates = FeatureGates.parse("")
    bench.scheduler = build_scheduler(config(), bench.state, gates, bench.clock, Rng(0), perf=lambda: 0.0)
    bench.shell = Shell(bench.scheduler, bench.transport, bench.clock)
    bench.shell.start()
    bench.deliver()
    bench.put("pods", pod_tree("p", **CLAIMED))
    bench.run()
    assert metrics_of(bench) == {}
    bench.clock.advance_to(bench.clock.now() + 3)
    if outcome == "timeout":
        wait(bench, 600)
    elif outcome == "error":
        bench.put("resourceclaims", {**find(bench, "resourceclaims", "c"), "status": {}})
        bench.run()
    else:
        report(bench, "attached" if outcome == "success" else "broken")
    waited = {f"allocations_total {outcome}": 1, f"wait_duration_seconds_count {outcome}": 1}
    found = metrics_of(bench)
    assert found.pop(f"wait_duration_seconds_sum {outcome}") == (603 if outcome == "timeout" else 3)
    assert found == waited


def test_a_share_is_looked_up_by_its_id() -> None:
    bench = bench_with(device={**ATTACHED, "allowMultipleAllocations": True})
    report(bench, "attached", shareID="another")
    assert bench.node_of("p") == ""
    report(bench, "attached", shareID=results(bench)[0]["shareID"])
    assert bench.node_of("p") == "n1"


def test_a_pod_that_waits_can_be_preempted_at_once() -> None:
    bench = bench_with(pod_tree("p", cpu="3", **CLAIMED))
    bench.put("pods", pod_tree("vip", cpu="3", priority=10))
    bench.run()
    assert bench.transport.find("pods", "default", "p") is not None  # it has not run yet, so it need not be deleted
    wait(bench, 2)
    assert (bench.node_of("p"), bench.node_of("vip")) == ("", "n1")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({"bindingTimeout": "0s"}, "must be at least 1 second"),
        ({"bindingTimeout": "soon"}, "is not a duration"),
        ({"filterTimeout": "-1s"}, "must be zero or greater"),
        ({"filterTimeout": 5}, "must be a text"),
    ],
)
def test_arguments_are_checked(args: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Bench(config(**args))

"""What devices take of a node: counted from Reserve on, taken back with it, and read from the pod's status."""

from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng
from apportion.client import Request, Response
from apportion.client.memory import OnDone
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import CPU, ClusterState


def start(bench: Bench) -> None:
    """Let a scheduler begin that has the gate on."""
    gates = FeatureGates.parse("DRANodeAllocatableResources=true")
    bench.state = ClusterState(Features.from_gates(gates.as_dict()))
    bench.scheduler = build_scheduler(SchedulerConfig(), bench.state, gates, bench.clock, Rng(0))
    bench.shell = Shell(bench.scheduler, bench.transport, bench.clock)
    bench.shell.start()
    bench.deliver()


def make() -> Bench:
    bench = Bench()
    start(bench)
    bench.put("nodes", node_tree("n1"))
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
    device = {"name": "d0", "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "2"}}}}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}
    bench.put("resourceslices", {"metadata": {"name": "n1"}, "spec": spec})
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}]
    meta = {"name": "c", "namespace": "default", "uid": "uid-c"}
    bench.put("resourceclaims", {"metadata": meta, "spec": {"devices": {"requests": requests}}})
    return bench


def claiming(name: str) -> dict[str, Any]:
    return pod_tree(name, resourceClaims=[{"name": "g", "resourceClaimName": "c"}])


def used(bench: Bench) -> int:
    return int(bench.state.nodes.requested[CPU, bench.state.nodes.row_of["n1"]])


def footprint(bench: Bench) -> Any:
    pod = bench.transport.find("pods", "default", "p")
    assert pod is not None
    return pod["status"].get("nodeAllocatableResourceClaimStatuses")


def test_it_counts_beside_the_requests_and_after_a_restart() -> None:
    bench = make()
    bench.put("pods", claiming("p"))
    bench.run()
    assert (bench.node_of("p"), used(bench)) == ("n1", 3000)
    start(bench)
    assert used(bench) == 3000
    bench.put("pods", pod_tree("q", cpu="2"))
    bench.run()
    assert bench.message_of("q") == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_binding_that_fails_takes_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = make()
    submit = bench.transport.submit

    def refusing(request: Request, on_done: OnDone) -> None:
        if request.subresource == "binding":
            on_done(Response(403, message="no"))
        else:
            submit(request, on_done)

    monkeypatch.setattr(bench.transport, "submit", refusing)
    bench.put("pods", claiming("p"))
    bench.run()
    assert (bench.node_of("p"), used(bench), footprint(bench)) == ("", 0, None)


def test_a_claim_for_extended_resources_is_named_as_in_the_api() -> None:
    bench = make()
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {"extendedResourceName": "example.com/gpu"}})
    resources = {"requests": {"cpu": "1", "example.com/gpu": "1"}}
    bench.put("pods", pod_tree("p", containers=[{"name": "c", "image": "i", "resources": resources}]))
    bench.run()
    (made,) = [c for c in bench.transport.trees("resourceclaims") if c["metadata"]["name"] != "c"]
    (taken,) = footprint(bench)
    assert taken == {"resourceClaimName": made["metadata"]["name"], "mapping": [{"name": "cpu", "quantity": "2"}]}
    assert (bench.node_of("p"), used(bench)) == ("n1", 3000)
    start(bench)
    assert used(bench) == 3000


def test_what_devices_take_counts_for_the_scores_of_the_node() -> None:
    bench = make()
    bench.put("pods", claiming("p"))
    bench.run()
    row = bench.state.nodes.row_of["n1"]
    assert int(bench.state.nodes.nonzero[CPU, row]) == 3000


def test_a_pod_that_asks_as_a_whole_counts_no_more() -> None:
    bench = make()
    bench.put("pods", {**claiming("p"), "spec": {**claiming("p")["spec"], "resources": {"requests": {"cpu": "3"}}}})
    bench.run()
    assert (bench.node_of("p"), used(bench)) == ("n1", 3000)
    start(bench)
    assert used(bench) == 3000


def test_an_exclusive_device_gives_all_of_a_capacity() -> None:
    bench = make()
    mapping = {"capacityKey": "cores", "capacityMultiplier": "2"}
    taking = {"cpu": {"mapping": mapping}}
    device = {"name": "d0", "capacity": {"cores": {"value": "1"}}, "nodeAllocatableResources": taking}
    tree = bench.transport.find("resourceslices", "", "n1")
    assert tree is not None
    bench.put("resourceslices", {**tree, "spec": {**tree["spec"], "devices": [device]}})
    bench.put("pods", claiming("p"))
    bench.run()
    assert (bench.node_of("p"), used(bench)) == ("n1", 3000)


def test_nothing_counts_any_more_when_the_slice_is_gone() -> None:
    bench = make()
    assert bench.state.devices.has_node_allocatable
    bench.transport.remove("resourceslices", "", "n1")
    bench.deliver()
    assert not bench.state.devices.has_node_allocatable

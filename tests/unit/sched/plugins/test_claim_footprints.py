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

from typing import Any

import pytest
from builders import Bench, make_node, node_tree, pod_tree

from apportion.client import Request
from apportion.client.transport import OnDone, Response
from apportion.sched.cycle import node_changes, pod_changes
from apportion.sched.framework.config import read_config
from apportion.sched.queue import ActionType


def test_a_pod_goes_all_the_way() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") == "n1"
    assert bench.scheduler.attempts == {"scheduled": 1, "unschedulable": 0, "error": 0}
    assert not bench.state.assumed
    assert bench.scheduler.is_idle
    event = bench.transport.events[-1]
    assert (event["reason"], event["note"]) == ("Scheduled", "Successfully assigned default/p to n1")


def test_a_pod_that_fits_nowhere_is_told_why_and_tried_again_when_a_node_appears() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="1"), node_tree("n2", taints=[{"key": "k", "effect": "NoSchedule"}]))
    bench.put("pods", pod_tree("p", cpu="2"))
    bench.run()
    assert bench.node_of("p") == ""
    expected = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)."
    assert bench.message_of("p") == expected
    assert bench.scheduler.queue.pending("unschedulable") == 1
    bench.put("nodes", node_tree("n3"))
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n3"


def test_a_deleted_pod_frees_its_place() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="2"))
    bench.put("pods", pod_tree("old", cpu="2", node="n1"), pod_tree("new", cpu="2"))
    bench.run()
    assert bench.node_of("new") == ""
    bench.put("pods", {**pod_tree("old", cpu="2", node="n1"), "status": {"phase": "Succeeded"}})
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("new") == "n1"


def test_a_rejected_binding_is_taken_back_and_tried_again_by_error_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    refuse = [True]
    submit = bench.transport.submit

    def flaky(request: Request, on_done: OnDone) -> None:
        if request.subresource == "binding" and refuse:
            refuse.clear()
            on_done(Response(403, message="no luck"))
        else:
            submit(request, on_done)

    monkeypatch.setattr(bench.transport, "submit", flaky)
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") == ""
    assert not bench.state.pods, "the assumption was taken back"
    assert bench.scheduler.queue.pending("backoff") == 1
    assert bench.message_of("p") == "binding rejected: no luck"
    bench.clock.advance_to(bench.clock.now() + 3)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n1"


def test_a_fault_in_a_plugin_costs_only_the_pod_that_met_it(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    plugin = next(p for p in bench.scheduler.profiles["default-scheduler"].filters if p.name == "NodePorts")
    sane = plugin.pre_filter

    def broken(pod: Any) -> Any:
        if pod.name == "bad":
            raise RuntimeError("plugin is broken")
        return sane(pod)

    monkeypatch.setattr(plugin, "pre_filter", broken)
    bench.put("pods", pod_tree("bad", labels={"a": "b"}), pod_tree("good"))
    bench.run()
    assert bench.node_of("good") == "n1"
    assert bench.message_of("bad") == "plugin NodePorts failed: RuntimeError: plugin is broken"
    assert bench.scheduler.attempts["error"] == 1
    assert bench.scheduler.queue.pending("backoff") == 1


def test_a_nominated_node_is_taken_if_it_fits() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("big", cpu="64"), node_tree("small", cpu="2"))
    bench.put("pods", pod_tree("p", status={"nominatedNodeName": "small"}))
    bench.run()
    assert bench.node_of("p") == "small"


def test_ties_are_broken_by_the_seed() -> None:
    def place(seed: int) -> str:
        bench = Bench(seed=seed)
        bench.put("nodes", *(node_tree(f"n{i}") for i in range(8)))
        bench.put("pods", pod_tree("p"))
        bench.run()
        return bench.node_of("p")

    assert [place(s) for s in range(6)] == [place(s) for s in range(6)]
    assert len({place(s) for s in range(20)}) > 3


def test_no_nodes() -> None:
    bench = Bench()
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.message_of("p") == "no nodes available to schedule pods"


def test_gated_pods_wait_for_their_gates() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("p", schedulingGates=[{"name": "quota"}]))
    bench.run()
    assert bench.node_of("p") == "" and bench.scheduler.queue.pending("gated") == 1
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") == "n1"


def test_changes_of_pods_and_nodes_have_upstreams_names() -> None:
    bench = Bench()
    read = bench.state.reader.read_tree
    old = read(pod_tree("p", labels={"a": "1"}, schedulingGates=[{"name": "g"}]))
    new = read(pod_tree("p", cpu="500m", labels={"a": "2"}, tolerations=[{"operator": "Exists"}]))
    assert pod_changes(old, new) == [
        ActionType.UPDATE_POD_LABEL,
        ActionType.UPDATE_POD_SCALE_DOWN,
        ActionType.UPDATE_POD_TOLERATION,
        ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    ]
    before, after = make_node("n"), make_node("n", cpu="8", unschedulable=True, labels={"x": "y"})
    assert node_changes(before, after) == [
        ActionType.UPDATE_NODE_ALLOCATABLE,
        ActionType.UPDATE_NODE_LABEL,
        ActionType.UPDATE_NODE_TAINT,
    ]


def test_sampling_takes_the_next_nodes_in_turn() -> None:
    bench = Bench(read_config({**CONFIG, "percentageOfNodesToScore": 10}, "test"))
    bench.put("nodes", *(node_tree(f"n{i:03d}") for i in range(300)))
    bench.put("pods", *(pod_tree(f"p{i}") for i in range(6)))
    bench.run()
    rows = [bench.state.nodes.row_of[bench.node_of(f"p{i}")] for i in range(6)]
    assert [row // 100 for row in rows] == [0, 1, 2, 0, 1, 2]


CONFIG = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def test_a_pod_on_a_node_that_is_not_known_yet_disturbs_nobody() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"), node_tree("n2"))
    bench.put("pods", pod_tree("first"))
    bench.run()
    bench.put("pods", pod_tree("early", node="unknown"), pod_tree("second"))
    bench.run()
    assert bench.node_of("second") in ("n1", "n2")


def test_a_condition_is_written_again_only_when_it_says_something_new() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="1"))
    bench.put("pods", pod_tree("p", cpu="3"))
    bench.run()

    def version_after(*nodes: dict[str, Any]) -> str:
        bench.put("nodes", *nodes)
        bench.scheduler.queue.activate(list(bench.scheduler.pending.values()))
        attempts = bench.scheduler.attempts["unschedulable"]
        bench.run()
        assert bench.scheduler.attempts["unschedulable"] > attempts
        found = bench.transport.find("pods", "default", "p")
        assert found is not None
        return str(found["metadata"]["resourceVersion"])

    first = version_after()
    assert version_after() == first
    second = version_after(node_tree("n2", cpu="1"))
    assert second != first
    assert bench.message_of("p") == "0/2 nodes are available: 2 Insufficient cpu."
    assert version_after() == second

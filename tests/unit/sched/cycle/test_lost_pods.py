"""Pods that change or go away while they are on their way."""

from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

from apportion.client import Request
from apportion.client.transport import OnDone, Response


class Held:
    """Holds the answer to the first binding back."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self._submit = bench.transport.submit
        self._answer: OnDone | None = None
        self._is_used = False
        monkeypatch.setattr(bench.transport, "submit", self.submit)

    def submit(self, request: Request, on_done: OnDone) -> None:
        if request.subresource == "binding" and not self._is_used:
            self._answer, self._is_used = on_done, True
        else:
            self._submit(request, on_done)

    def refuse(self) -> None:
        assert self._answer is not None
        self._answer(Response(409, message="refused"))


def _start_binding(monkeypatch: pytest.MonkeyPatch) -> tuple[Bench, Held]:
    bench = Bench()
    held = Held(bench, monkeypatch)
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert len(bench.state.assumed) == 1
    return bench, held


def _wait(bench: Bench, seconds: float = 20) -> None:
    bench.clock.advance_to(bench.clock.now() + seconds)
    bench.scheduler.queue.flush()
    bench.run()


def test_a_pod_deleted_during_its_binding_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, held = _start_binding(monkeypatch)
    bench.transport.remove("pods", "default", "p")
    bench.deliver()
    held.refuse()
    _wait(bench)
    assert len(bench.scheduler.queue) == 0 and bench.scheduler.queue.in_flight_count == 0
    assert bench.scheduler.attempts == {"scheduled": 0, "unschedulable": 0, "error": 1}
    assert not bench.state.pods


def test_a_pod_changed_during_its_binding_is_tried_again_as_it_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, held = _start_binding(monkeypatch)
    bench.put("pods", pod_tree("p", cpu="9"))
    held.refuse()
    _wait(bench)
    assert bench.node_of("p") == ""
    assert bench.message_of("p") == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_pod_that_got_its_node_from_somebody_else_is_left_there(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, held = _start_binding(monkeypatch)
    bench.put("pods", pod_tree("p", node="elsewhere"))
    held.refuse()
    _wait(bench)
    assert bench.node_of("p") == "elsewhere"
    assert len(bench.scheduler.queue) == 0


@pytest.mark.parametrize(
    ("status", "waits"),
    [({}, False), ({"nominatedNodeName": "n1"}, True)],
)
@pytest.mark.parametrize("priority", [5, 20])
def test_the_end_of_a_nomination_wakes_pods_that_had_to_respect_it(
    status: dict[str, Any], waits: bool, priority: int
) -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="4"))
    gate = [{"name": "quota"}]  # so that it keeps its nomination and does not use it
    nominated = {"nominatedNodeName": "n1"}
    bench.put("pods", pod_tree("big", cpu="4", priority=10, schedulingGates=gate, status=nominated))
    bench.put("pods", pod_tree("p", cpu="5" if priority > 10 else "1", priority=priority))
    bench.run()
    assert bench.scheduler.queue.pending("unschedulable") == 1
    # its nomination goes or stays; one of higher priority did not wait for it
    bench.put("pods", pod_tree("big", cpu="4", priority=10, schedulingGates=gate, status=status))
    is_parked = bench.scheduler.queue.pending("unschedulable") == 1
    assert is_parked is (waits or priority > 10)
    _wait(bench)
    assert bench.node_of("p") == ("" if is_parked else "n1")


def test_deleting_a_pod_with_a_nomination_wakes_the_others() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="4"))
    gate = [{"name": "quota"}]
    nominated = {"nominatedNodeName": "n1"}
    bench.put("pods", pod_tree("big", cpu="4", priority=10, schedulingGates=gate, status=nominated))
    bench.put("pods", pod_tree("p", cpu="1", priority=5))
    bench.run()
    assert bench.node_of("p") == ""
    bench.transport.remove("pods", "default", "big")
    bench.deliver()
    _wait(bench)
    assert bench.node_of("p") == "n1"

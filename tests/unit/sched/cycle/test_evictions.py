"""A preemptor waits until the API has answered all of its evictions."""

from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

from apportion.client import Request
from apportion.client.transport import OnDone, Response


class SlowDeletions:
    """Holds deletions back until a test lets them go."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self._submit = bench.transport.submit
        self.held: list[tuple[Request, OnDone]] = []
        monkeypatch.setattr(bench.transport, "submit", self.submit)

    def submit(self, request: Request, on_done: OnDone) -> None:
        if request.verb == "delete":
            self.held.append((request, on_done))
        else:
            self._submit(request, on_done)

    def carry_out(self) -> OnDone:
        """Delete, but keep the answer."""
        request, on_done = self.held.pop(0)
        self._submit(request, lambda response: None)
        return on_done


def preempt(monkeypatch: pytest.MonkeyPatch) -> tuple[Bench, SlowDeletions]:
    bench = Bench()
    slow = SlowDeletions(bench, monkeypatch)
    bench.put("nodes", node_tree("n1", cpu="4"))
    bench.put("pods", *(pod_tree(f"low{i}", cpu="2", node="n1", status={"phase": "Running"}) for i in range(2)))
    bench.put("pods", pod_tree("high", cpu="4", priority=10))
    bench.run()
    assert len(slow.held) == 2
    return bench, slow


def where(bench: Bench) -> Any:
    return [(e["pod"], e["where"], e["attempts"]) for e in bench.scheduler.queue.dump()]


def wait(bench: Bench, seconds: float = 15) -> None:
    bench.clock.advance_to(bench.clock.now() + seconds)
    bench.scheduler.flush()
    bench.run()


def test_it_is_not_tried_while_some_victims_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, slow = preempt(monkeypatch)
    first = slow.carry_out()
    wait(bench)
    assert where(bench) == [("default/high", "gated", 1)]
    second = slow.carry_out()  # gone, but nobody has said so yet
    wait(bench)
    assert where(bench) == [("default/high", "gated", 1)]
    first(Response(200))
    second(Response(200))
    wait(bench)
    assert bench.node_of("high") == "n1"


def test_it_is_tried_again_when_an_eviction_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, slow = preempt(monkeypatch)
    for _, on_done in slow.held:
        on_done(Response(403, message="no"))
    slow.held.clear()
    bench.run()
    assert len(slow.held) == 2 and where(bench)[0][2] == 2


def test_a_victim_that_is_gone_already_counts_as_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, slow = preempt(monkeypatch)
    for name in ("low0", "low1"):
        bench.transport.remove("pods", "default", name)
    bench.deliver()
    for _, on_done in slow.held:
        on_done(Response(404, message="gone"))
    wait(bench)
    assert bench.node_of("high") == "n1"

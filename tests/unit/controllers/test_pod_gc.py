"""Pods that nobody will end any more go."""

from typing import Any

import pytest

from apportion.base import VirtualClock
from apportion.client import MemoryTransport
from apportion.controllers import PodGarbageCollector, pod_gc

Tree = dict[str, Any]


class Rig:
    def __init__(self) -> None:
        self.api = MemoryTransport()
        self.clock = VirtualClock()
        self.controller = PodGarbageCollector(self.api, self.clock)
        self.controller.start()

    def node(self, name: str) -> None:
        self.api.put("nodes", {"metadata": {"name": name}})

    def pod(self, name: str, node: str = "", phase: str = "Running", **meta: Any) -> None:
        metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", **meta}
        self.api.put("pods", {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}})

    def wait(self, seconds: float = 0) -> list[str]:
        """Let time pass; returns the pods that are left."""
        self.settle()
        self.clock.advance_to(self.clock.now() + seconds)
        self.settle()
        return [t["metadata"]["name"] for t in self.api.trees("pods")]

    def settle(self) -> None:
        while self.api.deliver() or self.controller.work():
            pass


def test_pods_of_a_node_that_is_gone_fail_and_go_after_a_while() -> None:
    rig = Rig()
    rig.node("n0")
    rig.node("n1")
    for name, node in (("a", "n0"), ("b", "n1")):
        rig.pod(name, node)
    assert rig.wait(100) == ["a", "b"]
    seen: list[bytes] = []
    rig.api.watch("pods", seen.append)
    rig.api.remove("nodes", "", "n0")
    assert rig.wait(39) == ["a", "b"]
    assert rig.wait(2) == ["b"]
    assert any(b'"DeletionByPodGC"' in frame and b'"phase":"Failed"' in frame for frame in seen)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    rig = Rig()
    rig.node("n0")
    rig.pod("a", "n0")
    rig.wait()
    rig.api.remove("nodes", "", "n0")
    rig.wait(20)
    rig.node("n0")
    assert rig.wait(100) == ["a"]
    rig.api.remove("nodes", "", "n0")
    assert rig.wait(39) == ["a"]  # the wait starts anew


def test_a_pod_that_names_an_unknown_node_goes() -> None:
    rig = Rig()
    rig.pod("a", "nowhere", "Succeeded")
    assert rig.wait(41) == []


def test_a_pod_that_was_deleted_before_it_got_a_node_goes_at_once() -> None:
    rig = Rig()
    rig.pod("a", deletionTimestamp="2026-01-01T00:00:00Z")
    rig.pod("b")
    assert rig.wait() == ["b"]


def test_of_too_many_that_ended_the_oldest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_gc, "ENDED_MAX", 2)
    rig = Rig()
    rig.node("n0")
    for i in range(5):
        rig.pod(f"p{i}", "n0", "Succeeded")
    assert rig.wait() == ["p3", "p4"]

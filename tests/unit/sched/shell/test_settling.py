"""Writes whose answer is lost: whatever had happened, a pod is bound once, with its devices, and nothing is freed."""

from collections.abc import Callable
from typing import Any

import pytest
from builders import node_tree, pod_tree

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport, OnDone, Request, Response
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState

Tree = dict[str, Any]
LOST = Response(503, message="no answer")


class Lossy(MemoryTransport):
    """Loses answers, before or after the request took effect, or lets it take effect later."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.matches: Callable[[Request], bool] = lambda request: False
        self.late: list[Request] = []
        self.seen: list[str] = []

    def submit(self, request: Request, on_done: OnDone) -> None:
        self.seen.append(f"{request.verb} {request.resource}/{request.subresource}".rstrip("/"))
        if not self.faults or not self.matches(request):
            super().submit(request, on_done)
            return
        fault = self.faults.pop(0)
        if fault == "after":
            self._execute(request)
        elif fault == "late":
            self.late.append(request)
        self._answers.append((on_done, LOST))


class Rig:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.api = Lossy()
        self.state = ClusterState()
        self.scheduler = build_scheduler(SchedulerConfig(), self.state, FeatureGates.parse(""), self.clock, Rng(0))
        self.shell = Shell(self.scheduler, self.api, self.clock)
        self.shell.start()
        pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "d.example.com", "nodeName": "n", "pool": pool, "devices": [{"name": "gpu-0"}]}
        self.api.put("nodes", node_tree("n"))
        self.api.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
        self.api.put("resourceslices", {"metadata": {"name": "s"}, "spec": spec})
        for name in ("one", "two"):
            self.add(name)

    def add(self, name: str) -> None:
        request = {"name": "r", "exactly": {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}}
        meta = {"name": name, "namespace": "default", "uid": f"c-{name}"}
        self.api.put("resourceclaims", {"metadata": meta, "spec": {"devices": {"requests": [request]}}})
        claims = [{"name": "gpu", "resourceClaimName": name}]
        self.api.put("pods", pod_tree(name, resourceClaims=claims))

    def run(self, seconds: float = 0.0) -> None:
        end_s = self.clock.now() + seconds
        while True:
            moved = True
            while moved:
                moved = self.scheduler.schedule_one()
                moved = bool(self.shell.send()) or moved
                while self.api.deliver():
                    moved = True
            wake_s = self.shell.next_wakeup_s()
            if wake_s is None or wake_s > end_s:
                break
            self.clock.advance_to(wake_s)
        self.clock.advance_to(end_s)

    def outcome(self) -> tuple[list[str], list[tuple[str, list[str], list[str]]]]:
        """Return the pods that are bound, and of each claim its devices and whom it is reserved for."""
        bound = [p["metadata"]["name"] for p in self.api.trees("pods") if p["spec"].get("nodeName")]
        claims = []
        for tree in self.api.trees("resourceclaims"):
            status = tree.get("status") or {}
            results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or []
            users = [r["name"] for r in status.get("reservedFor") or []]
            claims.append((tree["metadata"]["name"], [r["device"] for r in results], users))
        return bound, claims


WRITES = {
    "bind": lambda r: r.subresource == "binding",
    "allocate": lambda r: r.resource == "resourceclaims" and r.subresource == "status",
    "finalizer": lambda r: r.resource == "resourceclaims" and r.verb == "patch" and not r.subresource,
}
WANTED = (["one"], [("one", ["gpu-0"], ["one"]), ("two", [], [])])


@pytest.mark.parametrize("faults", [["before"], ["after"], ["before", "before"], ["before", "after"]])
@pytest.mark.parametrize("write", WRITES)
def test_a_lost_answer_changes_nothing_in_the_end(write: str, faults: list[str]) -> None:
    rig = Rig()
    rig.api.matches, rig.api.faults = WRITES[write], list(faults)
    rig.run(60)
    assert rig.api.faults == [] and rig.outcome() == WANTED
    assert rig.scheduler.attempts["error"] == 0 and rig.scheduler.is_idle


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_takes_effect_after_it_was_sent_again_changes_nothing(write: str) -> None:
    rig = Rig()
    rig.api.matches, rig.api.faults = WRITES[write], ["late"]
    rig.run(60)
    for request in rig.api.late:
        assert rig.api._execute(request).code == 409
    rig.run(60)
    assert rig.outcome() == WANTED


@pytest.mark.parametrize("faults", [["before"], ["after"], ["late"], ["before", "after"]])
def test_a_claim_for_extended_resources_is_made_once(faults: list[str]) -> None:
    rig = Rig()
    rig.api.matches = lambda r: (r.verb, r.resource) == ("create", "resourceclaims")
    rig.api.faults = list(faults)
    for name in ("one", "two"):
        rig.api.remove("pods", "default", name)
        rig.api.remove("resourceclaims", "default", name)
    rig.api.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {"extendedResourceName": "example.com/gpu"}})
    resources = {"requests": {"example.com/gpu": "1"}}
    rig.api.put("pods", pod_tree("p", containers=[{"name": "c", "image": "i", "resources": resources}]))
    rig.run(60)
    assert all(rig.api._execute(r).code == 409 for r in rig.api.late)
    rig.run(60)
    bound, claims = rig.outcome()
    assert (bound, [c[1:] for c in claims]) == (["p"], [(["gpu-0"], ["p"])])


def test_nothing_is_freed_while_the_api_is_away() -> None:
    rig = Rig()
    rig.api.matches, rig.api.faults = WRITES["bind"], ["after"]
    rig.run()
    rig.api.matches, rig.api.faults = lambda request: True, ["before"] * 40
    rig.run(600)
    assert rig.api.faults and rig.outcome() == WANTED and not rig.scheduler.is_idle
    rig.api.faults.clear()
    rig.run(600)
    assert rig.outcome() == WANTED and rig.scheduler.attempts["scheduled"] == 1


def test_a_refusal_after_a_lost_answer_is_a_failure() -> None:
    rig = Rig()
    rig.api.matches, rig.api.faults = WRITES["bind"], ["before"]
    rig.run()
    pod = rig.api.find("pods", "default", "one")
    assert pod is not None
    rig.api.put("pods", {**pod, "spec": {**pod["spec"], "nodeName": "elsewhere"}})
    rig.run(60)
    assert rig.outcome()[0] == ["one"] and rig.scheduler.attempts["error"] == 1


def test_a_pod_that_went_meanwhile_is_let_go() -> None:
    rig = Rig()
    rig.api.matches, rig.api.faults = WRITES["bind"], ["before"]
    rig.run()
    rig.api.remove("pods", "default", "one")
    rig.run(60)
    assert rig.outcome()[1][0][2] == [] and rig.scheduler.is_idle


def test_a_server_that_never_carries_it_out_is_given_up_at_last() -> None:
    rig = Rig()
    rig.api.matches, rig.api.faults = WRITES["bind"], ["before"] * 10
    rig.run(600)
    assert rig.scheduler.attempts["error"] == 1

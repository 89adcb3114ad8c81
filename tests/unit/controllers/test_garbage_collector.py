"""The garbage collector beside a real API server."""

from collections import deque
from collections.abc import Callable
from typing import Any

import orjson

from apportion.base import Rng, VirtualClock
from apportion.client import MERGE_PATCH
from apportion.controllers import GarbageCollector
from apportion.server import ApiRequest, ApiResponse, InProcessTransport, Server
from apportion.store import MemoryStore

Tree = dict[str, Any]
MAPS, SETS = "/api/v1/namespaces/default/configmaps", "/apis/apps/v1/namespaces/default/replicasets"


class Rig:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = Server(MemoryStore(), self.clock, Rng(1))
        self._ready: deque[Callable[[], None]] = deque()
        self.collector = self.start()

    def start(self) -> GarbageCollector:
        collector = GarbageCollector(InProcessTransport(self.server, self._ready.append), self.clock)
        collector.start()
        return collector

    def run(self) -> None:
        """Run until nothing is due, also after the delays of what failed."""
        for _ in range(20):
            while self._ready or self.collector.work():
                if self._ready:
                    self._ready.popleft()()
            self.clock.advance_to(self.clock.now() + 1)

    def call(self, method: str, path: str, tree: Tree | None = None) -> Tree:
        body = b"" if tree is None else orjson.dumps(tree)
        response = self.server.handle(ApiRequest(method, path, body=body, content_type="application/json"))
        assert response.code < 300, response.body
        parsed: Tree = orjson.loads(response.body)
        return parsed

    def owner(self, name: str) -> Tree:
        """Make a ReplicaSet; returns a reference to it."""
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}
        tree = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name}, "spec": spec}
        made = self.call("POST", SETS, tree)
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": made["metadata"]["uid"]}

    def owned(self, name: str, *owners: Tree) -> Tree:
        meta = {"name": name, "ownerReferences": list(owners)}
        return self.call("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})

    def names(self, path: str = MAPS) -> list[str]:
        return [o["metadata"]["name"] for o in self.call("GET", path)["items"]]


_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def test_what_is_owned_goes_with_its_owner() -> None:
    rig = Rig()
    first = rig.owner("first")
    rig.owned("mine", first)
    rig.owned("free")
    rig.run()
    assert rig.names() == ["free", "mine"]
    rig.call("DELETE", f"{SETS}/first", {"propagationPolicy": "Background"})
    rig.run()
    assert rig.names() == ["free"]


def test_one_of_two_owners_is_enough_and_the_other_reference_goes() -> None:
    rig = Rig()
    first, second = rig.owner("first"), rig.owner("second")
    rig.owned("mine", first, second)
    rig.call("DELETE", f"{SETS}/first", {"propagationPolicy": "Background"})
    rig.run()
    references = rig.call("GET", f"{MAPS}/mine")["metadata"]["ownerReferences"]
    assert [r["name"] for r in references] == ["second"]


def test_an_owner_that_never_was_counts_as_gone() -> None:
    rig = Rig()
    real = rig.owner("real")
    rig.owned("lost", {**real, "uid": "another"})
    rig.run()
    assert rig.names() == []


def test_an_owner_of_an_unknown_kind_counts_as_there() -> None:
    rig = Rig()
    rig.owned("kept", {"apiVersion": "example.com/v1", "kind": "Thing", "name": "t", "uid": "u"})
    rig.run()
    assert rig.names() == ["kept"]


def test_what_happened_while_nobody_watched_is_made_up_for() -> None:
    rig = Rig()
    first = rig.owner("first")
    rig.owned("mine", first)
    rig.call("DELETE", f"{SETS}/first", {"propagationPolicy": "Background"})
    rig.collector = rig.start()  # a restart: it never saw the owner
    rig.run()
    assert rig.names() == []


def test_an_orphan_loses_the_reference_and_stays() -> None:
    rig = Rig()
    first = rig.owner("first")
    rig.owned("mine", first)
    rig.run()
    rig.call("DELETE", f"{SETS}/first", {"propagationPolicy": "Orphan"})
    rig.run()
    assert rig.names(SETS) == [] and rig.names() == ["mine"]
    assert "ownerReferences" not in rig.call("GET", f"{MAPS}/mine")["metadata"]


def test_a_foreground_deletion_waits_for_what_blocks_it() -> None:
    rig = Rig()
    first = rig.owner("first")
    rig.owned("mine", {**first, "blockOwnerDeletion": True})
    held = rig.call("GET", f"{MAPS}/mine")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    rig.call("PUT", f"{MAPS}/mine", held)
    rig.run()
    rig.call("DELETE", f"{SETS}/first", {"propagationPolicy": "Foreground"})
    rig.run()
    assert rig.names(SETS) == ["first"], "it waits for the dependent, which somebody holds"
    held = rig.call("GET", f"{MAPS}/mine")
    assert held["metadata"]["deletionTimestamp"]
    held["metadata"]["finalizers"] = []
    rig.call("PUT", f"{MAPS}/mine", held)
    rig.run()
    assert rig.names(SETS) == [] and rig.names() == []


def count_calls(rig: Rig) -> list[tuple[str, str, int]]:
    """Return a list that fills with the method, the path and the code of what the collector asks for."""
    calls: list[tuple[str, str, int]] = []
    handle = rig.server.handle

    def noted(request: ApiRequest) -> ApiResponse:
        response = handle(request)
        calls.append((request.method, request.path, response.code))
        return response

    rig.server.handle = noted  # type: ignore[method-assign]
    return calls


def test_an_owner_that_the_watch_has_shown_to_go_is_not_asked_for() -> None:
    rig = Rig()
    rig.owned("mine", rig.owner("first"))
    rig.run()
    rig.call("DELETE", f"{SETS}/first", {"propagationPolicy": "Background"})
    calls = count_calls(rig)
    rig.run()
    assert calls == [("DELETE", f"{MAPS}/mine", 200)]


def test_after_a_conflict_one_look_follows_when_the_others_have_done() -> None:
    rig = Rig()
    rig.owned("mine", rig.owner("first"))
    rig.run()
    rig.call("DELETE", f"{SETS}/first", {"propagationPolicy": "Background"})
    calls = count_calls(rig)
    while not calls:  # the collector acts on what it knows
        if rig._ready:
            rig._ready.popleft()()
        elif rig.collector.work() and rig._ready:
            changed = rig.server.handle(ApiRequest("PATCH", f"{MAPS}/mine", "", b'{"data":{"k":"1"}}', MERGE_PATCH))
            assert changed.code == 200
    rig.run()
    assert [c for c in calls if c[0] == "DELETE"] == [("DELETE", f"{MAPS}/mine", 409), ("DELETE", f"{MAPS}/mine", 200)]
    assert rig.names() == []

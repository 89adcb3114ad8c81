"""Nobody acts before everything that exists is known; deletions may come bare."""

from typing import Any

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport, OnDone, OnSynced, Request, Transport, Watches, WatchHandle, WatchSink
from apportion.controllers import GarbageCollector, NodeReadinessController, ResourceClaimController
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import WATCHED, Shell
from apportion.sched.state import ClusterState


class Handle:
    def __init__(self) -> None:
        self.has_synced = False
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


class Late(Transport):
    """Delivers when it is told to."""

    def __init__(self) -> None:
        self.sinks: dict[str, WatchSink] = {}
        self.handles: dict[str, Handle] = {}
        self.requests: list[Request] = []

    def submit(self, request: Request, on_done: OnDone) -> None:
        self.requests.append(request)

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        self.sinks[resource], self.handles[resource] = sink, Handle()
        return self.handles[resource]

    def close(self) -> None: ...

    def tell(self, resource: str, change: str, tree: dict[str, Any]) -> None:
        self.sinks[resource](orjson.dumps({"type": change, "object": tree}))

    def sync(self, *resources: str) -> None:
        for resource in resources or self.handles:
            self.handles[resource].has_synced = True


def test_all_watches_must_have_synced() -> None:
    api = Late()
    watches = Watches(api)
    assert watches.has_synced
    for resource in ("pods", "nodes"):
        watches.watch(resource, lambda frame: None)
    api.sync("pods")
    assert not watches.has_synced
    api.sync("nodes")
    assert watches.has_synced
    watches.close()
    assert all(h.is_closed for h in api.handles.values())


def meta(name: str, uid: str, version: int = 1, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "d", "uid": uid, "resourceVersion": str(version), **more}}


def test_a_controller_does_not_work_before_all_it_watches_is_there() -> None:
    api = Late()
    controller = ResourceClaimController(api, VirtualClock(), Rng(0))
    controller.start()
    entry = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    api.tell("pods", "ADDED", {**meta("p", "u"), "spec": {"resourceClaims": entry}})
    api.sync("pods", "resourceclaims")
    assert not controller.has_synced and not controller.work()
    api.tell("resourceclaimtemplates", "ADDED", {**meta("t", "t"), "spec": {"spec": {}}})
    api.sync()
    assert controller.has_synced and controller.work()
    assert [(r.verb, r.resource) for r in api.requests] == [("create", "resourceclaims")]


def shell(api: Transport) -> Shell:
    state, clock = ClusterState(), VirtualClock()
    made = Shell(build_scheduler(SchedulerConfig(), state, FeatureGates.parse(""), clock, Rng(0)), api, clock)
    made.start()
    return made


def test_the_scheduler_says_when_it_knows_all() -> None:
    api = Late()
    made = shell(api)
    assert not made.has_synced
    api.sync(*WATCHED[:-1])
    assert not made.has_synced
    api.sync()
    assert made.has_synced


def test_the_scheduler_understands_bare_deletions() -> None:
    api = Late()
    made = shell(api)
    state = made._scheduler.state
    api.tell("nodes", "ADDED", {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}})
    api.tell("pods", "ADDED", {**meta("p", "u"), "spec": {"nodeName": "n", "containers": []}})
    api.tell("resourceclaims", "ADDED", {**meta("c", "c"), "spec": {}})
    api.tell("services", "ADDED", {**meta("s", "s"), "spec": {}})
    assert "u" in state.pods and state.claims.find("d/c") and "n" in state.nodes.row_of
    for resource, name, uid in (("pods", "p", "u"), ("resourceclaims", "c", "c"), ("services", "s", "s")):
        api.tell(resource, "DELETED", meta(name, uid))
    api.tell("nodes", "DELETED", {"metadata": {"name": "n", "uid": "n", "resourceVersion": "1"}})
    assert "u" not in state.pods and state.claims.find("d/c") is None and "n" not in state.nodes.row_of


def test_the_claim_controller_understands_bare_deletions() -> None:
    api = Late()
    controller = ResourceClaimController(api, VirtualClock(), Rng(0))
    controller.start()
    entry = [{"name": "gpu", "resourceClaimName": "c"}]
    api.tell("pods", "ADDED", {**meta("p", "u"), "spec": {"resourceClaims": entry}})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    api.tell("resourceclaims", "ADDED", meta("made", "m", ownerReferences=[owner]))
    api.sync()
    while controller.work():
        pass
    api.tell("resourceclaims", "DELETED", meta("made", "m"))
    assert controller.queue.take() == ("pod", "d/p")  # its claim is gone: it needs another look
    api.tell("pods", "DELETED", meta("p", "u"))
    assert not controller.index.pods
    assert controller.queue.take() == ("claim", "d/c")


def test_the_garbage_collector_understands_bare_deletions() -> None:
    api = Late()
    collector = GarbageCollector(api, VirtualClock(), ("configmaps", "replicasets"))
    collector.start()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "o", "uid": "o", "blockOwnerDeletion": True}
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
    api.tell("replicasets", "ADDED", meta("o", "o", **going))
    api.tell("configmaps", "ADDED", meta("m", "m", ownerReferences=[owner]))
    while (key := collector.queue.take()) is not None:
        collector.queue.finish(key, failed=False)
    api.tell("configmaps", "DELETED", meta("m", "m"))
    key = collector.queue.take()
    assert key is not None and (key.resource, key.name) == ("replicasets", "o")


def test_a_node_that_is_gone_is_forgotten() -> None:
    api = Late()
    controller = NodeReadinessController(api, VirtualClock())
    controller.start()
    tree = {"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}, "status": {}}
    api.tell("nodes", "ADDED", tree)
    api.tell("nodes", "DELETED", {"metadata": tree["metadata"]})
    api.sync()
    while controller.work():
        pass
    assert api.requests == []


def test_in_memory_a_change_that_the_list_has_already_is_not_told_again() -> None:
    api = MemoryTransport()
    api.put("pods", meta("a", "u"))
    frames: list[bytes] = []
    api.watch("pods", frames.append)
    while api.deliver():
        pass
    assert len(frames) == 1

from typing import Any

from apportion.base import VirtualClock
from apportion.client import MemoryTransport
from apportion.controllers import PodGroupProtectionController
from apportion.controllers.pod_group_protection import FINALIZER

Tree = dict[str, Any]
GROUPS = "podgroups.scheduling.k8s.io"


def group(**more: Any) -> Tree:
    metadata = {"name": "g", "namespace": "ns", "finalizers": [FINALIZER], **more}
    return {"metadata": metadata, "spec": {"schedulingPolicy": {"basic": {}}}}


def pod(name: str, phase: str, member_of: str | None = "g") -> Tree:
    spec = {} if member_of is None else {"schedulingGroup": {"podGroupName": member_of}}
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": spec, "status": {"phase": phase}}


class Cluster:
    def __init__(self, *pods: Tree) -> None:
        self.api = MemoryTransport()
        self.controller = PodGroupProtectionController(self.api, VirtualClock())
        for tree in pods:
            self.api.put("pods", tree)
        self.controller.start()

    def put(self, resource: str, tree: Tree) -> None:
        self.api.put(resource, tree)
        while self.api.deliver() or self.controller.work():
            pass

    def is_held(self) -> bool:
        tree = self.api.find(GROUPS, "ns", "g")
        return tree is not None and FINALIZER in (tree["metadata"].get("finalizers") or ())


def test_a_group_that_nobody_deletes_is_left_alone() -> None:
    cluster = Cluster()
    cluster.put(GROUPS, group())
    assert cluster.is_held()


def test_a_group_without_living_members_goes() -> None:
    cluster = Cluster(pod("done", "Succeeded"), pod("stranger", "Running", "other"), pod("loner", "Running", None))
    cluster.put(GROUPS, group(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not cluster.is_held()


def test_a_group_waits_for_its_last_member() -> None:
    cluster = Cluster(pod("a", "Running"), pod("b", "Pending"))
    cluster.put(GROUPS, group(deletionTimestamp="2026-01-01T00:00:00Z"))
    assert cluster.is_held()
    cluster.put("pods", pod("a", "Succeeded"))
    assert cluster.is_held()
    cluster.put("pods", pod("b", "Failed"))
    assert not cluster.is_held()


def test_other_finalizers_stay() -> None:
    cluster = Cluster()
    cluster.put(GROUPS, group(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["mine.example.com/x", FINALIZER]))
    tree = cluster.api.find(GROUPS, "ns", "g")
    assert tree is not None and tree["metadata"]["finalizers"] == ["mine.example.com/x"]

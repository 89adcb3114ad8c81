"""Manifests and dumps into an API server."""

from typing import Any

import orjson
import yaml

from apportion.base import Rng, VirtualClock
from apportion.server import ApiRequest, Server
from apportion.sim.manifests import load_bytes
from apportion.sim.preload import Preloaded, preload
from apportion.store import MemoryStore

Tree = dict[str, Any]
POD_SPEC: Tree = {"containers": [{"name": "c", "image": "i"}]}


def head(kind: str, name: str, version: str = "v1", **meta: Any) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **meta}}


class Rig:
    def __init__(self) -> None:
        self.server = Server(MemoryStore(), VirtualClock(), Rng(1))

    def load(self, *trees: Tree) -> Preloaded:
        loaded = load_bytes(yaml.safe_dump_all(trees).encode())
        assert not loaded.rejected
        return preload(self.server, loaded)

    def get(self, path: str) -> Tree:
        response = self.server.handle(ApiRequest("GET", path))
        assert response.code == 200, response.body
        parsed: Tree = orjson.loads(response.body)
        return parsed


def test_manifests_are_created_like_by_a_client_in_whatever_order_they_come() -> None:
    rig = Rig()
    pod = {**head("Pod", "p", namespace="team"), "spec": {**POD_SPEC, "priorityClassName": "high"}}
    high = {**head("PriorityClass", "high", "scheduling.k8s.io/v1"), "value": 7}
    result = rig.load(pod, high)
    assert (result.made, result.existed, result.problems) == (2, 0, [])
    found = rig.get("/api/v1/namespaces/team/pods/p")
    assert found["spec"]["priority"] == 7 and found["status"]["phase"] == "Pending"


def test_objects_of_a_dump_keep_who_they_are() -> None:
    rig = Rig()
    replica_set = {
        **head("ReplicaSet", "rs", "apps/v1", namespace="team", uid="uid-rs", creationTimestamp="2025-01-01T00:00:00Z"),
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC},
        },
        "status": {"replicas": 1},
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "uid-rs", "controller": True}
    pod = {
        **head("Pod", "rs-x", namespace="team", uid="uid-p", labels={"a": "b"}, ownerReferences=[owner]),
        "spec": {**POD_SPEC, "nodeName": "n0"},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert rig.load(pod, replica_set).problems == []
    found = rig.get("/api/v1/namespaces/team/pods/rs-x")
    assert (found["metadata"]["uid"], found["spec"]["nodeName"], found["status"]["phase"]) == ("uid-p", "n0", "Running")
    assert found["metadata"]["ownerReferences"] == [owner]
    made = rig.get("/apis/apps/v1/namespaces/team/replicasets/rs")
    assert (made["metadata"]["creationTimestamp"], made["status"]["replicas"]) == ("2025-01-01T00:00:00Z", 1)


def test_an_owner_that_is_not_in_the_input_is_left_out_so_that_nothing_is_collected() -> None:
    rig = Rig()
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "uid-rs", "controller": True}
    pod = {**head("Pod", "p", namespace="default", uid="u", ownerReferences=[owner]), "spec": POD_SPEC}
    result = rig.load(pod)
    assert result.problems == ["Pod default/p: its owner ReplicaSet rs is not in the input; left out"]
    assert not rig.get("/api/v1/namespaces/default/pods/p")["metadata"].get("ownerReferences")


def test_the_status_of_a_manifest_is_kept() -> None:
    rig = Rig()
    claim = {
        **head("ResourceClaim", "c", "resource.k8s.io/v1", namespace="default"),
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
        "status": {
            "allocation": {"devices": {"results": [{"request": "r", "driver": "d.e", "pool": "p", "device": "x"}]}}
        },
    }
    assert rig.load(claim).problems == []
    found = rig.get("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c")
    assert found["status"]["allocation"]["devices"]["results"][0]["device"] == "x"


def test_what_exists_stays_as_it_is_and_what_is_wrong_is_named() -> None:
    rig = Rig()
    rig.load({**head("ConfigMap", "c", namespace="default"), "data": {"a": "1"}})
    again = {**head("ConfigMap", "c", namespace="default"), "data": {"a": "2"}}
    orphan = {**head("Pod", "p", namespace="default"), "spec": {**POD_SPEC, "priorityClassName": "none"}}
    result = rig.load(again, orphan)
    assert (result.made, result.existed) == (0, 1)
    assert len(result.problems) == 1 and "no PriorityClass with name none" in result.problems[0]
    assert rig.get("/api/v1/namespaces/default/configmaps/c")["data"] == {"a": "1"}

"""Server, controllers and scheduler together: what a client writes to the API comes back scheduled."""

from functools import partial
from typing import Any

import orjson

from apportion.base import Rng, VirtualClock
from apportion.client import STRATEGIC_MERGE_PATCH
from apportion.server import ApiRequest, InProcessTransport, Server
from apportion.sim.control_plane import ControlPlane
from apportion.sim.virtual_loop import VirtualLoop
from apportion.store import MemoryStore

Tree = dict[str, Any]
AT_ONCE: Tree = {"gracePeriodSeconds": 0}
PODS = "/api/v1/namespaces/default/pods"


class Cluster:
    def __init__(self, has_kubelets: bool = False) -> None:
        clock = VirtualClock()
        self.clock = clock
        self.loop = VirtualLoop(clock)
        self.server = Server(MemoryStore(), clock, Rng(1))
        connect = partial(InProcessTransport, self.server, self.loop.call_soon)
        self.plane = ControlPlane(connect, self.loop, clock, Rng(0), has_kubelets=has_kubelets)
        self.plane.start()
        self.run()

    def run(self, seconds: float = 0) -> None:
        """Run what is ready, and what becomes due within ``seconds``."""
        self.loop.drain(self.clock.now() + seconds)

    def call(self, method: str, path: str, tree: Tree | None = None) -> Tree:
        body = b"" if tree is None else orjson.dumps(tree)
        media = STRATEGIC_MERGE_PATCH if method == "PATCH" else "application/json"
        response = self.server.handle(ApiRequest(method, path, body=body, content_type=media))
        assert response.code < 300, response.body
        parsed: Tree = orjson.loads(response.body)
        return parsed

    def add_node(self, name: str) -> None:
        capacity = {"cpu": "2", "memory": "4Gi", "pods": "10"}
        status = {"allocatable": capacity, "capacity": capacity, "conditions": [{"type": "Ready", "status": "True"}]}
        self.call("POST", "/api/v1/nodes", {**head("v1", "Node", name), "status": status})

    def add_pod(self, name: str, cpu: str = "1", **spec: Any) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}, **spec.pop("container", {})}
        self.call("POST", PODS, {**head("v1", "Pod", name), "spec": {"containers": [container], **spec}})

    def node_of(self, name: str) -> str | None:
        node: str | None = self.call("GET", f"{PODS}/{name}")["spec"].get("nodeName")
        return node

    def events(self) -> list[tuple[str, str]]:
        listed = self.call("GET", "/apis/events.k8s.io/v1/events")["items"]
        return [(e["reason"], e["regarding"]["name"]) for e in listed]


def head(version: str, kind: str, name: str) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def test_pods_are_bound_and_an_event_says_so() -> None:
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.add_node(name)
    cluster.run()
    for name in ("p0", "p1", "p2", "p3"):
        cluster.add_pod(name)
    cluster.run()
    assert sorted(cluster.node_of(f"p{i}") or "" for i in range(4)) == ["n0", "n0", "n1", "n1"]
    assert sorted(cluster.events()) == [("Scheduled", f"p{i}") for i in range(4)]
    # nodes come with a taint that their Ready condition takes away
    assert not cluster.call("GET", "/api/v1/nodes/n0")["spec"].get("taints")


def test_a_pod_that_fits_nowhere_waits_and_starts_when_room_is_made() -> None:
    cluster = Cluster()
    cluster.add_node("n0")
    cluster.add_pod("big", "2")
    cluster.run()
    cluster.add_pod("late", "1")
    cluster.run()
    conditions = cluster.call("GET", f"{PODS}/late")["status"]["conditions"]
    assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [("PodScheduled", "False", "Unschedulable")]
    assert ("FailedScheduling", "late") in cluster.events()
    cluster.call("DELETE", f"{PODS}/big", AT_ONCE)
    cluster.run(seconds=3)
    assert cluster.node_of("late") == "n0"


def test_claims_are_made_from_a_template_allocated_and_freed_with_their_pod() -> None:
    cluster = Cluster()
    cluster.add_node("n0")
    group = "/apis/resource.k8s.io/v1"
    cluster.call("POST", f"{group}/deviceclasses", {**head("resource.k8s.io/v1", "DeviceClass", "gpu"), "spec": {}})
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    spec: Tree = {"driver": "gpu.example.com", "nodeName": "n0", "pool": pool, "devices": [{"name": "gpu-0"}]}
    cluster.call("POST", f"{group}/resourceslices", {**head("resource.k8s.io/v1", "ResourceSlice", "s0"), "spec": spec})
    claim = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    template = {**head("resource.k8s.io/v1", "ResourceClaimTemplate", "one-gpu"), "spec": {"spec": claim}}
    cluster.call("POST", f"{group}/namespaces/default/resourceclaimtemplates", template)
    entry = {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}
    claims = {"container": {"resources": {"claims": [{"name": "gpu"}]}}, "resourceClaims": [entry]}
    cluster.add_pod("p", **claims)
    cluster.run(seconds=5)
    assert cluster.node_of("p") == "n0"
    (made,) = cluster.call("GET", f"{group}/resourceclaims")["items"]
    (result,) = made["status"]["allocation"]["devices"]["results"]
    assert (result["device"], made["status"]["reservedFor"][0]["name"]) == ("gpu-0", "p")

    cluster.add_pod("q", **claims)  # the only device is taken
    cluster.run(seconds=5)
    assert cluster.node_of("q") is None
    cluster.call("DELETE", f"{PODS}/p", AT_ONCE)
    cluster.call("DELETE", f"{group}/namespaces/default/resourceclaims/{made['metadata']['name']}")
    cluster.run(seconds=10)
    assert cluster.node_of("q") == "n0"


def test_a_deleted_namespace_is_emptied_and_goes() -> None:
    cluster = Cluster()
    cluster.call("POST", "/api/v1/namespaces", head("v1", "Namespace", "team"))
    for name in ("a", "b"):
        cluster.call("POST", "/api/v1/namespaces/team/configmaps", head("v1", "ConfigMap", name))
    held = {**head("v1", "Secret", "held"), "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    cluster.call("POST", "/api/v1/namespaces/team/secrets", held)
    cluster.call("DELETE", "/api/v1/namespaces/team")
    cluster.run(seconds=10)
    assert cluster.call("GET", "/api/v1/namespaces/team/configmaps")["items"] == []
    assert cluster.call("GET", "/api/v1/namespaces/team")["status"]["phase"] == "Terminating"
    (secret,) = cluster.call("GET", "/api/v1/namespaces/team/secrets")["items"]
    secret["metadata"]["finalizers"] = []
    cluster.call("PUT", "/api/v1/namespaces/team/secrets/held", {**secret, "apiVersion": "v1", "kind": "Secret"})
    cluster.run(seconds=30)
    names = [n["metadata"]["name"] for n in cluster.call("GET", "/api/v1/namespaces")["items"]]
    assert "team" not in names and "default" in names


def test_a_scheduler_that_is_dropped_mid_way_is_replaced_by_one_that_knows_the_api() -> None:
    cluster = Cluster()
    for name in ("n0", "n1"):
        cluster.add_node(name)
    cluster.run()
    for i in range(4):
        cluster.add_pod(f"p{i}")
        cluster.plane.restart_scheduler()  # nothing of what it was told has been read yet
    cluster.run(seconds=2)
    assert sorted(cluster.node_of(f"p{i}") or "" for i in range(4)) == ["n0", "n0", "n1", "n1"]
    cluster.add_pod("late", "1")
    cluster.run()
    cluster.plane.restart_scheduler()
    cluster.call("DELETE", f"{PODS}/p0", AT_ONCE)
    cluster.run(seconds=12)
    assert cluster.node_of("late")


def test_controllers_that_are_dropped_mid_way_are_replaced() -> None:
    cluster = Cluster()
    cluster.call("POST", "/api/v1/namespaces", head("v1", "Namespace", "team"))
    cluster.run()
    cluster.call("DELETE", "/api/v1/namespaces/team")
    cluster.plane.restart_controllers()
    cluster.run(seconds=1)
    names = [n["metadata"]["name"] for n in cluster.call("GET", "/api/v1/namespaces")["items"]]
    assert "team" not in names


def test_a_running_pod_is_resized_and_makes_room() -> None:
    cluster = Cluster(has_kubelets=True)
    cluster.add_node("n0")
    cluster.add_pod("p", "2")
    cluster.run(10)
    cluster.add_pod("waits", "1")
    cluster.run(10)
    assert (cluster.node_of("p"), cluster.node_of("waits")) == ("n0", None)
    smaller = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}
    cluster.call("PATCH", f"{PODS}/p/resize", smaller)
    cluster.run(10)
    granted = cluster.call("GET", f"{PODS}/p")["status"]["containerStatuses"][0]
    assert (granted["resources"], granted["allocatedResources"]) == ({"requests": {"cpu": "1"}}, {"cpu": "1"})
    assert cluster.node_of("waits") == "n0"

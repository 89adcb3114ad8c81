"""Scheduler and controllers over HTTP, on a network that is cut again and again: everything placed, nothing twice."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apportion.base import Rng
from apportion.client.http import HttpOptions, HttpTransport, ServerAddress
from apportion.server import ApiRequest, HttpServer, Server
from apportion.sim.control_plane import ControlPlane
from apportion.store import Change, MemoryStore
from unit.client.proxy import Proxy

Tree = dict[str, Any]
NODES, DEVICES, CLAIMING, PLAIN = 6, 4, 20, 40
DRA = "/apis/resource.k8s.io/v1"
PODS = "/api/v1/namespaces/default/pods"
OPTIONS = HttpOptions(first_delay_s=0.02, longest_delay_s=0.1, timeout_s=3.0)


class Clock:
    """The time of day."""

    def now(self) -> float:
        return time.time()


class Cluster:
    """A server on loopback, a proxy in front of it, and a control plane that knows only the proxy."""

    def __init__(self, changes_max: int) -> None:
        self.store = MemoryStore(changes_max=changes_max)
        self.changes: list[Change] = []
        self._read = self.store.revision
        self.store.subscribe(self._record)
        self.server = Server(self.store, Clock(), Rng(1))
        self.http = HttpServer(self.server)

    def _record(self) -> None:
        """Keep the changes of pods and claims before the history forgets them."""
        for resource in ("pods", "resourceclaims.resource.k8s.io"):
            self.changes += self.store.read_changes(resource, self._read)
        self._read = self.store.revision

    async def start(self) -> None:
        await self.http.start()
        self.proxy = Proxy(int(self.http.url.rsplit(":", 1)[1]))
        await self.proxy.start()
        address, rng = ServerAddress(f"http://127.0.0.1:{self.proxy.port}"), Rng(7)
        self.transports: list[HttpTransport] = []

        def connect() -> HttpTransport:
            self.transports.append(HttpTransport(address, Clock(), rng.fork(str(len(self.transports))), OPTIONS))
            return self.transports[-1]

        loop = asyncio.get_running_loop()
        self.plane = ControlPlane(connect, loop, Clock(), Rng(3), has_kubelets=True)
        self.plane.start()

    async def stop(self) -> None:
        self.plane.stop()
        for transport in self.transports:
            await transport.wait_closed()
        await self.proxy.refuse()
        await self.http.stop()

    def call(self, method: str, path: str, tree: Tree | None = None) -> Tree:
        body = b"" if tree is None else orjson.dumps(tree)
        response = self.server.handle(ApiRequest(method, path, body=body, content_type="application/json"))
        assert response.code < 300, response.body
        parsed: Tree = orjson.loads(response.body)
        return parsed

    def fill(self) -> None:
        """Make nodes with devices, and what pods with claims need."""
        room = {"cpu": "16", "memory": "32Gi", "pods": "100"}  # any node takes all pods: devices alone decide
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": room, "capacity": room}
        for i in range(NODES):
            self.call("POST", "/api/v1/nodes", head("v1", "Node", f"n{i}", status=ready))
            devices = [{"name": f"gpu-{d}"} for d in range(DEVICES)]
            pool = {"name": f"n{i}", "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": "gpu.example.com", "nodeName": f"n{i}", "pool": pool, "devices": devices}
            self.call("POST", f"{DRA}/resourceslices", head("resource.k8s.io/v1", "ResourceSlice", f"s{i}", spec=spec))
        self.call("POST", f"{DRA}/deviceclasses", head("resource.k8s.io/v1", "DeviceClass", "gpu", spec={}))
        claim = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
        template = head("resource.k8s.io/v1", "ResourceClaimTemplate", "one", spec={"spec": claim})
        self.call("POST", f"{DRA}/namespaces/default/resourceclaimtemplates", template)

    def add_pod(self, name: str, has_claim: bool) -> None:
        container: Tree = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}
        spec: Tree = {"containers": [container]}
        if has_claim:
            container["resources"]["claims"] = [{"name": "gpu"}]
            spec["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
        self.call("POST", PODS, head("v1", "Pod", name, spec=spec))

    def running(self) -> int:
        return sum(p["status"]["phase"] == "Running" for p in self.call("GET", PODS)["items"])


def head(version: str, kind: str, name: str, **more: Any) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


async def until(is_done: Callable[[], bool], seconds: float = 60) -> None:
    for _ in range(int(seconds / 0.05)):
        if is_done():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it did not come to an end")


def check_history(changes: list[Change]) -> None:
    """Each pod got one node, once; each claim one allocation, which nobody changed."""
    nodes: dict[str, str] = {}
    allocations: dict[str, Any] = {}
    for change in changes:
        tree = orjson.loads(change.value)
        uid = tree["metadata"]["uid"]
        if tree["kind"] == "Pod":
            node = tree["spec"].get("nodeName", "")
            assert nodes.get(uid, "") in ("", node), f"{change.key} went from {nodes[uid]} to {node}"
            nodes[uid] = node
        elif change.type.value != "DELETED":
            allocation = (tree.get("status") or {}).get("allocation")
            assert allocations.get(uid) in (None, allocation), f"the devices of {change.key} changed"
            allocations[uid] = allocation


def check_end(cluster: Cluster) -> None:
    pods = cluster.call("GET", PODS)["items"]
    claims = cluster.call("GET", f"{DRA}/resourceclaims")["items"]
    assert len(pods) == CLAIMING + PLAIN and all(p["spec"].get("nodeName") for p in pods)
    taken: Counter[tuple[str, str]] = Counter()
    by_name = {c["metadata"]["name"]: c for c in claims}
    for pod in pods:
        for status in pod["status"].get("resourceClaimStatuses", ()):
            claim = by_name[status["resourceClaimName"]]["status"]
            assert [r["uid"] for r in claim["reservedFor"]] == [pod["metadata"]["uid"]]
            (result,) = claim["allocation"]["devices"]["results"]
            assert result["pool"] == pod["spec"]["nodeName"]
            taken[result["pool"], result["device"]] += 1
    assert len(taken) == CLAIMING and set(taken.values()) == {1}
    assert len(claims) == CLAIMING, "a claim was made twice"


@pytest.mark.parametrize("changes_max", [100_000, 60], ids=["resumes", "loses its history"])
def test_everything_is_scheduled_once_however_often_connections_are_cut(changes_max: int) -> None:
    async def run() -> None:
        cluster = Cluster(changes_max)
        cluster.fill()
        await cluster.start()
        try:
            rng = Rng(5)
            for i in range(CLAIMING + PLAIN):
                cluster.add_pod(f"p{i}", has_claim=i < CLAIMING)
                if i % 3 == 0:
                    cluster.proxy.cut_after(rng.below(4000)) if rng.below(2) else cluster.proxy.cut()
                if i % 20 == 10:
                    await cluster.proxy.refuse()
                    await asyncio.sleep(0.1)
                    await cluster.proxy.start()
                await asyncio.sleep(0.02)
            await until(lambda: cluster.running() == CLAIMING + PLAIN)
            check_end(cluster)
            check_history(cluster.changes)
            for i in range(0, CLAIMING, 2):
                cluster.call("DELETE", f"{PODS}/p{i}")
                if i % 6 == 0:
                    cluster.proxy.cut()
                await asyncio.sleep(0.02)
            left = f"{DRA}/resourceclaims"
            await until(lambda: len(cluster.call("GET", left)["items"]) == CLAIMING // 2)
            assert cluster.running() == CLAIMING // 2 + PLAIN
        finally:
            await cluster.stop()

    asyncio.run(run())

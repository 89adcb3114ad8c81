"""``kill -9`` in the middle of work: what was acknowledged is there, nothing happens twice, the rest goes on."""

import http.client
import json
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from e2e.up_process import Up, eventually

KILLS = 20
NODES = 20
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events?limit=10000"
SETUP = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
"""
DEVICES = """
drivers:
- {driver: gpu.example.com, deviceClass: gpu, devices: [{name: "gpu-[0-29]"}]}
"""
Tree = dict[str, Any]


def pod(name: str, has_claim: bool) -> Tree:
    container: Tree = {"name": "c", "image": "i"}
    spec: Tree = {"containers": [container]}
    if has_claim:
        container["resources"] = {"claims": [{"name": "g"}]}
        spec["resourceClaims"] = [{"name": "g", "resourceClaimTemplateName": "one-gpu"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


class Client(threading.Thread):
    """Creates pods one after the other until the server is gone; remembers what the server acknowledged."""

    def __init__(self, url: str, life: int) -> None:
        super().__init__()
        self._url = url
        self._life = life
        self.acknowledged: list[str] = []

    def run(self) -> None:
        for number in range(1000):
            name = f"pod-{self._life}-{number}"
            body = json.dumps(pod(name, number % 3 == 0)).encode()
            headers = {"Content-Type": "application/json"}
            request = urllib.request.Request(self._url + PODS, body, headers, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=20) as response:
                    response.read()
            except (OSError, urllib.error.URLError, http.client.HTTPException):
                return
            self.acknowledged.append(name)


def kill_while_pods_are_made(up: Up, life: int, delay_s: float) -> list[str]:
    client = Client(up.url, life)
    client.start()
    time.sleep(delay_s)
    up.process.kill()
    up.process.wait(20)
    client.join(20)
    return client.acknowledged


def test_what_was_acknowledged_survives_and_nothing_is_scheduled_twice(
    start: Callable[..., Up], tmp_path: Path
) -> None:
    (tmp_path / "devices.yaml").write_text(DEVICES)
    (tmp_path / "setup.yaml").write_text(SETUP)
    options = ["--data-dir", str(tmp_path / "data"), "--nodes", str(NODES)]
    options += ["--devices", str(tmp_path / "devices.yaml"), "-f", str(tmp_path / "setup.yaml")]
    moments = random.Random(20261129)
    acknowledged: list[str] = []
    placed: dict[str, str] = {}
    for life in range(KILLS):
        up = start(*options)
        found = look(up, placed)
        assert acknowledged == [name for name in acknowledged if name in found]
        acknowledged += kill_while_pods_are_made(up, life, moments.uniform(0.0, 0.25))
    up = start(*options)
    eventually(lambda: [n for n, node in look(up, placed).items() if not node], [])
    assert len(acknowledged) > KILLS and set(acknowledged) <= placed.keys()
    check_nothing_twice(up)


def look(up: Up, placed: dict[str, str]) -> dict[str, str]:
    """Return the nodes of the pods; a pod that had one must have it still."""
    found = {p["metadata"]["name"]: p["spec"].get("nodeName", "") for p in up.call("GET", PODS)["items"]}
    for name, node in placed.items():
        assert found[name] == node, name
    placed.update({name: node for name, node in found.items() if node})
    return found


def check_nothing_twice(up: Up) -> None:
    scheduled = Counter(e["regarding"]["name"] for e in up.call("GET", EVENTS)["items"] if e["reason"] == "Scheduled")
    assert {name: n for name, n in scheduled.items() if n > 1} == {}
    claims = up.call("GET", CLAIMS)["items"]
    assert {
        n: c for n, c in Counter(c["metadata"]["ownerReferences"][0]["name"] for c in claims).items() if c > 1
    } == {}
    results = [r for c in claims for r in c["status"]["allocation"]["devices"]["results"]]
    devices = Counter((r["pool"], r["device"]) for r in results)
    assert devices and max(devices.values()) == 1

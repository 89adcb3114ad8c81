"""Stand-in kubelets: what is bound runs, what is being deleted goes. They stand in for all nodes at once."""

from typing import Any, Final

import orjson

from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task, Transport, format_micro_time
from apportion.controllers import Controller, decode_frame

_DONE: Final = ("Succeeded", "Failed")
_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
Tree = dict[str, Any]


class StandInKubelets(Controller[str]):
    """Watches pods. A bound one becomes Running and Ready; one that is being deleted is removed at once."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._clock = clock
        self._waiting: dict[str, Tree] = {}  # by namespace/name: pods with something to do

    def start(self) -> None:
        """Watch the pods."""
        self._transport.watch("pods", self._on_pod)

    def _on_pod(self, frame: bytes) -> None:
        event = decode_frame(frame)
        pod: Tree = orjson.loads(bytes(event.object))
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        if event.type == "DELETED" or not _has_work(pod):
            self._waiting.pop(key, None)
            return
        self._waiting[key] = pod
        self.queue.add(key)

    def _sync(self, key: str) -> Task:
        pod = self._waiting.get(key)
        if pod is None:
            return None
        request = _remove(pod) if pod["metadata"].get("deletionTimestamp") else self._run(pod)
        response = yield request
        return None if response.code < 300 or response.code in (404, 409) else response.message

    def _run(self, pod: Tree) -> Request:
        meta = pod["metadata"]
        now = format_micro_time(self._clock.now())[:19] + "Z"
        others = [c for c in pod.get("status", {}).get("conditions", []) if c["type"] not in _CONDITIONS]
        status = {
            "phase": "Running",
            "startTime": now,
            "conditions": [*others, *({"type": t, "status": "True", "lastTransitionTime": now} for t in _CONDITIONS)],
            "containerStatuses": [_describe_container(c, now) for c in pod["spec"]["containers"]],
        }
        body = orjson.dumps({"metadata": {"uid": meta["uid"]}, "status": status})
        return Request("patch", "pods", meta["namespace"], meta["name"], body, "status", MERGE_PATCH)


def _has_work(pod: Tree) -> bool:
    if not pod["spec"].get("nodeName"):
        return False
    phase = pod.get("status", {}).get("phase", "Pending")
    return bool(pod["metadata"].get("deletionTimestamp")) or (phase not in _DONE and phase != "Running")


def _describe_container(container: Tree, now: str) -> Tree:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
    }


def _remove(pod: Tree) -> Request:
    meta = pod["metadata"]
    body = orjson.dumps({"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
    return Request("delete", "pods", meta["namespace"], meta["name"], body)


def make_node(index: int) -> Tree:
    """Return a ready stand-in node."""
    room = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "500Gi", "pods": "110"}
    name = f"node-{index}"
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "stand-in kubelet"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }

"""Stand-in kubelets: what is bound runs, what is being deleted goes. They stand in for all nodes at once."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import orjson

from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task, Transport, format_micro_time
from apportion.controllers import Controller, decode_frame

# on a pod that does not start its containers again: after how many seconds it succeeds
RUN_SECONDS: Final = "apportion.dev/run-seconds"
_DONE: Final = ("Succeeded", "Failed")
_CONDITIONS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
Tree = dict[str, Any]


class StandInKubelets(Controller[str]):
    """Watches pods and claims. Work per event is proportional to the pods that wait for one claim.

    A bound pod becomes Running and Ready once its claims are allocated and reserved for it; one that is being
    deleted is removed at once; one that ended is left alone.
    """

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._clock = clock
        self._pods: dict[str, Tree] = {}  # by namespace/name: pods with something to do
        self._reserved: dict[str, frozenset[str]] = {}  # by namespace/name of a claim: uids that may use it
        self._waiting: dict[str, dict[str, None]] = {}  # by claim: pods that need it

    def start(self) -> None:
        """Watch the claims, then the pods."""
        self._transport.watch("resourceclaims", self._on_claim)
        self._transport.watch("pods", self._on_pod)

    def _on_claim(self, frame: bytes) -> None:
        event = decode_frame(frame)
        claim: Tree = orjson.loads(bytes(event.object))
        key, status = _key(claim), claim.get("status") or {}
        if event.type == "DELETED" or "allocation" not in status:
            self._reserved.pop(key, None)
            return
        self._reserved[key] = frozenset(r["uid"] for r in status.get("reservedFor", ()))
        for pod in self._waiting.pop(key, ()):
            self.queue.add(pod)

    def _on_pod(self, frame: bytes) -> None:
        event = decode_frame(frame)
        pod: Tree = orjson.loads(bytes(event.object))
        key = _key(pod)
        if event.type == "DELETED" or not _has_work(pod):
            self._pods.pop(key, None)
            return
        self._pods[key] = pod
        self.queue.add(key)

    def _sync(self, key: str) -> Task:
        pod = self._pods.get(key)
        request = None if pod is None else self._next_request(key, pod)
        if request is None:
            return None
        response = yield request
        return None if response.code < 300 or response.code in (404, 409) else response.message

    def _next_request(self, key: str, pod: Tree) -> Request | None:
        """Return what has to be done now; None when the pod waits for a claim or for its end."""
        if pod["metadata"].get("deletionTimestamp"):
            return _remove(pod)
        if _phase(pod) == "Running" and _is_resized(pod):
            return _patch_status(pod, {"containerStatuses": _grant(pod)})
        if _phase(pod) == "Running":
            left_s = _started_s(pod) + (_run_seconds(pod) or 0.0) - self._clock.now()
            if left_s > 0:
                self.queue.add_after(key, left_s)
                return None
            return self._end(pod)
        missing = next((c for c in _claims_of(pod) if pod["metadata"]["uid"] not in self._reserved.get(c, ())), None)
        if missing is not None:
            self._waiting.setdefault(missing, {})[key] = None
            return None
        return self._run(pod)

    def _run(self, pod: Tree) -> Request:
        now = self._now()
        status = {
            "phase": "Running",
            "startTime": now,
            "conditions": _merge_conditions(pod, [(t, "True", "") for t in _CONDITIONS], now),
            "containerStatuses": [_describe_container(c, {"running": {"startedAt": now}}) for c in _containers(pod)],
        }
        return _patch_status(pod, status)

    def _end(self, pod: Tree) -> Request:
        now = self._now()
        done = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now}}
        ended = [(t, "False", "PodCompleted") for t in ("Ready", "ContainersReady", "PodReadyToStartContainers")]
        status = {
            "phase": "Succeeded",
            "conditions": _merge_conditions(pod, ended, now),
            "containerStatuses": [_describe_container(c, done) for c in _containers(pod)],
        }
        return _patch_status(pod, status)

    def _now(self) -> str:
        return format_micro_time(self._clock.now())[:19] + "Z"


def _key(tree: Tree) -> str:
    return f"{tree['metadata']['namespace']}/{tree['metadata']['name']}"


def _phase(pod: Tree) -> str:
    return str(pod.get("status", {}).get("phase", "Pending"))


def _has_work(pod: Tree) -> bool:
    if not pod["spec"].get("nodeName"):
        return False
    phase = _phase(pod)
    is_waiting = phase not in _DONE and (phase != "Running" or _run_seconds(pod) is not None or _is_resized(pod))
    return bool(pod["metadata"].get("deletionTimestamp")) or is_waiting


def _run_seconds(pod: Tree) -> float | None:
    """Return how long a pod runs before it succeeds, None for ever; a text that is no number means for ever."""
    text = (pod["metadata"].get("annotations") or {}).get(RUN_SECONDS)
    if text is None or pod["spec"].get("restartPolicy", "Always") == "Always":
        return None
    try:
        return max(float(text), 0.0)
    except ValueError:
        return None


def _started_s(pod: Tree) -> float:
    return datetime.fromisoformat(pod["status"]["startTime"].replace("Z", "+00:00")).timestamp()


def _claims_of(pod: Tree) -> Iterator[str]:
    """Yield the claims that a pod needs; an entry whose claim was not made yet stands for one that is not there."""
    status = pod.get("status", {})
    made = {s["name"]: s.get("resourceClaimName") for s in status.get("resourceClaimStatuses", ())}
    for entry in pod["spec"].get("resourceClaims", ()):
        name = entry.get("resourceClaimName") or made.get(entry["name"], "")
        if name is not None:
            yield f"{pod['metadata']['namespace']}/{name}"
    extended = status.get("extendedResourceClaimStatus")
    if extended:
        yield f"{pod['metadata']['namespace']}/{extended['resourceClaimName']}"


def _containers(pod: Tree) -> list[Tree]:
    containers: list[Tree] = pod["spec"]["containers"]
    return containers


def _merge_conditions(pod: Tree, new: list[tuple[str, str, str]], now: str) -> list[Tree]:
    """Return the conditions of a pod with new ones (type, status, reason) in the place of older ones."""
    types = {t for t, _, _ in new}
    kept = [c for c in pod.get("status", {}).get("conditions", []) if c["type"] not in types]
    made = [{"type": t, "status": s, "reason": r, "lastTransitionTime": now} for t, s, r in new]
    return [*kept, *({k: v for k, v in c.items() if v} for c in made)]


def _describe_container(container: Tree, state: Tree) -> Tree:
    is_running = "running" in state
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": is_running,
        "started": is_running,
        "restartCount": 0,
        "state": state,
        **(_describe_resources(container) if is_running else {}),
    }


def _is_resized(pod: Tree) -> bool:
    """Return whether a container of a running pod asks for something else than what it was granted."""
    granted = {s["name"]: s.get("resources") for s in pod.get("status", {}).get("containerStatuses", ())}
    return any(granted.get(c["name"]) not in (None, c.get("resources") or {}) for c in _containers(pod))


def _grant(pod: Tree) -> list[Tree]:
    """Return the statuses of the containers with all that they ask for granted."""
    asked = {c["name"]: _describe_resources(c) for c in _containers(pod)}
    return [{**s, **asked.get(s["name"], {})} for s in pod["status"]["containerStatuses"]]


def _describe_resources(container: Tree) -> Tree:
    resources = container.get("resources") or {}
    requests = resources.get("requests")
    return {"resources": resources, **({"allocatedResources": requests} if requests else {})}


def _patch_status(pod: Tree, status: Tree) -> Request:
    meta = pod["metadata"]
    body = orjson.dumps({"metadata": {"uid": meta["uid"]}, "status": status})
    return Request("patch", "pods", meta["namespace"], meta["name"], body, "status", MERGE_PATCH)


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

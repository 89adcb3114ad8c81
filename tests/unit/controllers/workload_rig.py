"""The workload controllers beside a real API server, a loop that a test turns, and kubelets of one line."""

from collections import deque
from collections.abc import Callable
from typing import Any

import orjson

from apportion.base import Rng, VirtualClock
from apportion.client import OnDone, OnSynced, Request, Transport, WatchHandle, WatchSink
from apportion.controllers import Controller
from apportion.controllers.times import format_time
from apportion.controllers.workloads import make_workload_controllers
from apportion.server import ApiRequest, InProcessTransport, Server
from apportion.store import MemoryStore

Tree = dict[str, Any]
NAMESPACE = "/api/v1/namespaces/default"
PODS = f"{NAMESPACE}/pods"
APPS = "/apis/apps/v1/namespaces/default"
MERGE = "application/merge-patch+json"
AT_ONCE: Tree = {"gracePeriodSeconds": 0}


class Late(Transport):
    """Passes everything on, except that events of one resource can be held back."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._held: list[tuple[WatchSink, bytes]] = []
        self.late = ""  # the resource whose events are held

    def submit(self, request: Request, on_done: OnDone) -> None:
        self._inner.submit(request, on_done)

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        def arrived(frame: bytes) -> None:
            if resource == self.late and handle.has_synced:  # what existed at the start is never late
                self._held.append((sink, frame))
            else:
                sink(frame)

        handle = self._inner.watch(resource, arrived, on_synced)
        return handle

    def release(self) -> None:
        """Deliver what was held."""
        self.late = ""
        held, self._held = self._held, []
        for sink, frame in held:
            sink(frame)

    def close(self) -> None:
        self._inner.close()


class Rig:
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.server = Server(MemoryStore(), self.clock, Rng(1))
        self.ready: deque[Callable[[], None]] = deque()
        self.lives = 0
        self.controllers: list[Controller[Any]] = []
        self.transport = Late(InProcessTransport(self.server, self.ready.append))
        self.kubelet: Callable[[Tree], Tree | None] | None = None
        self.restart()

    def restart(self) -> None:
        """Drop the controllers in the middle of whatever they do, and start new ones."""
        self.transport.close()
        self.transport = Late(InProcessTransport(self.server, self.ready.append))
        self.lives += 1
        self.controllers = list(make_workload_controllers(self.transport, self.clock, Rng(self.lives)))
        for controller in self.controllers:
            controller.start()

    # ---- time ---------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Do one thing; False when there is nothing to do."""
        if self.ready:
            self.ready.popleft()()
            return True
        return sum(c.work() for c in self.controllers) > 0

    def settle(self) -> None:
        """Run until nothing happens without time passing; kubelets answer meanwhile."""
        for _ in range(20_000):
            if not self.step() and not self._run_kubelet():
                return
        raise AssertionError("this does not come to rest")

    def run(self, seconds: float = 0) -> None:
        """Run what becomes due within ``seconds``."""
        end = self.clock.now() + seconds
        self.settle()
        while (due := self.next_due_s()) is not None and due <= end:
            self.clock.advance_to(due)
            self.settle()
        self.clock.advance_to(end)
        self.settle()

    def next_due_s(self) -> float | None:
        times = [c.queue.next_wakeup_s() for c in self.controllers]
        return min((t for t in times if t is not None), default=None)

    # ---- kubelets -----------------------------------------------------------------------------------------

    def _run_kubelet(self) -> bool:
        return self.kubelet is not None and sum(self._visit(pod) for pod in self.items(PODS)) > 0

    def _visit(self, pod: Tree) -> bool:
        assert self.kubelet is not None
        if pod["metadata"].get("deletionTimestamp") and not pod["metadata"].get("finalizers"):
            self.delete(f"{PODS}/{pod['metadata']['name']}", AT_ONCE)
            return True
        status = self.kubelet(pod)
        if status is None:
            return False
        self.set_status(pod["metadata"]["name"], status)
        return True

    def run_pods(self) -> None:
        """From now on every pod becomes ready, and goes when it is deleted."""
        self.kubelet = lambda pod: None if pod["status"].get("conditions") else self.ready_status()

    def ready_status(self, phase: str = "Running", ready: bool = True) -> Tree:
        now = format_time(self.clock.now())
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": now}
        return {"phase": phase, "conditions": [condition]}

    def set_status(self, name: str, status: Tree) -> None:
        self.call("PATCH", f"{PODS}/{name}/status", {"status": status})

    def finish(self, name: str, phase: str, exit_code: int = 0) -> None:
        """End a pod."""
        terminated = {"exitCode": exit_code, "finishedAt": format_time(self.clock.now())}
        containers = [{"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0,
                       "state": {"terminated": terminated}}]  # fmt: skip
        self.set_status(name, {"phase": phase, "containerStatuses": containers})

    # ---- the API ------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, tree: Tree | None = None) -> Tree:
        body = b"" if tree is None else orjson.dumps(tree)
        kind = MERGE if method == "PATCH" else "application/json"
        response = self.server.handle(ApiRequest(method, path, body=body, content_type=kind))
        assert response.code < 300, response.body
        parsed: Tree = orjson.loads(response.body)
        return parsed

    def get(self, path: str) -> Tree:
        return self.call("GET", path)

    def items(self, path: str) -> list[Tree]:
        items: list[Tree] = self.call("GET", path)["items"]
        return items

    def patch(self, path: str, tree: Tree) -> Tree:
        return self.call("PATCH", path, tree)

    def delete(self, path: str, options: Tree | None = None) -> None:
        self.call("DELETE", path, options or {})

    def pods(self, **labels: str) -> list[Tree]:
        return [p for p in self.items(PODS) if labels.items() <= (p["metadata"].get("labels") or {}).items()]

    def names(self, path: str = PODS) -> list[str]:
        return sorted(o["metadata"]["name"] for o in self.items(path))

    def events(self, *reasons: str) -> list[tuple[str, str]]:
        """Return reason and message of each event, in the order in which they were recorded."""
        events = self.items(f"{NAMESPACE}/events")
        events.sort(key=lambda e: int(e["metadata"]["resourceVersion"]))
        return [(e["reason"], e["message"]) for e in events if not reasons or e["reason"] in reasons]

    def bind(self, name: str, node: str) -> None:
        self.call("POST", f"{PODS}/{name}/binding", {"target": {"kind": "Node", "name": node}})


def workload(kind: str, name: str, labels: Tree | None = None, image: str = "img:1", **spec: Any) -> Tree:
    """Return an object of apps/v1 with a template."""
    labels = labels or {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}]}}
    body = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": body}


def conditions(tree: Tree) -> dict[str, tuple[str, str, str]]:
    """Return status, reason and message of each condition by type."""
    found = tree["status"].get("conditions") or []
    return {c["type"]: (c["status"], c.get("reason", ""), c.get("message", "")) for c in found}

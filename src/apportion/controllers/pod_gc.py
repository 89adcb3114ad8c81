"""Pods that nobody will end any more: on nodes that are gone, deleted before they got a node, ended long ago.

Behaviour: kube-controller-manager's podgc controller.
"""

from itertools import islice
from typing import Final

import msgspec
import orjson

from apportion.base import Clock
from apportion.client import STRATEGIC_MERGE_PATCH, Request, Task, Transport
from apportion.controllers.controller import Controller, decode_frame
from apportion.controllers.times import format_time

QUARANTINE_S: Final = 40.0  # a node may be made anew under its name
ENDED_MAX: Final = 12_500
_DONE: Final = ("Succeeded", "Failed")
_NOT_FOUND: Final = 404


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False, frozen=True):
    node_name: str = ""


class _Status(msgspec.Struct, gc=False, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_done(self) -> bool:
        return self.status.phase in _DONE


_POD: Final = msgspec.json.Decoder(_Pod).decode


class PodGarbageCollector(Controller[str]):
    """Watches nodes and pods. Work per event is proportional to the pods of one node."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._clock = clock
        self._nodes: set[str] = set()
        self._pods: dict[str, _Pod] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        self._ended: dict[str, None] = {}  # by the time at which the end was seen
        self._orphans: dict[str, float] = {}  # since when their node is missing

    def start(self) -> None:
        """Watch the nodes, then the pods."""
        self._transport.watch("nodes", self._on_node)
        self._transport.watch("pods", self._on_pod)

    def _on_node(self, frame: bytes) -> None:
        event = decode_frame(frame)
        name = _POD(event.object).metadata.name
        if event.type != "DELETED":
            self._nodes.add(name)
            return
        self._nodes.discard(name)
        for key in self._by_node.get(name, ()):
            self._note_orphan(key)

    def _on_pod(self, frame: bytes) -> None:
        event = decode_frame(frame)
        pod = _POD(event.object)
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        self._forget(key)
        if event.type == "DELETED":
            self._orphans.pop(key, None)
            return
        self._pods[key] = pod
        node = pod.spec.node_name
        if node:
            self._by_node.setdefault(node, {})[key] = None
            if node not in self._nodes:
                self._note_orphan(key)
        elif pod.metadata.deletion_timestamp is not None:
            self.queue.add(key)
        if pod.is_done:
            self._ended[key] = None
            excess = len(self._ended) - ENDED_MAX
            if excess > 0:  # those before it were asked for by earlier ends
                self.queue.add(next(islice(self._ended, excess - 1, None)))

    def _forget(self, key: str) -> None:
        pod = self._pods.pop(key, None)
        if pod is None:
            return
        on_node = self._by_node.get(pod.spec.node_name, {})
        on_node.pop(key, None)
        if not on_node:
            self._by_node.pop(pod.spec.node_name, None)
        self._ended.pop(key, None)

    def _note_orphan(self, key: str) -> None:
        self._orphans.setdefault(key, self._clock.now())
        self.queue.add_deadline(key, QUARANTINE_S)

    # ---- one pod ------------------------------------------------------------------------------------------

    def _sync(self, key: str) -> Task:
        pod = self._pods.get(key)
        if pod is None:
            return None
        node = pod.spec.node_name
        if not node:
            return (yield from self._delete(pod)) if pod.metadata.deletion_timestamp else (yield from self._trim(key))
        if node in self._nodes:
            self._orphans.pop(key, None)
            return (yield from self._trim(key))
        if self._clock.now() < self._orphans.get(key, self._clock.now()) + QUARANTINE_S:
            return None
        if not pod.is_done:
            problem = yield from self._fail(pod)
            if problem is not None:
                return problem
        return (yield from self._delete(pod))

    def _trim(self, key: str) -> Task:
        """Delete a pod that ended when there are too many of them."""
        if key not in self._ended or len(self._ended) <= ENDED_MAX:
            return None
        return (yield from self._delete(self._pods[key]))

    def _fail(self, pod: _Pod) -> Task:
        """Say that the pod has failed before it goes, so that its owner counts it."""
        now = format_time(self._clock.now())
        text = "PodGC: node no longer exists"
        condition = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": text}
        status = {"phase": "Failed", "conditions": [{**condition, "lastTransitionTime": now}]}
        meta = pod.metadata
        body = orjson.dumps({"metadata": {"uid": meta.uid}, "status": status})
        request = Request("patch", "pods", meta.namespace, meta.name, body, "status", STRATEGIC_MERGE_PATCH)
        response = yield request
        return None if response.code < 300 or response.code == _NOT_FOUND else response.message or "refused"

    def _delete(self, pod: _Pod) -> Task:
        meta = pod.metadata
        body = orjson.dumps({"gracePeriodSeconds": 0, "preconditions": {"uid": meta.uid}})
        response = yield Request("delete", "pods", meta.namespace, meta.name, body)
        return None if response.code < 300 or response.code == _NOT_FOUND else response.message or "refused"

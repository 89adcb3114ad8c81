"""Lets a pod group that is being deleted go once no pod that still lives belongs to it.

Behaviour: kube-controller-manager's podgroup-protection controller; admission gives each group the finalizer.
"""

from typing import Final

import msgspec
import orjson

from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task, Transport
from apportion.controllers.controller import Controller, decode_frame

FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"
_GROUPS: Final = "podgroups.scheduling.k8s.io"
_OVER: Final = ("Succeeded", "Failed")
Key = tuple[str, str]


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    namespace: str
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()


class _Membership(msgspec.Struct, rename="camel", gc=False):
    pod_group_name: str | None = None


class _Spec(msgspec.Struct, rename="camel", gc=False):
    scheduling_group: _Membership | None = None


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""


class _Group(msgspec.Struct, gc=False):
    metadata: _Meta


class _Pod(msgspec.Struct, gc=False):
    metadata: _Meta
    spec: _Spec
    status: _Status = _Status()


_GROUP: Final = msgspec.json.Decoder(_Group).decode
_POD: Final = msgspec.json.Decoder(_Pod).decode


class PodGroupProtectionController(Controller[Key]):
    """Watches pod groups, and the pods that belong to one."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._leaving: dict[Key, _Meta] = {}
        self._members: dict[Key, set[str]] = {}
        self._is_watching_pods = False

    def start(self) -> None:
        """Watch groups; pods once there is a group, and before anything is done about it."""
        self._transport.watch(_GROUPS, self._on_group)

    def _on_group(self, frame: bytes) -> None:
        if not self._is_watching_pods:
            self._is_watching_pods = True
            self._transport.watch("pods", self._on_pod)
        event = decode_frame(frame)
        meta = _GROUP(event.object).metadata
        key = (meta.namespace, meta.name)
        if event.type == "DELETED" or meta.deletion_timestamp is None or FINALIZER not in meta.finalizers:
            self._leaving.pop(key, None)
            return
        self._leaving[key] = meta
        self.queue.add(key)

    def _on_pod(self, frame: bytes) -> None:
        event = decode_frame(frame)
        pod = _POD(event.object)
        name = None if pod.spec.scheduling_group is None else pod.spec.scheduling_group.pod_group_name
        if name is None:
            return
        key = (pod.metadata.namespace, name)
        members = self._members.setdefault(key, set())
        if event.type != "DELETED" and pod.status.phase not in _OVER:
            members.add(pod.metadata.name)
            return
        members.discard(pod.metadata.name)
        if not members:
            del self._members[key]
            self.queue.add(key)

    def _sync(self, key: Key) -> Task:
        meta = self._leaving.get(key)
        if meta is None or key in self._members:
            return None
        left = [f for f in meta.finalizers if f != FINALIZER]
        body = orjson.dumps({"metadata": {"resourceVersion": meta.resource_version, "finalizers": left or None}})
        namespace, name = key
        response = yield Request("patch", _GROUPS, namespace, name, body, content_type=MERGE_PATCH)
        return None if response.code < 300 or response.code in (404, 409) else response.message or "refused"

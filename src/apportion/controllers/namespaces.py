"""Empties namespaces that are being deleted, and lets them go when nothing is left.

Behaviour: pkg/controller/namespace upstream.
"""

from collections.abc import Generator, Iterator
from typing import Any, Final

import msgspec
import orjson

from apportion.api.kinds import KINDS, Kind
from apportion.base import Clock
from apportion.client import Request, Response, Task, Transport
from apportion.controllers.controller import Controller, decode_frame

_KUBERNETES: Final = "kubernetes"
# events are recorded about what is deleted here, so they go last
_NAMESPACED: Final = tuple(sorted((k for k in KINDS if k.namespaced), key=lambda k: k.name == "Event"))


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str
    deletion_timestamp: str | None = None


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta


class _List(msgspec.Struct, gc=False):
    items: list[_Object]


_LIST: Final = msgspec.json.Decoder(_List).decode


class NamespaceController(Controller[str]):
    """Watches namespaces. One that is not empty yet is looked at again after a growing delay."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._terminating: dict[str, dict[str, Any]] = {}

    def start(self) -> None:
        """Watch the namespaces."""
        self._transport.watch("namespaces", self._on_namespace)

    def _on_namespace(self, frame: bytes) -> None:
        event = decode_frame(frame)
        tree = orjson.loads(bytes(event.object))
        name = tree["metadata"]["name"]
        if event.type == "DELETED" or not tree["metadata"].get("deletionTimestamp"):
            self._terminating.pop(name, None)
            return
        self._terminating[name] = tree
        self.queue.add(name)

    def _sync(self, name: str) -> Task:
        tree = self._terminating.get(name)
        if tree is None or _KUBERNETES not in (tree["spec"].get("finalizers") or ()):
            return None
        left = 0
        for kind in _NAMESPACED:
            found = yield from self._empty(kind, name)
            if isinstance(found, str):
                return found
            left += found
        if left:
            return f"namespace {name} still holds {left} objects"
        return (yield from self._finalize(tree))

    def _empty(self, kind: Kind, namespace: str) -> Generator[Request, Response, int | str]:
        """Delete the objects of one kind; returns how many there were, or what went wrong."""
        resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        response = yield Request("list", resource, namespace, "")
        if response.code == 404:
            return 0  # not served
        if response.code >= 300:
            return f"list {resource}: {response.message}"
        found = _LIST(response.body).items
        for request in _deletions(resource, namespace, found):
            answer = yield request
            if answer.code >= 300 and answer.code not in (404, 409):
                return f"delete {resource} {request.name}: {answer.message}"
        return len(found)

    def _finalize(self, tree: dict[str, Any]) -> Task:
        left = [f for f in tree["spec"]["finalizers"] if f != _KUBERNETES]
        body = orjson.dumps({**tree, "spec": {**tree["spec"], "finalizers": left}})
        response = yield Request("update", "namespaces", "", tree["metadata"]["name"], body, "finalize")
        return None if response.code < 300 or response.code == 404 else response.message or "refused"


def _deletions(resource: str, namespace: str, found: list[_Object]) -> Iterator[Request]:
    for entry in found:
        meta = entry.metadata
        if meta.deletion_timestamp is None:
            body = orjson.dumps({"preconditions": {"uid": meta.uid}, "propagationPolicy": "Background"})
            yield Request("delete", resource, namespace, meta.name, body)

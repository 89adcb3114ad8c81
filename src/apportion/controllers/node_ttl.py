"""The annotation that tells kubelets how long they may keep secrets and config maps: the longer the more nodes.

Behaviour: kube-controller-manager's ttl controller.
"""

from typing import Final

import msgspec
import orjson

from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task, Transport
from apportion.controllers.controller import Controller, decode_frame

TTL_ANNOTATION: Final = "node.alpha.kubernetes.io/ttl"
# (fewest nodes, most nodes, seconds); they overlap, so that a node more or less does not change it back and forth.
_STEPS: Final = (
    (0, 100, 0),
    (90, 500, 15),
    (450, 1000, 30),
    (900, 2000, 60),
    (1800, 10_000, 300),
    (9000, 1 << 31, 600),
)


class _Meta(msgspec.Struct, gc=False):
    name: str
    annotations: dict[str, str] = {}


class _Node(msgspec.Struct, gc=False):
    metadata: _Meta


_NODE: Final = msgspec.json.Decoder(_Node).decode


class NodeTtlController(Controller[str]):
    """Watches nodes. When the number of nodes passes a step, each node learns of it when it changes next."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._told: dict[str, str | None] = {}  # what each node says
        self._step = 0

    def start(self) -> None:
        """Watch the nodes."""
        self._transport.watch("nodes", self._on_node)

    def _on_node(self, frame: bytes) -> None:
        event = decode_frame(frame)
        meta = _NODE(event.object).metadata
        if event.type == "DELETED":
            self._told.pop(meta.name, None)
        else:
            self._told[meta.name] = meta.annotations.get(TTL_ANNOTATION)
            self.queue.add(meta.name)
        fewest, most, _ = _STEPS[self._step]
        self._step += (len(self._told) > most) - (len(self._told) < fewest)

    def _sync(self, name: str) -> Task:
        wanted = str(_STEPS[self._step][2])
        if name not in self._told or self._told[name] == wanted:
            return None
        body = orjson.dumps({"metadata": {"annotations": {TTL_ANNOTATION: wanted}}})
        response = yield Request("patch", "nodes", "", name, body, content_type=MERGE_PATCH)
        return None if response.code < 300 or response.code == 404 else response.message or "refused"

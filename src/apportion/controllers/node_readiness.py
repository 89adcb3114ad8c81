"""Taints that follow a node's Ready condition: not-ready while it is False, unreachable while it is Unknown.

Behaviour: kube-controller-manager's node lifecycle controller.
"""

from typing import Any, Final

import msgspec
import orjson

from apportion.api.core import Node, Taint
from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task, Transport
from apportion.controllers.controller import Controller, decode_frame

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_BY_STATUS: Final = {"True": None, "False": NOT_READY, "Unknown": UNREACHABLE}
_EFFECTS: Final = ("NoSchedule", "NoExecute")


_NODE: Final = msgspec.json.Decoder(Node).decode


class NodeReadinessController(Controller[str]):
    """Watches nodes. A node that never reported a Ready condition keeps the taint that it was admitted with."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._nodes: dict[str, Node] = {}

    def start(self) -> None:
        """Watch the nodes."""
        self._transport.watch("nodes", self._on_node)

    def _on_node(self, frame: bytes) -> None:
        event = decode_frame(frame)
        node = _NODE(event.object)
        name = node.metadata.name
        if event.type == "DELETED":
            self._nodes.pop(name, None)
            return
        self._nodes[name] = node
        self.queue.add(name)

    def _sync(self, name: str) -> Task:
        node = self._nodes.get(name)
        wanted = None if node is None else wanted_taints(node)
        if node is None or wanted is None or wanted == node.spec.taints:
            return None
        meta = {"uid": node.metadata.uid, "resourceVersion": node.metadata.resource_version}
        body = {"metadata": meta, "spec": {"taints": [_to_tree(t) for t in wanted] or None}}
        response = yield Request("patch", "nodes", "", name, orjson.dumps(body), content_type=MERGE_PATCH)
        return None if 200 <= response.code < 300 or response.code == 404 else response.message


def wanted_taints(node: Node) -> tuple[Taint, ...] | None:
    """Return the taints that the node should have by its Ready condition; None when it has not reported one."""
    status = next((c.status for c in node.status.conditions if c.type == "Ready"), None)
    if status not in _BY_STATUS:
        return None
    key = _BY_STATUS[status]
    kept = [t for t in node.spec.taints if t.key not in (NOT_READY, UNREACHABLE)]
    mine = [t for t in node.spec.taints if t.key == key]
    missing = [Taint(key=key, effect=e) for e in _EFFECTS if key and all(t.effect != e for t in mine)]
    return (*kept, *mine, *missing)


def _to_tree(taint: Taint) -> dict[str, Any]:
    tree: dict[str, Any] = msgspec.to_builtins(taint)
    return tree

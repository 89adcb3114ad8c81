import orjson

from apportion.base import VirtualClock
from apportion.client import MemoryTransport
from apportion.controllers import NodeTtlController
from apportion.controllers.node_ttl import TTL_ANNOTATION


class Nodes:
    """The controller over objects in memory."""

    def __init__(self) -> None:
        self.api = MemoryTransport()
        self.controller = NodeTtlController(self.api, VirtualClock())
        self.controller.start()

    def put(self, count: int, first: int = 0) -> None:
        for i in range(first, first + count):
            known = self.api.find("nodes", "", f"n{i}") or {"metadata": {"name": f"n{i}"}}
            self.api.put("nodes", {**known, "spec": {"seen": orjson.dumps(known).decode()[:8]}})
        self.settle()

    def settle(self) -> None:
        while self.api.deliver() or self.controller.work():
            pass

    def read(self, number: int) -> str | None:
        tree = self.api.find("nodes", "", f"n{number}")
        assert tree is not None
        found: str | None = (tree["metadata"].get("annotations") or {}).get(TTL_ANNOTATION)
        return found


def test_a_small_cluster_keeps_nothing() -> None:
    nodes = Nodes()
    nodes.put(100)
    assert {nodes.read(i) for i in range(100)} == {"0"}


def test_nodes_learn_of_a_step_when_they_change_next() -> None:
    nodes = Nodes()
    nodes.put(100)
    nodes.put(1, first=100)
    assert (nodes.read(100), nodes.read(0)) == ("15", "0")
    nodes.put(1)
    assert nodes.read(0) == "15"


def test_a_node_that_says_something_else_is_put_right() -> None:
    nodes = Nodes()
    nodes.api.put("nodes", {"metadata": {"name": "n0", "annotations": {TTL_ANNOTATION: "7", "mine": "kept"}}})
    nodes.settle()
    tree = nodes.api.find("nodes", "", "n0")
    assert tree is not None and tree["metadata"]["annotations"] == {TTL_ANNOTATION: "0", "mine": "kept"}

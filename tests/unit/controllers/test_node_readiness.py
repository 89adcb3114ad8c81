from typing import Any

import orjson
import pytest

from apportion.base import VirtualClock
from apportion.client import MemoryTransport, Request
from apportion.controllers import NodeReadinessController

Tree = dict[str, Any]
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
MINE = {"key": "team", "value": "a", "effect": "NoSchedule"}


def node(status: str | None, *taints: Tree) -> Tree:
    conditions = [] if status is None else [{"type": "Ready", "status": status}]
    return {
        "metadata": {"name": "n", "uid": "u"},
        "spec": {"taints": list(taints)},
        "status": {"conditions": conditions},
    }


def taints(api: MemoryTransport) -> list[tuple[str, str]]:
    tree = api.find("nodes", "", "n")
    assert tree is not None
    return [(t["key"], t["effect"]) for t in tree["spec"].get("taints") or []]


def run(tree: Tree) -> tuple[MemoryTransport, NodeReadinessController, VirtualClock]:
    api, clock = MemoryTransport(), VirtualClock()
    controller = NodeReadinessController(api, clock)
    controller.start()
    api.put("nodes", tree)
    settle(api, controller)
    return api, controller, clock


def settle(api: MemoryTransport, controller: NodeReadinessController) -> None:
    while api.deliver() or controller.work():
        pass


def pair(key: str) -> list[tuple[str, str]]:
    return [(key, "NoSchedule"), (key, "NoExecute")]


@pytest.mark.parametrize(
    ("status", "before", "after"),
    [
        ("True", [{"key": NOT_READY, "effect": "NoSchedule"}], []),
        ("False", [], pair(NOT_READY)),
        ("False", [{"key": NOT_READY, "effect": "NoSchedule"}], pair(NOT_READY)),
        ("Unknown", [], pair(UNREACHABLE)),
        ("Unknown", [{"key": NOT_READY, "effect": "NoExecute"}], pair(UNREACHABLE)),
        (None, [{"key": NOT_READY, "effect": "NoSchedule"}], [(NOT_READY, "NoSchedule")]),
    ],
)
def test_the_taints_follow_the_ready_condition(
    status: str | None, before: list[Tree], after: list[tuple[str, str]]
) -> None:
    api, _, _ = run(node(status, MINE, *before))
    assert taints(api) == [("team", "NoSchedule"), *after]


def test_a_node_that_recovers_loses_the_taints() -> None:
    api, controller, _ = run(node("Unknown"))
    tree = api.find("nodes", "", "n")
    assert tree is not None
    tree["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    api.put("nodes", tree)
    settle(api, controller)
    assert taints(api) == []


def test_a_change_that_came_in_between_is_not_overwritten() -> None:
    api, clock = MemoryTransport(), VirtualClock()
    controller = NodeReadinessController(api, clock)
    controller.start()
    api.put("nodes", node("False"))
    api.deliver()
    # somebody else taints the node before the controller's patch arrives
    body = orjson.dumps({"spec": {"taints": [MINE]}})
    api.submit(Request("patch", "nodes", "", "n", body, content_type="application/merge-patch+json"), lambda _: None)
    assert controller.work()
    settle(api, controller)
    clock.advance_to(clock.now() + 10)
    settle(api, controller)
    assert taints(api) == [("team", "NoSchedule"), *pair(NOT_READY)]


def test_a_node_that_is_gone_costs_nothing() -> None:
    api, clock = MemoryTransport(), VirtualClock()
    controller = NodeReadinessController(api, clock)
    controller.start()
    api.put("nodes", node("False"))
    api.deliver()
    api.remove("nodes", "", "n")
    settle(api, controller)
    clock.advance_to(clock.now() + 10)
    settle(api, controller)
    assert api.find("nodes", "", "n") is None

import pytest

from apportion.sched.queue import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    FORCE_ACTIVATE,
    NODE,
    NODE_ADD,
    POD,
    TARGET_POD,
    UNSCHEDULED_POD,
    WILDCARD,
    ActionType,
    ClusterEvent,
)


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (ASSIGNED_POD_ADD, "AssignedPodAdd"),
        (ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT), "NodeUpdateNodeTaint"),
        (ClusterEvent(ASSIGNED_POD, ActionType.UPDATE_POD_OTHER), "AssignedPodUpdate"),
        (ClusterEvent(NODE, ActionType.UPDATE), "NodeUpdate"),
        (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE), "NodeAdd|Update"),
        (ClusterEvent(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL), "NodeAdd|UpdateNodeLabel"),
        (ClusterEvent(NODE, ActionType.ALL), "NodeAll"),
        (FORCE_ACTIVATE, "ForceActivate"),
    ],
)
def test_label(event: ClusterEvent, label: str) -> None:
    assert event.label == label


@pytest.mark.parametrize("incoming", [ASSIGNED_POD, UNSCHEDULED_POD, TARGET_POD])
def test_pod_stands_for_all_kinds_of_pods(incoming: str) -> None:
    assert ClusterEvent(POD, ActionType.UPDATE).matches(ClusterEvent(incoming, ActionType.UPDATE_POD_LABEL))


@pytest.mark.parametrize(
    ("registered", "incoming"),
    [
        (ClusterEvent(ASSIGNED_POD, ActionType.ADD), ClusterEvent(TARGET_POD, ActionType.ADD)),
        (ClusterEvent(NODE, ActionType.ADD), ClusterEvent(NODE, ActionType.DELETE)),
        (ClusterEvent(POD, ActionType.ALL), NODE_ADD),
        (ClusterEvent(POD, ActionType.UPDATE_POD_LABEL), ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_OTHER)),
    ],
)
def test_no_match(registered: ClusterEvent, incoming: ClusterEvent) -> None:
    assert not registered.matches(incoming)


def test_a_plugin_may_register_for_every_kind() -> None:
    assert ClusterEvent(WILDCARD, ActionType.ADD).matches(NODE_ADD)
    assert not ClusterEvent(WILDCARD, ActionType.ADD).is_wildcard


def test_equal_events_are_one_key() -> None:
    assert {NODE_ADD: 1}[ClusterEvent("Node", ActionType.ADD)] == 1


def test_update_has_every_bit_but_add_and_delete() -> None:
    assert ActionType.UPDATE | ActionType.ADD | ActionType.DELETE == ActionType.ALL
    assert not ActionType.UPDATE & (ActionType.ADD | ActionType.DELETE)

"""Partial objects against whole ones."""

from typing import Any

import pytest

from apportion.server import Shape
from apportion.sim.play.matching import compare
from apportion.sim.play.world import find_resource

POD = find_resource("Pod", "").shape


def shown(expected: Any, found: Any, shape: Shape | None = None) -> list[str]:
    return [str(d) for d in compare(expected, found, shape)]


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ({}, {"a": 1}),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}),
        ({"a": None}, {"b": 1}),
        ({"a": None}, {"a": None}),
        ({"a": []}, {}),
        ({"a": [1, 2]}, {"a": [1, 2]}),
        ({"a": {"contains": "b"}}, {"a": "abc"}),
        ({"a": 1}, {"a": 1.0}),
    ],
)
def test_what_matches(expected: Any, found: Any) -> None:
    assert shown(expected, found) == []


@pytest.mark.parametrize(
    ("expected", "found", "difference"),
    [
        ({"a": 1}, {"a": 2}, "a: expected 1, found 2"),
        ({"a": 1}, {"a": "1"}, 'a: expected 1, found "1"'),
        ({"a": True}, {"a": 1}, "a: expected true, found 1"),
        ({"a": {"b": 1}}, {}, 'a: expected {"b":1}, found absent'),
        ({"a": {}}, {}, "a: expected {}, found absent"),
        ({"a": None}, {"a": 0}, "a: expected absent, found 0"),
        ({"a": [1]}, {"a": [1, 2]}, "a: expected [1], found [1,2]"),
        ({"a": [1, 3]}, {"a": [1, 2]}, "a[1]: expected 3, found 2"),
        ({"a": []}, {"a": [1]}, "a: expected [], found [1]"),
        ({"a": {"contains": "x"}}, {"a": "abc"}, 'a: expected {"contains":"x"}, found "abc"'),
        ({"a": {"contains": "x"}}, {}, 'a: expected {"contains":"x"}, found absent'),
        ({"a": {"b": 1}}, {"a": "text"}, 'a: expected {"b":1}, found "text"'),
    ],
)
def test_what_differs(expected: Any, found: Any, difference: str) -> None:
    assert shown(expected, found) == [difference]


def test_lists_match_by_their_merge_key_whatever_the_order() -> None:
    conditions = [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]
    pod = {"status": {"conditions": conditions}}
    assert shown({"status": {"conditions": [{"type": "PodScheduled", "status": "True"}]}}, pod, POD) == []
    wanted = {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}
    path = "status.conditions[type=PodScheduled].status"
    assert shown(wanted, pod, POD) == [f'{path}: expected "False", found "True"']
    missing = {"status": {"conditions": [{"type": "Other"}]}}
    assert shown(missing, pod, POD) == ['status.conditions[type=Other]: expected {"type":"Other"}, found absent']


def test_without_the_merge_key_lists_match_by_position_and_length() -> None:
    pod = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    assert shown({"status": {"conditions": [{"status": "True"}]}}, pod, POD) == []
    assert shown({"status": {"conditions": [{"status": "True"}, {"status": "True"}]}}, pod, POD)


def test_quantities_match_by_value() -> None:
    def pod(cpu: Any) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}}

    assert shown(pod(1), pod("1"), POD) == []
    assert shown(pod("1000m"), pod("1"), POD) == []
    assert shown(pod("2"), pod("1"), POD)

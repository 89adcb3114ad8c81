"""Patches against their specifications and against the limits."""

import copy
from typing import Any

import pytest

from apportion.server.patches import (
    JsonPatchError,
    StrategicMergeError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_merge,
)
from apportion.server.schema import find_shape


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [  # RFC 7386, appendix A
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ({"a": "foo"}, "bar", "bar"),
    ],
)
def test_merge_patch(target: Any, patch: Any, result: Any) -> None:
    before = copy.deepcopy(target)
    assert apply_merge_patch(target, patch) == result
    assert target == before


@pytest.mark.parametrize(
    ("target", "operations", "result"),
    [
        ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}], {"b": 2}),
        (
            {"a/b": 1, "c~d": 2},
            [{"op": "remove", "path": "/a~1b"}, {"op": "test", "path": "/c~0d", "value": 2}],
            {"c~d": 2},
        ),
        ({"a": {"b": 1}}, [{"op": "move", "from": "/a/b", "path": "/c"}], {"a": {}, "c": 1}),
        ({"a": [1, 2]}, [{"op": "copy", "from": "/a/0", "path": "/a/2"}], {"a": [1, 2, 1]}),
    ],
)
def test_json_patch(target: Any, operations: list[Any], result: Any) -> None:
    before = copy.deepcopy(target)
    assert apply_json_patch(target, operations) == result
    assert target == before


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/b"},
        {"op": "replace", "path": "/b", "value": 1},
        {"op": "add", "path": "/b/c", "value": 1},
        {"op": "add", "path": "/a/3", "value": 1},
        {"op": "remove", "path": "/a/01"},
        {"op": "test", "path": "/a/0", "value": True},
        {"op": "move", "from": "/a", "path": "/a/0"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/b"},
        {"path": "/b"},
        "nonsense",
    ],
)
def test_json_patch_refuses(operation: Any) -> None:
    with pytest.raises(JsonPatchError):
        apply_json_patch({"a": [1, 2]}, [operation])


def test_json_patch_is_bounded() -> None:
    with pytest.raises(JsonPatchError, match="at most"):
        apply_json_patch({}, [{"op": "remove", "path": "/a"}] * 10_001)
    grow = [{"op": "add", "path": "/a", "value": "x" * 1000}, *[{"op": "copy", "from": "", "path": "/b"}] * 100]
    with pytest.raises(JsonPatchError, match="too large"):
        apply_json_patch({}, grow)


def merge_pod(target: Any, patch: Any) -> Any:
    shape = find_shape("v1", "Pod")
    assert shape is not None
    return apply_strategic_merge(target, patch, shape)


def test_untouched_items_with_one_key_survive() -> None:
    ports = [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
    pod = {"spec": {"containers": [{"name": "c", "ports": ports}]}}
    merged = merge_pod(pod, {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}})
    assert merged["spec"]["containers"][0]["ports"] == [{"containerPort": 80}, *ports]


def test_a_deleted_item_that_is_not_there_is_no_error() -> None:
    assert merge_pod({}, {"spec": {"volumes": [{"name": "v", "$patch": "delete"}]}}) == {"spec": {"volumes": []}}


def test_primitive_lists_can_lose_items() -> None:
    pod = {"metadata": {"finalizers": ["a/x", "b/x"]}}
    assert merge_pod(pod, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"]}}) == {
        "metadata": {"finalizers": ["b/x"]}
    }


def test_an_unknown_directive_is_refused() -> None:
    with pytest.raises(StrategicMergeError, match="Unknown patch type"):
        merge_pod({}, {"spec": {"$patch": "explode"}})

"""Whether what a pod asks for as a whole covers what its devices take of the node."""

from typing import Any

import msgspec
import pytest

from apportion.api.core import NodeAllocatableClaim, PodSpec
from apportion.api.node_allocatable import find_uncovered

CLAIM = {
    "resourceClaimName": "c",
    "containers": ["main"],
    "mapping": [{"name": "cpu", "quantity": "1"}],
    "overhead": [
        {"name": "cpu", "perPod": "500m", "perContainer": "250m"},
        {"name": "hugepages-2Mi", "perPod": "2Mi"},
    ],
}
REQUEST = (
    "pod level request for cpu is insufficient to cover the aggregated container and node-allocatable DRA requests"
)
LIMIT = "pod level limit for {} is insufficient to cover the {}"
HUGE = LIMIT.format("hugepages-2Mi", "aggregated container and node-allocatable DRA limits")
MAIN = LIMIT.format("cpu", "limit and DRA overhead for container main")


def find(whole: dict[str, Any] | None, **container: Any) -> str | None:
    tree: dict[str, Any] = {"containers": [{"name": "main", "resources": container}, {"name": "other"}]}
    if whole is not None:
        tree["resources"] = whole
    return find_uncovered(msgspec.convert(tree, PodSpec), [msgspec.convert(CLAIM, NodeAllocatableClaim)])


@pytest.mark.parametrize(
    ("whole", "container", "wanted"),
    [
        (None, {"requests": {"cpu": "9"}}, None),
        ({}, {"requests": {"cpu": "9"}}, None),
        # 1 + 1.75 of the claim
        ({"requests": {"cpu": "2750m"}}, {"requests": {"cpu": "1"}}, None),
        ({"requests": {"cpu": "2749m"}}, {"requests": {"cpu": "1"}}, REQUEST),
        ({"requests": {"cpu": "1749m"}}, {}, REQUEST),
        ({"requests": {"memory": "1Gi"}}, {"requests": {"cpu": "9", "memory": "1Gi"}}, None),
        # a container has what its claim gives, not what the pod pays beside
        ({"limits": {"cpu": "2250m"}}, {"limits": {"cpu": "1"}}, None),
        ({"limits": {"cpu": "2249m"}}, {"limits": {"cpu": "1"}}, MAIN),
        ({"limits": {"cpu": "1"}}, {}, None),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, {"limits": {"hugepages-2Mi": "2Mi"}}, None),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, {"limits": {"hugepages-2Mi": "4Mi"}}, HUGE),
    ],
)
def test_the_whole_covers_the_parts(
    whole: dict[str, Any] | None, container: dict[str, Any], wanted: str | None
) -> None:
    assert find(whole, **container) == wanted


def test_without_devices_nothing_is_to_be_covered() -> None:
    spec = msgspec.convert({"containers": [{"name": "main"}], "resources": {"requests": {"cpu": "1"}}}, PodSpec)
    assert find_uncovered(spec, []) is None

from typing import Any

import msgspec
import pytest

from apportion.api.core import PodSpec
from apportion.api.extended_resources import is_extended_name, list_requests

GPU, NIC = "example.com/gpu", "example.com/nic"


def container(name: str, restart: str = "", **requests: str) -> dict[str, Any]:
    tree = {
        "name": name,
        "resources": {"requests": {k.replace("__", "/").replace("_", "."): v for k, v in requests.items()}},
    }
    return {**tree, "restartPolicy": restart} if restart else tree


def read(containers: list[dict[str, Any]], inits: list[dict[str, Any]] | None = None) -> PodSpec:
    return msgspec.convert({"containers": containers, "initContainers": inits or []}, PodSpec)


def answers(spec: PodSpec, *classes: tuple[str, str]) -> tuple[dict[str, tuple[str, int]], list[tuple[str, str]]]:
    """Return class and count by request, and (container, request) in order."""
    found = list_requests(spec, classes)
    requests = {r.name: r.exactly for r in found.spec.devices.requests}
    counted = {n: (e.device_class_name, e.count) for n, e in requests.items() if e is not None}
    return counted, [(m.container, m.request) for m in found.mappings]


@pytest.mark.parametrize(
    ("name", "is_extended"),
    [
        ("cpu", False),
        ("example.com/gpu", True),
        ("kubernetes.io/gpu", False),
        ("storage.kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        ("deviceclass.resource.kubernetes.io/gpu", True),
    ],
)
def test_which_names_count(name: str, is_extended: bool) -> None:
    assert is_extended_name(name) is is_extended


def test_each_container_has_a_request_numbered_among_all_that_it_asks_for() -> None:
    spec = read(
        [container("a", cpu="1", example_com__gpu="2"), container("b", example_com__gpu="1", example_com__nic="1")]
    )
    requests, mappings = answers(spec, (NIC, "nics"), (GPU, "gpus"))
    assert requests == {
        "container-0-request-1": ("gpus", 2),
        "container-1-request-0": ("gpus", 1),
        "container-1-request-1": ("nics", 1),
    }
    assert mappings == [("a", "container-0-request-1"), ("b", "container-1-request-0"), ("b", "container-1-request-1")]


def test_an_init_container_uses_what_later_containers_get() -> None:
    spec = read([container("main", example_com__gpu="2")], [container("init", example_com__gpu="3")])
    requests, mappings = answers(spec, (GPU, "gpus"))
    assert requests == {"container-1-request-0": ("gpus", 2), "container-0-request-0": ("gpus", 1)}
    assert mappings == [
        ("main", "container-1-request-0"),
        ("init", "container-1-request-0"),
        ("init", "container-0-request-0"),
    ]


def test_what_init_containers_lack_is_asked_for_once() -> None:
    inits = [
        container("i0", example_com__gpu="2"),
        container("i1", example_com__gpu="4"),
        container("i2", example_com__gpu="4"),
    ]
    requests, mappings = answers(read([container("main")], inits), (GPU, "gpus"))
    assert requests == {"container-1-request-0": ("gpus", 4)}
    assert mappings == [(name, "container-1-request-0") for name in ("i0", "i1", "i2")]


def test_a_sidecar_lasts_and_serves_only_init_containers_before_it() -> None:
    inits = [
        container("before", example_com__gpu="1"),
        container("sidecar", restart="Always", example_com__gpu="1"),
        container("after", example_com__gpu="1"),
    ]
    requests, mappings = answers(read([container("main")], inits), (GPU, "gpus"))
    assert requests == {"container-1-request-0": ("gpus", 1), "container-2-request-0": ("gpus", 1)}
    assert dict(mappings) == {
        "sidecar": "container-1-request-0",
        "before": "container-1-request-0",
        "after": "container-2-request-0",
    }


def test_parts_and_nothing_are_left_out() -> None:
    assert answers(
        read([container("a", example_com__gpu="0"), container("b", example_com__gpu="500m")]), (GPU, "c")
    ) == ({}, [])

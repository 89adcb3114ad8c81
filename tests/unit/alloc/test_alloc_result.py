"""The AllocationResult: device results, merged configuration, node selector."""

import json
from typing import Any

import msgspec
import pytest

from unit.alloc.alloc_worlds import (
    Tree,
    World,
    ask,
    claim_tree,
    class_tree,
    device,
    first_of,
    request,
    slice_tree,
)


def _opaque(name: str) -> Tree:
    return {"opaque": {"driver": "d.example.com", "parameters": {"from": name}}}


def _configs(world: World, claim: Tree) -> list[tuple[str, str, list[str]]]:
    """(source, origin, requests) of each configuration entry."""
    (result,) = world.allocate(claim)
    entries = json.loads(msgspec.json.encode(result.devices.config))
    return [(c["source"], c["opaque"]["parameters"]["from"], c.get("requests", [])) for c in entries]


def _world() -> World:
    classes = [class_tree("a", config=[_opaque("a")]), class_tree("b", config=[_opaque("b")])]
    return World(slice_tree(*(device(f"d{i}") for i in range(4))), classes=classes)


def test_class_configuration_names_the_requests_of_the_class() -> None:
    requests = [request("r0", ask("a")), request("r1", ask("b")), request("r2", ask("a"))]
    assert _configs(_world(), claim_tree("c", *requests)) == [
        ("FromClass", "a", ["r0", "r2"]),
        ("FromClass", "b", ["r1"]),
    ]


def test_configuration_for_every_request_names_none() -> None:
    claim = claim_tree("c", request("r0", ask("a")), config=[{"requests": ["r0"], **_opaque("claim")}])
    assert _configs(_world(), claim) == [("FromClass", "a", []), ("FromClaim", "claim", [])]


def test_only_the_configuration_of_the_chosen_alternative_is_kept() -> None:
    config = [{"requests": [f"r0/s{i}"], **_opaque(f"s{i}")} for i in range(2)]
    config.append({"requests": ["r0/s0", "r0/s1"], **_opaque("both")})
    alternatives = first_of("r0", ask("a", 9), ask("b", 1))
    claim = claim_tree("c", alternatives, request("r1", ask()), config=config)
    assert _configs(_world(), claim) == [
        ("FromClass", "b", ["r0/s1"]),
        ("FromClaim", "s1", ["r0/s1"]),
        ("FromClaim", "both", ["r0/s0", "r0/s1"]),
    ]


def test_a_device_result_carries_what_the_node_needs() -> None:
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    toleration = {"key": "k", "operator": "Exists"}
    tree = slice_tree(device("d0", **conditions), skipNodeOperations=["*"])
    world = World(tree, optional_node_operations=True)
    (result,) = world.allocate(claim_tree("c", request("r", ask(adminAccess=True, tolerations=[toleration]))))
    assert json.loads(msgspec.json.encode(result.devices.results)) == [
        {
            "request": "r",
            "driver": "d.example.com",
            "pool": "n1",
            "device": "d0",
            "adminAccess": True,
            "tolerations": [toleration],
            "skipNodeOperations": ["*"],
            **conditions,
        }
    ]


def test_binding_conditions_need_their_gate() -> None:
    tree = device("d0", bindingConditions=["ready"], bindingFailureConditions=["failed"])
    claim = claim_tree("c", request("r", ask()))
    assert World(slice_tree(tree)).fits(claim)
    assert not World(slice_tree(tree), binding_conditions=False).fits(claim)


def test_skipped_node_operations_need_their_gate() -> None:
    world = World(slice_tree(device("d0"), skipNodeOperations=["*"]))
    assert not world.fits(claim_tree("c", request("r", ask())))


# ---- node selector ----------------------------------------------------------------------------------------


def _requirement(key: str, *values: str) -> Tree:
    return {"key": key, "operator": "In", "values": list(values)}


def _selector(*expressions: Tree, fields: list[Tree] | None = None) -> Tree:
    term: Tree = {"matchExpressions": list(expressions)} if expressions else {}
    return {"nodeSelectorTerms": [{**term, **({"matchFields": fields} if fields else {})}]}


PINNED = _selector(fields=[_requirement("metadata.name", "n1")])
REGION, ZONE = _requirement("region", "r1"), _requirement("zone", "z1", "z2")


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([{"nodeName": "n1"}], PINNED),
        ([{"allNodes": True}], None),
        ([{"allNodes": True, "bindsToNode": True}], PINNED),
        ([{"allNodes": True, "bindsToNode": False}], None),
        ([{"nodeSelector": _selector(REGION)}, {"allNodes": True}], _selector(REGION)),
        ([{"nodeSelector": _selector(REGION)}, {"nodeSelector": _selector(ZONE, REGION)}], _selector(REGION, ZONE)),
        ([{"nodeSelector": _selector(REGION)}, {"nodeName": "n1"}], PINNED),
    ],
)
def test_node_selector_is_what_all_devices_have_in_common(places: list[Tree], expected: Any) -> None:
    devices = [device(f"d{i}", **place) for i, place in enumerate(places)]
    world = World(slice_tree(*devices, node=None, pool="p", perDeviceNodeSelection=True))
    world.table.set_node("n1", {"region": "r1", "zone": "z2"})
    (result,) = world.allocate(claim_tree("c", request("r", ask("any", len(places)))))
    selector = result.node_selector
    assert (json.loads(msgspec.json.encode(selector)) if selector else None) == expected

"""Attributes that a request derives: for constraints alone, hiding what the driver publishes."""

from typing import Any

import pytest

from unit.alloc.alloc_worlds import DRIVER, Tree, World, ask, claim_tree, device, request, slice_tree

SLOT = f"{DRIVER}/slot"
# devices on the boards 1 and 2, whose names start alike
BOARDS = [device(f"d{i}", attributes={"name": f"board{i // 2}-{i % 2}", "slot": i}) for i in range(4)]
BOARD = f'device.attributes["{DRIVER}"].name.split("-")[0]'


def deriving(expression: str, count: int = 2, name: str = SLOT, **more: Any) -> Tree:
    derived = [{"name": name, "expression": expression}]
    return claim_tree("c", request("r", ask("any", count, derivedAttributes=derived)), **{"match": ["slot"], **more})


def make(**features: bool) -> World:
    return World(slice_tree(*BOARDS), **{"derived_attributes": True, **features})


def test_devices_match_by_what_is_derived() -> None:
    world = make()
    assert world.take(deriving(BOARD)) == [["d0", "d1"]]
    world.hold("other", "d2")
    assert not world.fits({**deriving(BOARD), "metadata": {"name": "c2", "namespace": "default", "uid": "uid-c2"}})


def test_distinct_works_the_same_way() -> None:
    claim = deriving(BOARD, match=[], distinct=["slot"])
    assert make().devices(claim) == [["d0", "d2"]]
    assert not make().fits(deriving(BOARD, 3, match=[], distinct=["slot"]))


def test_selectors_still_see_what_the_driver_publishes() -> None:
    derived = [{"name": SLOT, "expression": "7"}]
    asked = ask("any", 1, f'device.attributes["{DRIVER}"].slot == 3', derivedAttributes=derived)
    assert make().devices(claim_tree("c", request("r", asked), match=["slot"])) == [["d3"]]


def test_each_request_derives_for_itself() -> None:
    one = ask("any", 1, derivedAttributes=[{"name": SLOT, "expression": "2"}])
    claim = claim_tree("c", request("r0", one), request("r1", ask("any", 1)), match=["slot"])
    assert make().devices(claim) == [["d0", "d2"]]


def test_nothing_is_derived_while_the_gate_is_off() -> None:
    assert not make(derived_attributes=False).fits(deriving(BOARD))


def test_a_derived_attribute_must_be_used() -> None:
    reason = make().judge(deriving(BOARD, name=f"{DRIVER}/other")).reason
    assert (
        reason == f"claim default/c, request r: derived attribute #0: no constraint of the request uses {DRIVER}/other"
    )


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (
            f'device.attributes["{DRIVER}"].gone',
            "derived attribute #0 on device d.example.com/n1/d0: CEL runtime error",
        ),
        ("device.capacity", "derived attribute #0: CEL compile error: must evaluate to bool, int, string or version"),
        ("[1, 2]", "derived attribute #0: CEL compile error"),
    ],
)
def test_what_cannot_be_derived_is_the_nodes_reason(expression: str, text: str) -> None:
    assert text in make().judge(deriving(expression)).reason


def test_lists_need_their_gate() -> None:
    world = make(list_type_attributes=True)
    assert world.devices(deriving(f'[device.attributes["{DRIVER}"].slot, 9]')) == [["d0", "d1"]]


def test_versions_compare_as_they_are_written() -> None:
    assert make().devices(deriving('semver("1.2.3")')) == [["d0", "d1"]]

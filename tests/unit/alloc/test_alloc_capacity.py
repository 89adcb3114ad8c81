"""Consumable capacity: rounding by request policies, sharing, and what is written into results."""

import msgspec
import pytest

from apportion.alloc.capacity import find_amounts
from apportion.alloc.features import Features
from apportion.alloc.signature import SignatureIndex
from apportion.api.resource import Device
from unit.alloc.alloc_worlds import Tree, World, ask, claim_tree, device, request, slice_tree

RANGE = {"default": "2", "validRange": {"min": "2", "max": "6", "step": "2"}}
VALUES = {"default": "1", "validValues": ["1", "3"]}
FRACTION = {"default": "500m", "validRange": {"min": "500m", "step": "250m"}}


def _amount(policy: Tree | None, asked: str | None, value: str = "10", **features: bool) -> str | None:
    chosen = Features(**features)
    capacity = {"value": value, **({"requestPolicy": policy} if policy else {})}
    tree = device("d", {"bw": capacity}, allowMultipleAllocations=True)
    signature = SignatureIndex(chosen).intern("d.example.com", msgspec.convert(tree, Device))
    amounts = find_amounts(signature, {"bw": asked} if asked else {}, chosen)
    return None if amounts is None else str(amounts[0])


@pytest.mark.parametrize(
    ("policy", "asked", "amount"),
    [
        (None, None, "10"),
        (None, "3", "3"),
        (None, "11", None),
        (RANGE, None, "2"),
        (RANGE, "1", "2"),
        (RANGE, "3", "4"),
        (RANGE, "4", "4"),
        (RANGE, "7", None),
        (VALUES, "2", "3"),
        (VALUES, "3", "3"),
        (VALUES, "4", None),
        ({"default": "0", "validValues": ["0"]}, None, "0"),
        ({"default": "0", "validValues": ["0"]}, "1", None),
        ({"default": "1Gi", "validRange": {"min": "1Gi"}}, None, None),  # more than the device has
        (FRACTION, "600m", "750m"),
        (FRACTION, "100m", "500m"),
    ],
)
def test_requests_are_rounded_by_the_policy(policy: Tree | None, asked: str | None, amount: str | None) -> None:
    assert _amount(policy, asked) == amount


def test_a_default_counts_by_amount_not_by_notation() -> None:
    policy = {"default": "1024Mi", "validValues": ["2Gi"]}
    assert _amount(policy, None, value="4Gi") == "1Gi"
    assert _amount({**policy, "validValues": ["1Gi"]}, "1073741824", value="4Gi") is not None


def test_whole_units_are_counted_with_the_fraction_gate_off() -> None:
    assert _amount(FRACTION, "600m", fractional_range=False) == "1"


def test_a_requested_capacity_must_exist() -> None:
    signature = SignatureIndex(Features()).intern("d.example.com", Device(name="d"))
    assert find_amounts(signature, {"bw": "1"}, Features()) is None


def test_shares_are_written_with_an_id_and_what_they_consume() -> None:
    shared = device("d0", {"bw": {"value": "10", "requestPolicy": RANGE}}, allowMultipleAllocations=True)
    world = World(slice_tree(shared))
    claims = [claim_tree(n, request("r", ask(capacity={"bw": "3"}))) for n in ("a", "b", "c")]
    results = [a.devices.results[0] for a in world.allocate(*claims[:2])]
    assert [r.consumed_capacity for r in results] == [{"bw": "4"}, {"bw": "4"}]
    assert len({r.share_id for r in results}) == 2
    assert not world.fits(*claims)


def test_without_capacity_sharing_has_no_limit() -> None:
    world = World(slice_tree(device("d0", allowMultipleAllocations=True)))
    claims = [claim_tree(f"c{i}", request("r", ask())) for i in range(5)]
    results = [a.devices.results[0] for a in world.allocate(*claims)]
    assert {r.device for r in results} == {"d0"}
    assert all(r.share_id and not r.consumed_capacity for r in results)


def test_one_request_does_not_get_a_shared_device_twice() -> None:
    world = World(slice_tree(device("d0", {"bw": "10"}, allowMultipleAllocations=True)))
    assert not world.fits(claim_tree("c", request("r", ask("any", 2, capacity={"bw": "1"}))))


def test_a_shared_device_held_as_a_whole_is_not_shared() -> None:
    world = World(slice_tree(device("d0", {"bw": "10"}, allowMultipleAllocations=True)))
    world.hold("h", "d0")
    assert not world.fits(claim_tree("c", request("r", ask(capacity={"bw": "1"}))))


def test_all_leaves_out_devices_that_can_never_serve_the_request() -> None:
    devices = [device("none"), device("small", {"bw": "1"}), device("large", {"bw": "9"})]
    world = World(slice_tree(*devices))
    assert world.devices(claim_tree("c", request("r", ask("any", "All", capacity={"bw": "5"})))) == [["large"]]

"""Explanations: the counts per request and the one sentence."""

import pytest

from unit.alloc.alloc_worlds import (
    DRIVER,
    Tree,
    World,
    ask,
    claim_tree,
    counter_set,
    device,
    draws,
    request,
    slice_tree,
)

MODEL = f'device.attributes["{DRIVER}"].model'


def _gpu(*args: object, **fields: object) -> Tree:
    return claim_tree("c", request("gpu", ask(*args, **fields)))  # type: ignore[arg-type]


def _eight(**fields: object) -> World:
    return World(slice_tree(*(device(f"gpu-{i}", **fields) for i in range(8))))


@pytest.mark.parametrize(
    ("held", "claim", "detail"),
    [
        (8, _gpu(), "request gpu: 8 devices match, all 8 are taken"),
        (7, _gpu("any", 2), "request gpu: 8 devices match, 7 are taken, 1 free, 2 wanted"),
        (1, _gpu("any", "All"), "request gpu: 8 devices match, 1 is taken"),
        (0, _gpu("any", 1, "false"), "request gpu: none of 8 devices matches class any and the selectors"),
        (0, _gpu(), "all claims can be allocated"),
        (8, _gpu("any", 1, adminAccess=True), "all claims can be allocated"),
    ],
)
def test_the_sentence_counts_devices(held: int, claim: Tree, detail: str) -> None:
    world = _eight()
    world.hold("h", *(f"gpu-{i}" for i in range(held)))
    assert world.explain(claim).detail == detail


def test_counts_are_kept_apart() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    devices = [device("a"), device("b"), device("c", taints=[taint]), device("d", attributes={"model": "x"})]
    world = World(slice_tree(*devices))
    world.hold("h", "b")
    explanation = world.explain(_gpu("any", 2, f"!has({MODEL})"))
    (found,) = explanation.claims[0].requests
    assert (found.wanted, found.seen, found.matching) == (2, 4, 3)
    assert (found.taken, found.tainted, found.free) == (1, 1, 1)
    assert explanation.detail == "request gpu: 3 devices match, 1 is taken, 1 is tainted, 1 free, 2 wanted"


def test_a_node_without_devices_says_so() -> None:
    assert World().explain(_gpu()).detail == "no driver publishes devices for this node"


def test_a_pool_that_is_not_complete_is_named() -> None:
    explanation = World(slice_tree(device("d0"), count=2)).explain(_gpu())
    assert explanation.detail == "request gpu: no usable device is published for this node"
    assert [(p.pool, p.state) for p in explanation.pools] == [("n1", "incomplete")]


def test_the_unmet_constraint_is_found_with_its_values() -> None:
    devices = [device("d0", attributes={"numa": 0, "slot": 1}), device("d1", attributes={"slot": 1})]
    world = World(slice_tree(*devices))
    explanation = world.explain(claim_tree("c", request("r", ask("any", 2)), match=["slot", "numa"]))
    (unmet,) = explanation.claims[0].unmet_constraints
    assert (unmet.index, unmet.kind, unmet.attribute) == (1, "matchAttribute", f"{DRIVER}/numa")
    assert unmet.values == ("0 on 1", "absent on 1")
    assert explanation.detail == (
        f"too few free devices share one value of {DRIVER}/numa (constraint #1, matchAttribute): 0 on 1, absent on 1"
    )


def test_exhausted_counters_are_told_from_exhausted_capacity() -> None:
    part = device("d0", {"bw": "4"}, allowMultipleAllocations=True)
    world = World(slice_tree(part))
    world.hold("h", "d0", shareID="00000000-0000-0000-0000-000000000001", consumedCapacity={"bw": "3"})
    assert world.explain(_gpu(capacity={"bw": "2"})).claims[0].exhausted == ("shared capacity",)

    devices = [device(n, consumesCounters=draws(m="2")) for n in ("x", "y")]
    counters = slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="3")])
    world = World(slice_tree(*devices, count=2), counters)
    explanation = world.explain(_gpu("any", 2))
    assert explanation.claims[0].exhausted == ("shared counters",)
    assert explanation.detail == (
        "request gpu: 2 devices match and are free, but not together; shared counters cannot supply them"
    )


def test_claims_that_fit_one_by_one_only() -> None:
    world = World(slice_tree(device("d0")))
    explanation = world.explain(*(claim_tree(n, request("r", ask())) for n in "ab"))
    assert [c.fits_alone for c in explanation.claims] == [True, True]
    assert explanation.detail == "the claims fit one by one, but not together: their devices run out"


def test_a_missing_class_is_the_whole_explanation() -> None:
    explanation = _eight().explain(_gpu("gone"))
    assert explanation.claims == ()
    assert explanation.detail == "claim default/c, request gpu: could not retrieve device class gone"

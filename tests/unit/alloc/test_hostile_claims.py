"""Claims made to be expensive. Steps are counted, never time: a thousandth of a second is some 400 of them."""

from typing import Any

import pytest
from alloc_worlds import (
    DRIVER,
    Tree,
    World,
    ask,
    claim_tree,
    counter_set,
    device,
    draws,
    first_of,
    request,
    slice_tree,
)

from apportion.alloc import supply
from apportion.alloc.demand import EFFORT_MAX
from apportion.alloc.search import STEPS_MAX, Outcome, Search
from apportion.alloc.share_supply import ShareSupply

CHEAP = 8000


def of_kind(k: int) -> str:
    return f'device.attributes["{DRIVER}"].k == {k}'


def search(world: World, claim: Tree, steps_max: int = STEPS_MAX) -> tuple[Outcome, int]:
    """Return the outcome and what it cost."""
    problem = world.prepare(claim)
    pools = [problem.prepared.lineups.get_input(v.state) for v in world.table.get_pools_at("n1")]
    found = Search(problem.prepared.plan, pools, world.table.features, steps_max)
    return found.run(), found.work


def kinds(sizes: list[int], left: str = "100", **more: Any) -> World:
    """Devices of several kinds that draw one of a counter each."""
    devices = [
        device(f"k{k}-{i}", attributes={"k": k}, consumesCounters=draws(m="1"), **more)
        for k, size in enumerate(sizes)
        for i in range(size)
    ]
    counters = slice_tree(name="counters", count=2, sharedCounters=[counter_set(m=left)])
    return World(slice_tree(*devices, count=2), counters)


def shared(count: int, bw_milli: int = 1000) -> World:
    """Shared devices, no two with the same bandwidth."""
    devices = [
        device(f"d{i:02}", {"bw": f"{bw_milli + i}m"}, allowMultipleAllocations=True) for i in range(count)
    ]  # fmt: skip
    return World(slice_tree(*devices))


def lists(*alternatives: Tree, count: int) -> Tree:
    return claim_tree("c", *(first_of(f"r{i}", *alternatives) for i in range(count)))


def taking(*amounts: str) -> Tree:
    return claim_tree("c", *(request(f"r{i}", ask("any", 1, capacity={"bw": a})) for i, a in enumerate(amounts)))


ALIKE = [ask("any", 4, of_kind(k)) for k in range(7)]
ALL = [ask("any", "All", of_kind(k)) for k in range(7)]
LISTED = [device(f"d{i:02}", attributes={"a": [i % 16, 16], "b": [i // 16, 16]}) for i in range(64)]


@pytest.mark.parametrize(
    ("world", "claim", "work_max"),
    [
        pytest.param(
            World(slice_tree(*(device(f"d{i}") for i in range(31)))),
            lists(ask("any", 32), ask("any", 20), ask("any", 4), count=8), 0, id="lists-of-large-counts",
        ),
        pytest.param(kinds([7] * 7), lists(*ALIKE, count=8), CHEAP, id="eight-lists-over-seven-kinds"),
        pytest.param(kinds([1, 5, 5, 5, 5, 5, 5]), lists(*ALL, count=8), CHEAP, id="all-of-seven-kinds-eight-times"),
        pytest.param(kinds([1, 5, 5, 5, 5, 5, 5], "20"), lists(*ALL, count=7), CHEAP, id="all-beyond-the-counters"),
        pytest.param(
            World(slice_tree(*LISTED), list_type_attributes=True),
            claim_tree("c", *(request(f"r{i}", ask()) for i in range(8)), distinct=["a", "b"]), CHEAP,
            id="lists-that-overlap",
        ),
        pytest.param(
            World(slice_tree(*(device(f"d{i:02}", attributes={"a": i % 7, "b": i // 7}) for i in range(49)))),
            claim_tree("c", *(request(f"r{i}", ask()) for i in range(6)), match=["a", "b"]), 0,
            id="two-values-in-common",
        ),
        pytest.param(
            World(
                slice_tree(*(device(f"d{i:02}", attributes={"a": [i % 7, 7], "b": [i // 7, 8]}) for i in range(48))),
                list_type_attributes=True,
            ),
            claim_tree("c", *(request(f"r{i}", ask()) for i in range(6)), match=["a", "b"], distinct=["a"]), CHEAP,
            id="lists-in-common-and-apart",
        ),
        pytest.param(shared(31), taking(*["600m"] * 32), 0, id="one-share-each-and-one-more"),
        pytest.param(shared(10), taking(*["450m"] * 21), 0, id="two-shares-each-and-one-more"),
        pytest.param(
            shared(8),
            claim_tree("c", *(request(f"r{i}", ask("any", 3, capacity={"bw": "600m"})) for i in range(3))), 0,
            id="requests-for-several-shares",
        ),
    ],
)  # fmt: skip
def test_it_is_refused_cheaply(world: World, claim: Tree, work_max: int) -> None:
    outcome, work = search(world, claim)
    assert outcome.picks is None and outcome.rejection is None
    assert work <= work_max


@pytest.mark.parametrize(
    ("world", "claim"),
    [
        pytest.param(shared(10), taking(*(f"{260 + 37 * i % 220}m" for i in range(30))), id="packing"),
        pytest.param(
            World(
                slice_tree(
                    *(
                        device(f"d{i}", consumesCounters=draws(m=str(50 + 31 * i % 47), n=str(50 + 17 * i % 47)))
                        for i in range(60)
                    ),
                    count=2,
                ),
                slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="900", n="900")]),
            ),
            claim_tree("c", *(request(f"r{i}", ask()) for i in range(17))),
            id="two-counters",
        ),
    ],
)
def test_what_cannot_be_refused_cheaply_is_stopped(world: World, claim: Tree) -> None:
    outcome, work = search(world, claim)
    assert outcome.rejection is not None
    assert outcome.rejection.describe([], []).startswith("search limit")
    # one level may refuse each of the devices before the limit is looked at again
    assert STEPS_MAX <= work <= STEPS_MAX + 128


def test_devices_that_a_check_refuses_cost_work() -> None:
    outcome, work = search(shared(64), taking("700m", "700m", *["2"] * 1), steps_max=50)
    assert outcome.picks is None and work <= 50 + 64


def test_counting_for_many_constraints_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty-two constraints over lists of many values: counting is to save work, not to make it."""
    deals = [0]
    original = supply._deal_one

    def deal_one(*args: Any) -> bool:
        deals[0] += 1
        return original(*args)

    monkeypatch.setattr(supply, "_deal_one", deal_one)
    devices = [device(f"d{i:02}", attributes={"a": list(range(i % 5, i % 5 + 44)), "k": i}) for i in range(64)]
    world = World(slice_tree(*devices), list_type_attributes=True)
    requests = [request(f"r{i}", ask("any", 1, f'device.attributes["{DRIVER}"].k % {i + 2} != 0')) for i in range(32)]
    others = [("a", [f"r{i}" for i in range(32) if i != j]) for j in range(32)]
    outcome, _ = search(world, claim_tree("c", *requests, match=others))
    assert outcome.picks is not None and deals[0] < EFFORT_MAX


def test_no_hash_decides_in_which_order_values_are_counted() -> None:
    names = [f"v{i:02}" for i in range(40)]
    world = World(slice_tree(device("d", attributes={"a": names[::-1]})), list_type_attributes=True)
    problem = world.prepare(claim_tree("c", request("r1", ask()), request("r2", ask()), match=["a"]))
    (pool,) = [problem.prepared.lineups.get_input(v.state) for v in world.table.get_pools_at("n1")]
    (alternative, _) = problem.prepared.plan.alternatives
    assert list(pool.lineup.get_masks_by_value(alternative.id, 0)) == [("string", name) for name in names]


# ---- counting shares --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "claim"),
    [
        pytest.param(shared(1), taking("500m", "300m", "200m"), id="three-sizes"),
        pytest.param(shared(2), taking("1", "1"), id="whole-devices"),
        pytest.param(
            World(slice_tree(device("d", allowMultipleAllocations=True))),
            claim_tree("c", *(request(f"r{i}", ask()) for i in range(32))), id="no-capacity",
        ),
        pytest.param(
            World(slice_tree(device("d", {"a": "2", "b": "10"}, allowMultipleAllocations=True))),
            claim_tree(
                "c", request("r", ask("any", 1, capacity={"a": "1", "b": "1"})),
                request("s", ask("any", 1, capacity={"a": "1", "b": "9"})),
            ),
            id="two-capacities",
        ),
        pytest.param(
            World(slice_tree(device("d", {"a": "2"}, allowMultipleAllocations=True), device("e"))),
            claim_tree("c", *(request(f"r{i}", ask("any", 1)) for i in range(2))), id="beside-an-exclusive-device",
        ),
    ],
)  # fmt: skip
def test_counting_shares_refuses_nothing_that_is_possible(world: World, claim: Tree) -> None:
    assert search(world, claim)[0].picks is not None


def test_what_others_have_of_a_device_is_no_place_for_shares() -> None:
    world = shared(1)
    world.hold("other", "d00", shareID="11111111-1111-4111-8111-111111111111", consumedCapacity={"bw": "500m"})
    assert search(world, taking("500m"))[0].picks is not None
    assert search(world, taking("501m"))[0].picks is None
    outcome, work = search(world, taking("300m", "300m"))
    assert outcome.picks is None and work == 0


def test_places_are_spread_by_what_a_share_takes() -> None:
    world = shared(2)
    problem = world.prepare(taking("400m", "700m"))
    pools = [problem.prepared.lineups.get_input(v.state) for v in world.table.get_pools_at("n1")]
    shares = ShareSupply(pools)
    small, large = (r.alternatives for r in problem.prepared.plan.requests)
    assert shares.spread(0, 0b11, small) == 0b1111
    assert shares.spread(0, 0b11, large) == 0b0011

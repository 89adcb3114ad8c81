"""What the search decides, feature by feature."""

import pytest

from apportion.alloc.search import Search
from apportion.alloc.supply import has_enough
from apportion.base import InvariantError
from unit.alloc.alloc_worlds import (
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

MULTI = {"allowMultipleAllocations": True}
SHARE = "00000000-0000-0000-0000-000000000001"


def _one(*args: object, **fields: object) -> Tree:
    return claim_tree("c", request("r", ask(*args, **fields)))  # type: ignore[arg-type]


# ---- exact, All, limits -----------------------------------------------------------------------------------


def test_requests_backtrack_over_devices() -> None:
    big = f'device.capacity["{DRIVER}"].mem.compareTo(quantity("2Gi")) >= 0'
    world = World(slice_tree(device("large", {"mem": "2Gi"}), device("small", {"mem": "1Gi"})))
    claim = claim_tree("c", request("any", ask()), request("large", ask("any", 1, big)))
    assert world.devices(claim) == [["small", "large"]]


def test_two_claims_are_allocated_together() -> None:
    world = World(slice_tree(device("d0"), device("d1")))
    claims = [claim_tree(n, request("r", ask())) for n in ("a", "b", "c")]
    assert world.devices(*claims[:2]) == [["d0"], ["d1"]]
    assert not world.fits(*claims)


def test_a_node_without_pools_cannot_allocate() -> None:
    answer = World().judge(_one())
    assert (answer.fits, answer.reason) == (False, "cannot allocate all claims")


def test_an_alternative_that_exceeds_the_limit_is_passed_over() -> None:
    world = World(slice_tree(*(device(f"d{i}") for i in range(40))))
    claim = claim_tree("c", first_of("r", ask("any", 20), ask("any", 2)), request("s", ask("any", 16)))
    (result,) = world.allocate(claim)
    assert len(result.devices.results) == 18


def test_an_error_of_a_selector_counts_only_when_first_fit_gets_there() -> None:
    model = f'device.attributes["{DRIVER}"].model == "a"'
    world = World(slice_tree(device("d0", attributes={"model": "a"}), device("d1")))
    assert world.devices(_one("any", 1, model)) == [["d0"]]
    assert "no such key: model" in world.judge(_one("any", 2, model)).reason
    world.hold("h", "d1")
    assert world.judge(_one("any", 2, model)).reason == "cannot allocate all claims"
    assert "no such key: model" in world.judge(_one("any", "All", model)).reason


def test_a_broken_expression_is_reported_once_a_device_is_tried() -> None:
    world = World(slice_tree(device("d0")))
    assert world.judge(_one("any", 1, "nonsense")).reason.startswith(
        "claim default/c: selector #0: CEL compile error: "
    )
    assert World().judge(_one("any", 1, "nonsense")).reason == "cannot allocate all claims"


# ---- constraints ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "fits"), [((1, 1), True), ((1, 2), False), ((1, "1"), False), ((True, 1), False), ((1, None), False)]
)
def test_match_attribute(values: tuple[object, object], fits: bool) -> None:
    devices = [device(f"d{i}", attributes={} if v is None else {"a": v}) for i, v in enumerate(values)]
    assert World(slice_tree(*devices)).fits(claim_tree("c", request("r", ask("any", 2)), match=["a"])) is fits


@pytest.mark.parametrize(("values", "fits"), [((1, 2, 3), True), ((1, 2, 1), False), ((1, "1", True), True)])
def test_distinct_attribute_compares_all_devices(values: tuple[object, ...], fits: bool) -> None:
    devices = [device(f"d{i}", attributes={"a": v}) for i, v in enumerate(values)]
    claim = claim_tree("c", request("r", ask("any", 3)), distinct=["a"])
    assert World(slice_tree(*devices)).fits(claim) is fits


@pytest.mark.parametrize(("kind", "fits"), [("match", False), ("distinct", False)])
def test_lists_are_not_understood_with_the_gate_off(kind: str, fits: bool) -> None:
    devices = [device("d0", attributes={"a": [1]}), device("d1", attributes={"a": [1]})]
    world = World(slice_tree(*devices))
    assert world.fits(claim_tree("c", request("r", ask("any", 1)), **{kind: ["a"]}))
    assert world.fits(claim_tree("c", request("r", ask("any", 2)), **{kind: ["a"]})) is fits


@pytest.mark.parametrize(
    ("lists", "match", "distinct"),
    [
        (([1, 2], [2, 3]), True, False),
        (([1], [2]), False, True),
        ((1, [1, 2]), True, False),
        ((["1"], [1]), False, True),
    ],
)
def test_list_attributes(lists: tuple[object, object], match: bool, distinct: bool) -> None:
    devices = [device(f"d{i}", attributes={"a": v}) for i, v in enumerate(lists)]
    world = World(slice_tree(*devices), list_type_attributes=True)
    assert world.fits(claim_tree("c", request("r", ask("any", 2)), match=["a"])) is match
    assert world.fits(claim_tree("c", request("r", ask("any", 2)), distinct=["a"])) is distinct


def test_a_constraint_covers_the_named_alternative_only() -> None:
    devices = [device("d0", attributes={"a": 1}), device("d1", attributes={"a": 2})]
    world = World(slice_tree(*devices))
    alternatives = first_of("q", ask(), ask())
    free = claim_tree("c", request("r", ask()), alternatives, match=[("a", ["r", "q/s0"])])
    assert [r.request for r in world.allocate(free)[0].devices.results] == ["r", "q/s1"]
    assert not world.fits(claim_tree("c", request("r", ask()), alternatives, match=[("a", ["r", "q"])]))


# ---- admin access, taints ---------------------------------------------------------------------------------


def test_an_admin_pick_keeps_nothing_from_the_next_claim() -> None:
    world = World(slice_tree(device("d0")))
    claims = [claim_tree("a", request("r", ask(adminAccess=True))), claim_tree("b", request("r", ask()))]
    assert world.devices(*claims) == world.devices(*claims[::-1]) == [["d0"], ["d0"]]


def test_one_claim_never_gets_a_device_twice() -> None:
    world = World(slice_tree(device("d0")))
    admin, plain = request("a", ask(adminAccess=True)), request("p", ask())
    assert not world.fits(claim_tree("c", admin, plain))
    assert not world.fits(claim_tree("c", plain, admin))


@pytest.mark.parametrize(
    ("effect", "toleration", "fits"),
    [
        ("NoSchedule", None, False),
        ("NoExecute", None, False),
        ("None", None, True),
        ("Unheard", None, True),
        ("NoSchedule", {"key": "k", "operator": "Exists"}, True),
        ("NoExecute", {"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}, False),
        ("NoSchedule", {"key": "k", "value": "v"}, True),
    ],
)
def test_taints_keep_claims_away(effect: str, toleration: Tree | None, fits: bool) -> None:
    world = World(slice_tree(device("d0", taints=[{"key": "k", "value": "v", "effect": effect}])))
    tolerations = [toleration] if toleration else []
    assert world.fits(_one(tolerations=tolerations)) is fits
    assert world.fits(_one("any", "All", tolerations=tolerations)) is fits


# ---- partitions, groups -----------------------------------------------------------------------------------


def _partitions(**groups: list[str]) -> World:
    devices = [device(n, consumesCounters=draws(groups=g, m="1")) for n, g in groups.items()]
    counters = slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="8")])
    return World(slice_tree(*devices, count=2), counters, compatibility_groups=True)


@pytest.mark.parametrize(
    ("groups", "held", "expected"),
    [
        ({"x": ["a"], "y": ["b"], "z": ["a", "c"]}, [], ["x", "z"]),
        ({"x": ["a"], "y": []}, [], None),
        ({"x": [], "y": []}, [], ["x", "y"]),
        ({"x": ["a", "b"], "y": ["b", "c"], "z": ["a", "c"]}, ["x"], None),
    ],
)
def test_users_of_a_counter_set_share_a_compatibility_group(
    groups: dict[str, list[str]], held: list[str], expected: list[str] | None
) -> None:
    world = _partitions(**groups)
    if held:
        world.hold("h", *held)
    claim = _one("any", 2)
    assert (world.devices(claim)[0] if world.fits(claim) else None) == expected


def test_devices_with_groups_are_left_alone_with_the_gate_off() -> None:
    devices = [device("x", consumesCounters=draws(groups=["a"], m="1")), device("y", consumesCounters=draws(m="1"))]
    counters = slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="8")])
    world = World(slice_tree(*devices, count=2), counters)
    assert world.devices(_one()) == [["y"]]
    world.hold("h", "x")
    assert not world.fits(_one())


def test_counters_of_pools_with_equal_names_are_apart() -> None:
    world = World()
    for driver in ("a.example.com", "b.example.com"):
        world.publish(
            slice_tree(device("d", consumesCounters=draws(m="1")), driver=driver, count=2),
            slice_tree(name=f"counters-{driver}", driver=driver, count=2, sharedCounters=[counter_set(m="1")]),
        )
    assert world.fits(_one("any", 2))


def test_a_shared_partition_draws_once() -> None:
    part = device("d0", {"bw": "4"}, consumesCounters=draws(m="1"), **MULTI)
    world = World(slice_tree(part, count=2), slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="1")]))
    claims = [claim_tree(n, request("r", ask(capacity={"bw": "2"}))) for n in "abc"]
    assert world.take(*claims[:2]) == [["d0"], ["d0"]]
    assert not world.fits(claims[2])


# ---- steps ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("demands", "masks", "enough"),
    [
        ([2], [0b11], True),
        ([1, 1], [0b1, 0b1], False),
        ([1, 2], [0b111, 0b110], True),
        ([2, 2], [0b0111, 0b0110], False),
    ],
)
def test_counting_is_exact_for_requests_over_devices(demands: list[int], masks: list[int], enough: bool) -> None:
    assert has_enough(demands, masks) is enough


def test_equal_devices_are_tried_once_at_each_level() -> None:
    """Sixteen equal shared devices, none of which can serve both requests: tried once, not 16 x 16 times."""
    devices = [device(f"d{i}", {"bw": "1"}, consumesCounters=draws(m="2"), **MULTI) for i in range(16)]
    counters = slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="3")])
    world = World(slice_tree(*devices, count=2), counters)
    problem = world.prepare(claim_tree("c", *(request(f"r{i}", ask("any", 2)) for i in range(3))))
    pools = [problem.prepared.lineups.get_input(v.state) for v in world.table.get_pools_at("n1")]
    outcome = Search(problem.prepared.plan, pools, world.table.features).run()
    assert outcome.picks is None
    assert outcome.steps < 10


def _star() -> Tree:
    """Devices with 16 values of each of two attributes, of which no three differ in both."""
    pairs = [(0, i) for i in range(16)] + [(i, 0) for i in range(1, 16)]
    return slice_tree(*(device(f"d{i:02}", attributes={"a": a, "b": b}) for i, (a, b) in enumerate(pairs)))


def test_the_search_stops_at_its_limit_with_a_reason() -> None:
    world = World(_star())
    problem = world.prepare(claim_tree("c", request("r", ask("any", 8)), distinct=["a", "b"]))
    pools = [problem.prepared.lineups.get_input(v.state) for v in world.table.get_pools_at("n1")]
    outcome = Search(problem.prepared.plan, pools, world.table.features, steps_max=100).run()
    assert outcome.picks is None
    assert outcome.rejection is not None
    assert outcome.rejection.describe([], []).startswith("search limit: no allocation was found in 100 steps")


_EIGHTS = [
    slice_tree(*(device(f"d{p}-{i}", attributes={"p": p, "i": i}) for i in range(8)), pool=f"p{p}", name=f"p{p}")
    for p in range(8)
]


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(claim_tree("c", request("r", ask("any", 9)), match=["p"]), id="nine-alike-of-eight"),
        pytest.param(claim_tree("c", *(request(f"r{i}", ask("any", 3)) for i in range(3)), match=["p"]), id="3x3"),
        pytest.param(claim_tree("c", *(request(f"r{i}", ask()) for i in range(9)), distinct=["p"]), id="nine-of-eight"),
        pytest.param(
            claim_tree(
                "c", *(request(f"r{i}", ask("any", 1, f'device.attributes["{DRIVER}"].i == {i}')) for i in range(9))
            ),
            id="a-request-without-device",
        ),
        pytest.param(
            claim_tree("c", *(request(f"r{i}", ask()) for i in range(4)), match=["p", "i"]), id="two-constraints"
        ),
    ],
)
def test_what_eight_by_eight_devices_cannot_give_is_refused_early(claim: Tree) -> None:
    """Nothing is measured in time here: the steps are what a search costs."""
    world = World(*_EIGHTS)
    problem = world.prepare(claim)
    pools = [problem.prepared.lineups.get_input(v.state) for v in world.table.get_pools_at("n1")]
    outcome = Search(problem.prepared.plan, pools, world.table.features).run()
    assert outcome.picks is None and outcome.rejection is None
    assert outcome.steps < 1000


@pytest.mark.parametrize(
    "claim",
    [
        claim_tree("c", request("r", ask("any", 8)), match=["p"]),
        claim_tree("c", *(request(f"r{i}", ask()) for i in range(8)), distinct=["p", "i"]),
        claim_tree("c", request("r", ask("any", 8)), request("s", ask("any", 8)), match=[("p", ["r"]), ("p", ["s"])]),
        claim_tree("c", first_of("r", ask("any", 9), ask("any", 2)), match=["p"]),
        claim_tree("c", request("r", ask("any", 1)), match=["absent-but-for-one"]),
    ],
)
def test_counting_values_refuses_nothing_that_is_possible(claim: Tree) -> None:
    extra = slice_tree(device("x", attributes={"absent-but-for-one": 1}), pool="x", name="x")
    assert World(*_EIGHTS, extra).fits(claim)


def test_allocate_refuses_what_judge_refused() -> None:
    with pytest.raises(InvariantError, match="default/c"):
        World().allocate(_one())

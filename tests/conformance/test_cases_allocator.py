"""Public reports about other allocators as small inputs, with the right result; the ids are those of the reports."""

import pytest

from unit.alloc.alloc_worlds import (
    DRIVER,
    World,
    ask,
    claim_tree,
    class_tree,
    counter_set,
    device,
    draws,
    first_of,
    request,
    slice_tree,
)

MODEL = f'device.attributes["{DRIVER}"].model'


def test_a01_all_respects_the_class_selectors() -> None:
    """kubernetes#127554."""
    gpu = class_tree("gpu", f'device.attributes["{DRIVER}"].type == "gpu"')
    devices = [device(n, attributes={"type": t}) for n, t in (("g0", "gpu"), ("x0", "nic"), ("g1", "gpu"))]
    world = World(slice_tree(*devices[:2]), classes=[gpu])
    assert world.devices(claim_tree("c", request("r", ask("gpu", "All")))) == [["g0"]]

    both = [claim_tree(n, request("r", ask("gpu", "All"))) for n in ("c0", "c1")]
    answer = world.judge(*both)
    assert (answer.fits, answer.reason) == (False, "cannot allocate all claims")


def test_a02_all_needs_at_least_one_device() -> None:
    """kubernetes#129310."""
    world = World()
    assert not world.fits(claim_tree("c", request("r", ask("any", "All"))))


def test_a03_a_failed_all_alternative_keeps_nothing() -> None:
    """kubernetes#131660."""
    world = World(slice_tree(device("a0"), device("a1")))
    world.hold("other", "a1")
    claim = claim_tree("c", first_of("r", ask("any", "All"), ask("any", 1)))
    (result,) = world.allocate(claim)
    assert [(r.request, r.device) for r in result.devices.results] == [("r/s1", "a0")]


def test_a05_the_limit_is_32_devices_per_claim() -> None:
    """kubernetes#131662."""
    world = World(slice_tree(*(device(f"d{i:02}") for i in range(40))))
    assert world.fits(claim_tree("c", request("r", ask("any", 32))))
    answer = world.judge(claim_tree("c", request("r", ask("any", 33))))
    assert answer.reason == "claim default/c: number of requested devices 33 exceeds the claim limit of 32"


def test_a06_admin_access_gets_distinct_devices_in_one_claim() -> None:
    """kubernetes#131269."""
    world = World(slice_tree(device("g0"), device("g1")))
    world.hold("other", "g0", "g1")
    assert world.devices(claim_tree("c", request("r", ask("any", 2, adminAccess=True)))) == [["g0", "g1"]]
    assert not world.fits(claim_tree("c", request("r", ask("any", 3, adminAccess=True))))


def test_a07_shares_of_one_claim_do_not_hide_what_is_left() -> None:
    """kubernetes#133705."""
    ends = [device(n, {"bw": "10"}, allowMultipleAllocations=True) for n in ("e0", "e1")]
    world = World(slice_tree(*ends))
    first = claim_tree("c1", request("r0", ask(capacity={"bw": "6"})), request("r1", ask(capacity={"bw": "6"})))
    assert world.take(first) == [["e0", "e1"]]
    assert world.take(claim_tree("c2", request("r", ask(capacity={"bw": "4"})))) == [["e0"]]
    assert world.take(claim_tree("c3", request("r", ask(capacity={"bw": "4"})))) == [["e1"]]
    assert not world.fits(claim_tree("c4", request("r", ask(capacity={"bw": "1"}))))


def test_a09_all_charges_the_counter() -> None:
    """kubernetes#138882."""
    world = World(
        slice_tree(device("d0", consumesCounters=draws(m="1")), count=2),
        slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="1")]),
    )
    assert world.take(claim_tree("c", request("r", ask("any", "All")))) == [["d0"]]
    (pool,) = world.table.get_pools_at("n1")
    assert pool.state.remaining_nano == (0,)


def test_a10_counters_count_shared_devices_of_earlier_cycles() -> None:
    """kubernetes#139034."""
    shared = device("pa", {"bw": "4"}, allowMultipleAllocations=True, consumesCounters=draws(slot="1"))
    world = World(
        slice_tree(shared, device("pb", consumesCounters=draws(slot="1")), count=2),
        slice_tree(name="counters", count=2, sharedCounters=[counter_set(slot="1")]),
        classes=[class_tree("whole", "!device.allowMultipleAllocations")],
    )
    world.hold("c1", "pa", shareID="00000000-0000-0000-0000-000000000001", consumedCapacity={"bw": "1"})
    assert not world.fits(claim_tree("c2", request("r", ask("whole"))))
    world.table.give_back("c1")
    assert world.fits(claim_tree("c2", request("r", ask("whole"))))


@pytest.mark.parametrize("obstacle", ["taint", "constraint"])
def test_a12_a_refused_candidate_gives_its_counters_back(obstacle: str) -> None:
    """kubernetes#140436."""
    taints = [{"key": "k", "effect": "NoSchedule"}] if obstacle == "taint" else []
    d0 = device("d0", consumesCounters=draws(m="40"), taints=taints)
    d1 = device("d1", consumesCounters=draws(m="40"), attributes={"numa": 0})
    world = World(
        slice_tree(d0, d1, count=2),
        slice_tree(name="counters", count=2, sharedCounters=[counter_set(m="40")]),
    )
    claim = claim_tree("c", request("r", ask()), match=["numa"] if obstacle == "constraint" else [])
    assert world.devices(claim) == [["d1"]]


def test_a13_backtracking_widens_the_common_values_again() -> None:
    """kubernetes#140300."""
    values = {"dev1": [1, 2], "dev2": [1], "dev3": [2], "dev4": [2]}
    devices = [device(n, attributes={"a": v}) for n, v in values.items()]
    world = World(slice_tree(*devices), list_type_attributes=True)
    claim = claim_tree("c", request("r", ask("any", 3)), match=["a"])
    assert world.devices(claim) == [["dev1", "dev3", "dev4"]]


def test_a15_an_exhausted_device_fails_all() -> None:
    """kubernetes#140769."""
    devices = [device(n, {"cap": "1"}, allowMultipleAllocations=True) for n in ("d1", "d2")]
    world = World(slice_tree(*devices))
    claim = claim_tree("c", request("r", ask("any", "All", capacity={"cap": "1"})))
    assert world.fits(claim)
    world.hold("c1", "d1", shareID="00000000-0000-0000-0000-000000000001", consumedCapacity={"cap": "1"})
    assert not world.fits(claim)


@pytest.mark.parametrize("counts", [(1, 2), (2, 1)])
def test_a17_slices_that_disagree_make_the_pool_invalid_in_any_order(counts: tuple[int, int]) -> None:
    """kubernetes#141117."""
    slices = [slice_tree(device(f"d{i}"), name=f"slice-{i}", count=c) for i, c in enumerate(counts)]
    world = World(*slices)
    claim = claim_tree("c", request("r", ask()))
    assert world.judge(claim).reason == "invalid resource pools were encountered"
    (problem,) = world.explain(claim).pools
    assert (problem.driver, problem.pool, problem.state) == (DRIVER, "n1", "invalid")
    assert "resourceSliceCount" in problem.why


def test_a19_a_pool_that_declares_no_slices_is_never_complete() -> None:
    """kubernetes/autoscaler#10199."""
    world = World(slice_tree(device("d0"), count=0))
    explanation = world.explain(claim_tree("c", request("r", ask())))
    assert not explanation.fits
    assert explanation.pools[0].why == "the pool declares 0 slices"


def test_a20_a_device_published_by_two_nodes_is_one_device() -> None:
    """cilium#48923."""
    world = World(*(slice_tree(device("e0"), node=n, pool="dx", name=f"dx-{n}") for n in ("n1", "n2")))
    claim = claim_tree("c1", request("r", ask()))
    assert world.take(claim, node="n1") == [["e0"]]
    second = claim_tree("c2", request("r", ask()))
    assert not world.fits(second, node="n1")
    assert not world.fits(second, node="n2")
    (problem,) = world.explain(second, node="n2").pools
    assert problem.state == "colliding"
    assert "e0" in problem.why


@pytest.mark.parametrize(
    "requests", [[request("r", ask("any", 32))], [request("a", ask("any", 16)), request("b", ask("any", 16))]]
)
def test_a21_one_device_too_few_is_known_by_counting(requests: list[dict[str, object]]) -> None:
    """kubernetes#131730: the answer must not take a search over subsets."""
    world = World(slice_tree(*(device(f"d{i}", attributes={"uuid": f"u{i}"}) for i in range(31))))
    claim = claim_tree("c", *requests, match=["uuid"])
    assert world.judge(claim).reason == "cannot allocate all claims"


def test_a23_a_selector_that_fails_refuses_its_node_only() -> None:
    """kubernetes#135184."""
    world = World(
        slice_tree(device("d0"), node="n1"),
        slice_tree(device("d0", attributes={"model": "a"}), node="n2"),
    )
    claim = claim_tree("c", request("r", ask("any", 1, f'{MODEL} == "a"')))
    refused = world.judge(claim, node="n1")
    assert not refused.fits
    assert refused.reason.startswith(
        f"claim default/c: selector #0 on device {DRIVER}/n1/d0: CEL runtime error: no such key: model"
    )
    assert world.fits(claim, node="n2")


def test_a24_a_missing_attribute_is_named_with_its_selector() -> None:
    """kubernetes#136709."""
    world = World(slice_tree(device("d0"), device("d1")))
    explanation = world.explain(
        claim_tree("c", request("r", ask("any", 1, "true", f'device.attributes["{DRIVER}"].mode == "x"')))
    )
    (error,) = explanation.claims[0].requests[0].errors
    assert (error.origin, error.owner, error.index) == ("claim", "default/c", 1)
    assert (error.attribute, error.device_count) == ("mode", 2)
    assert "has()" in explanation.detail


def test_a25_an_error_of_the_class_is_not_blamed_on_the_claim() -> None:
    """run-ai/fake-gpu-operator#189."""
    g = class_tree("g", f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "gpu"')
    world = World(slice_tree(device("d0", attributes={"model": "a"})), classes=[g])
    claim = claim_tree("c", request("r", ask("g")))
    assert world.judge(claim).reason.startswith(f"class g: selector #0 on device {DRIVER}/n1/d0: ")
    (error,) = world.explain(claim).claims[0].requests[0].errors
    assert (error.origin, error.owner, error.attribute) == ("class", "g", "type")


def test_a27_profiles_of_one_claim_come_from_one_gpu() -> None:
    """NVIDIA/k8s-dra-driver#897: partitions of four GPUs, most profiles of all but one are in use."""
    profiles = ("4g", "2g", "1g")
    devices = [
        device(f"gpu{g}-{p}", attributes={"parentUUID": f"GPU-{g}", "profile": p}) for g in range(4) for p in profiles
    ]
    world = World(slice_tree(*devices))
    world.hold("other", "gpu0-1g", "gpu1-2g", "gpu3-4g")
    wanted = [request(f"r{p}", ask("any", 1, f'device.attributes["{DRIVER}"].profile == "{p}"')) for p in profiles]
    claim = claim_tree("c", *wanted, match=["parentUUID"])
    assert world.devices(claim) == [["gpu2-4g", "gpu2-2g", "gpu2-1g"]]


def test_a28_the_order_of_nodes_changes_no_answer() -> None:
    """kubernetes#133586."""
    world = World(
        slice_tree(device("d0", attributes={"model": "a"}), node="n1"),
        slice_tree(device("d0", attributes={"model": "b"}), node="n2"),
    )
    claim = claim_tree("c", first_of("r", ask("any", 1, f'{MODEL} == "b"'), ask()))
    forward = [world.judge(claim, node=n).score for n in ("n1", "n2")]
    backward = [world.judge(claim, node=n).score for n in ("n2", "n1")]
    assert forward == backward[::-1] == [7, 8]


def test_a30_the_class_of_a_held_device_may_be_gone() -> None:
    """kubernetes#120338."""
    world = World(slice_tree(device("d0"), device("d1")), classes=[class_tree("old"), class_tree("new")])
    world.take(claim_tree("c1", request("r", ask("old"))))
    world.table.remove_class("old")
    assert world.devices(claim_tree("c2", request("r", ask("new")))) == [["d1"]]
    assert world.prepare(claim_tree("c3", request("r", ask("old")))).fault == (
        "request r: device class old does not exist"
    )

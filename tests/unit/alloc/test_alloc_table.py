"""DeviceTable: pools, nodes, taint rules, holds, and which nodes changed."""

import pytest

from apportion.alloc import DriverTotals, Features
from apportion.alloc.changes import ChangeLog
from apportion.base import ValidationError
from unit.alloc.alloc_worlds import DRIVER, World, ask, claim_tree, device, request, slice_tree

ONE = claim_tree("c", request("r", ask()))


def _names(world: World, node: str = "n1") -> list[str]:
    return [d.name for view in world.table.get_pools_at(node) for d in view.devices]


# ---- pools ------------------------------------------------------------------------------------------------


def test_the_highest_generation_counts_wherever_it_is_published() -> None:
    world = World(slice_tree(device("old"), name="a", pool="p", generation=1))
    world.publish(slice_tree(device("new"), name="b", pool="p", node="n2", generation=2))
    assert _names(world) == []
    assert _names(world, "n2") == ["new"]


def test_a_pool_is_incomplete_until_all_its_slices_are_there() -> None:
    world = World(slice_tree(device("d0"), name="a", count=2))
    assert not world.fits(ONE)
    (problem,) = world.explain(ONE).pools
    assert problem.why == "1 slices of generation 1 are published, 2 are declared"
    world.publish(slice_tree(device("d1"), name="b", count=2))
    assert _names(world) == ["d0", "d1"]


def test_all_is_refused_while_a_pool_is_being_updated() -> None:
    world = World(slice_tree(device("d0"), count=2))
    answer = world.judge(claim_tree("c", request("r", ask("any", "All"))))
    assert answer.reason == (
        f"claim default/c, request r: asks for all devices, but resource pool {DRIVER}/n1 is currently being updated"
    )


def test_slices_are_taken_in_name_order() -> None:
    world = World(
        slice_tree(device("z"), name="2", count=2),
        slice_tree(device("y"), name="1", count=2),
    )
    assert _names(world) == ["y", "z"]


def test_pools_with_binding_conditions_come_last() -> None:
    conditions = {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
    world = World(
        slice_tree(device("a", **conditions), pool="a"),
        slice_tree(device("b"), pool="b"),
        slice_tree(device("c"), pool="c"),
    )
    assert _names(world) == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("devices", "spec", "why"),
    [
        ([device("d"), device("d")], {}, "duplicate device name d"),
        (
            [device("d", consumesCounters=[{"counterSet": "x", "counters": {"m": {"value": 1}}}])],
            {},
            "device d consumes from unknown counter set x",
        ),
    ],
)
def test_invalid_pools_say_why(devices: list[dict[str, object]], spec: dict[str, object], why: str) -> None:
    world = World(slice_tree(*devices, **spec))
    assert world.judge(ONE).reason == "invalid resource pools were encountered"
    (problem,) = world.explain(ONE).pools
    assert (problem.state, problem.why) == ("invalid", why)


def test_partitionable_devices_off_hides_slices_that_need_it() -> None:
    place = {"allNodes": True}
    world = World(
        slice_tree(device("d", **place), node=None, pool="p", perDeviceNodeSelection=True),
        partitionable_devices=False,
    )
    assert _names(world) == []


# ---- nodes ------------------------------------------------------------------------------------------------


def _select(value: str) -> dict[str, object]:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [value]}]}
    return {"nodeSelectorTerms": [term]}


def test_node_selectors_follow_the_labels() -> None:
    world = World(slice_tree(device("d"), node=None, pool="p", nodeSelector=_select("z1")))
    assert _names(world) == []
    world.table.set_node("n1", {"zone": "z1"})
    assert _names(world) == ["d"]


def test_each_device_may_choose_its_nodes() -> None:
    devices = [
        device("here", nodeName="n1"),
        device("there", nodeName="n2"),
        device("zone", nodeSelector=_select("z1")),
        device("all", allNodes=True),
    ]
    world = World(slice_tree(*devices, node=None, pool="p", perDeviceNodeSelection=True))
    assert _names(world) == ["here", "all"]
    world.table.set_node("n2", {"zone": "z1"})
    assert _names(world, "n2") == ["there", "zone", "all"]


# ---- taint rules ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        (None, 0),
        ({}, 3),
        ({"driver": DRIVER, "device": "d0"}, 1),
        ({"pool": "n1"}, 2),
        ({"driver": "other"}, 0),
    ],
)
def test_taint_rules_select_devices(selector: dict[str, str] | None, tainted: int) -> None:
    world = World(slice_tree(device("d0"), device("d1")), slice_tree(device("e0"), node="n2"))
    world.taint("rule", selector)
    assert sum(t.tainted for t in world.table.totals()) == tainted
    world.table.remove_taint_rule("rule")
    assert sum(t.tainted for t in world.table.totals()) == 0


def test_taint_rules_reach_slices_that_come_later() -> None:
    world = World()
    world.taint("rule", {})
    world.publish(slice_tree(device("d0")))
    assert not world.fits(ONE)
    tolerant = ask(tolerations=[{"key": "rule", "operator": "Exists"}])
    assert world.fits(claim_tree("c", request("r", tolerant)))


# ---- holds ------------------------------------------------------------------------------------------------


def test_take_replaces_what_the_holder_had() -> None:
    world = World(slice_tree(device("d0"), device("d1")))
    world.hold("h", "d0")
    world.hold("h", "d1")
    assert world.devices(ONE) == [["d0"]]
    assert world.table.totals() == [DriverTotals(DRIVER, 2, 1, 1, 0)]


def test_a_device_named_by_two_holders_stays_taken_until_both_are_gone() -> None:
    world = World(slice_tree(device("d0")))
    world.hold("a", "d0")
    world.hold("b", "d0")
    world.table.give_back("a")
    assert not world.fits(ONE)
    world.table.give_back("b")
    assert world.fits(ONE)


def test_holds_may_come_before_the_slice() -> None:
    world = World()
    world.hold("h", "d0")
    world.publish(slice_tree(device("d0"), device("d1")))
    assert world.devices(ONE) == [["d1"]]


def test_admin_results_are_not_taken() -> None:
    world = World(slice_tree(device("d0")))
    world.hold("h", "d0", adminAccess=True)
    assert world.fits(ONE)


def test_a_device_with_shares_is_not_given_away_as_a_whole() -> None:
    world = World(slice_tree(device("d0", {"bw": "4"})))
    world.hold("h", "d0", shareID="00000000-0000-0000-0000-000000000001", consumedCapacity={"bw": "1"})
    assert not world.fits(claim_tree("c", request("r", ask(capacity={"bw": "1"}))))


# ---- changes ----------------------------------------------------------------------------------------------


def test_changed_nodes_are_those_that_publish_the_pool() -> None:
    world = World(slice_tree(device("d0")), slice_tree(device("e0"), node="n2"))
    cursor = world.table.cursor
    world.hold("h", "d0")
    assert world.table.changed_nodes(cursor) == {"n1"}
    world.table.give_back("h")
    world.table.set_node("n3", {})
    assert world.table.changed_nodes(cursor) == {"n1", "n3"}
    assert world.table.changed_nodes(world.table.cursor) == frozenset()


def test_a_shared_pool_may_concern_any_node() -> None:
    world = World(slice_tree(device("d0"), node=None, pool="net", allNodes=True))
    cursor = world.table.cursor
    world.hold("h", "d0", pool="net")
    assert world.table.changed_nodes(cursor) is None


def test_what_is_known_already_changes_nothing() -> None:
    tree = slice_tree(device("d0"))
    world = World(tree)
    world.hold("h", "d0")
    cursor = world.table.cursor
    world.publish(tree)
    world.hold("h", "d0")
    world.table.set_node("n1", {"kubernetes.io/hostname": "n1"})
    world.table.give_back("nobody")
    assert world.table.cursor == cursor


def test_the_log_forgets_the_oldest_changes() -> None:
    log = ChangeLog(entries_max=2)
    for name in "abc":
        log.add(frozenset((name,)))
    assert log.changed_nodes(1) == {"b", "c"}
    assert log.changed_nodes(0) is None


# ---- bad input --------------------------------------------------------------------------------------------


def test_a_wrong_quantity_names_slice_and_field_and_changes_nothing() -> None:
    world = World(slice_tree(device("d0"), name="s"))
    with pytest.raises(ValidationError, match=r"ResourceSlice s\)") as caught:
        world.publish(slice_tree(device("d0"), device("d1", {"mem": "4Gx"}), name="s"))
    assert caught.value.field == "spec.devices[1].capacity[mem].value"
    assert _names(world) == ["d0"]


def test_a_node_selector_needs_exactly_one_term() -> None:
    selector = {"nodeSelectorTerms": []}
    with pytest.raises(ValidationError, match="exactly one") as caught:
        World(slice_tree(device("d0"), node=None, pool="p", name="s", nodeSelector=selector))
    assert caught.value.field == "spec.nodeSelector"


def test_features_read_upstream_gate_names() -> None:
    assert Features.from_gates({}) == Features()
    half = Features.from_gates({"DRADeviceBindingConditions": True, "DRAResourceClaimDeviceStatus": False})
    assert not half.binding_conditions
    more = Features.from_gates({"DRAListTypeAttributes": True, "DRAConsumableCapacity": False})
    assert (more.list_type_attributes, more.consumable_capacity) == (True, False)


@pytest.mark.parametrize(
    ("gates", "channel"),
    [
        ({}, "incubating"),
        ({"DRAConsumableCapacity": False, "DRADeviceBindingConditions": False}, "stable"),
        ({"DRAConsumableCapacity": False}, "incubating"),
        ({"DRAListTypeAttributes": True}, "experimental"),
        ({"DRADerivedAttributes": True, "DRAConsumableCapacity": False}, "experimental"),
        ({"DRADeviceCompatibilityGroups": True}, "experimental"),
    ],
)
def test_features_correspond_to_one_of_upstreams_allocators(gates: dict[str, bool], channel: str) -> None:
    assert Features.from_gates(gates).channel == channel
    assert World().allocator.channel == "incubating"


def test_taint_rules_have_a_gate_of_their_own() -> None:
    world = World(slice_tree(device("d0")), device_taint_rules=False)
    world.taint("all", {})
    assert _names(world) == ["d0"]


def test_a_node_must_declare_that_it_can_skip_operations() -> None:
    world = World(slice_tree(device("d0"), skipNodeOperations=["*"]), optional_node_operations=True)
    assert _names(world) == ["d0"]
    before = world.table.cursor
    world.table.set_node("n1", {"kubernetes.io/hostname": "n1"})
    assert world.table.changed_nodes(before) == {"n1"}
    assert not world.fits(claim_tree("c", request("r", ask())))

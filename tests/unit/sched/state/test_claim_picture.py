"""The claim store: what the API said, what was written since, and allocations on their way."""

from typing import Any

import msgspec
import pytest

from apportion.alloc import DeviceTable, Features
from apportion.api.resource import AllocationResult
from apportion.sched.state import ClaimInfo, ClaimStore

KEY = "default/c"


def allocation(device: str = "d0", **result: Any) -> AllocationResult:
    tree = {"request": "r", "driver": "d", "pool": "p", "device": device, **result}
    return msgspec.convert({"devices": {"results": [tree]}}, AllocationResult)


def claim(store: ClaimStore, version: int = 1, has: AllocationResult | None = None, uid: str = "u") -> ClaimInfo:
    meta = {"name": "c", "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    return store.read(msgspec.json.encode({"metadata": meta, "spec": {}, "status": {"allocation": has}}))


def make(features: Features | None = None) -> tuple[ClaimStore, DeviceTable]:
    table = DeviceTable(features or Features())
    return ClaimStore(table), table


def held(table: DeviceTable) -> list[str]:
    return [device for pool in table.get_pools() for device in pool.usage.devices]


def test_an_allocation_on_its_way_holds_its_devices() -> None:
    store, table = make()
    store.apply(claim(store))
    assert store.signal_pending(KEY, "u", allocation())
    assert held(table) == ["d0"]
    pending = store.find_pending("u")
    assert pending is not None and pending.allocation == allocation()
    assert store.find_pending("other") is None


def test_what_is_allocated_already_is_not_signalled() -> None:
    store, table = make()
    store.apply(claim(store, has=allocation("d1")))
    assert not store.signal_pending(KEY, "u", allocation("d0"))
    assert store.find_pending("u") is None and held(table) == ["d1"]


def test_a_claim_that_nobody_has_seen_may_be_on_its_way() -> None:
    store, table = make()
    assert store.signal_pending("default/<extended-resources>", "u", allocation())
    assert held(table) == ["d0"]


def test_who_shares_an_allocation_gets_the_one_that_is_there() -> None:
    store, _ = make()
    store.apply(claim(store))
    store.signal_pending(KEY, "u", allocation("d0"))
    assert store.signal_pending(KEY, "u", allocation("d1"))
    pending = store.find_pending("u")
    assert pending is not None and pending.sharers == 2 and pending.allocation == allocation("d0")


@pytest.mark.parametrize(("sharers", "force", "is_gone"), [(1, False, True), (2, False, False), (2, True, True)])
def test_the_last_one_or_force_removes_it(sharers: int, force: bool, is_gone: bool) -> None:
    store, table = make()
    store.apply(claim(store))
    for _ in range(sharers):
        store.signal_pending(KEY, "u", allocation())
    assert store.remove_pending(KEY, "u", force) is is_gone
    assert held(table) == ([] if is_gone else ["d0"])
    assert not is_gone or not store.remove_pending(KEY, "u", force)


def test_a_claim_that_gets_its_uid_keeps_its_devices() -> None:
    store, table = make()
    store.signal_pending("default/<extended-resources>", "temporary", allocation())
    store.move_pending(KEY, "temporary", "u")
    assert held(table) == ["d0"] and store.find_pending("temporary") is None
    store.remove_pending(KEY, "u", force=True)
    assert held(table) == []


def test_what_was_written_never_falls_back() -> None:
    store, table = make()
    store.apply(claim(store, 1))
    store.assume(claim(store, 3, allocation()))
    store.apply(claim(store, 2))
    found = store.find(KEY)
    assert found is not None and found.allocation == allocation() and held(table) == ["d0"]
    store.apply(claim(store, 4))
    assert held(table) == []


@pytest.mark.parametrize(
    ("result", "features", "expected"),
    [
        ({}, {}, (True, {})),
        ({"adminAccess": True}, {}, None),
        ({"shareID": "s"}, {}, (False, {})),
        ({"shareID": "s", "consumedCapacity": {"m": "1"}}, {}, (False, {"m": 10**9})),
        ({"shareID": "s", "consumedCapacity": {"m": "1"}}, {"consumable_capacity": False}, (True, {})),
    ],
)
@pytest.mark.parametrize("is_pending", [False, True])
def test_what_is_gathered_of_an_allocation(
    result: dict[str, Any], features: dict[str, bool], expected: tuple[bool, dict[str, int]] | None, is_pending: bool
) -> None:
    store, table = make(Features(**features))
    given = allocation(**result)
    store.apply(claim(store, has=None if is_pending else given))
    if is_pending:
        store.signal_pending(KEY, "u", given)
    usage = [pool.usage for pool in table.get_pools()]
    assert (usage != []) is (expected is not None)
    if expected is not None:
        assert (usage[0].is_exclusive("d0"), usage[0].sum_consumed_nano("d0")) == expected


@pytest.mark.parametrize("is_pending", [False, True])
@pytest.mark.parametrize(("gate", "exclusive"), [(True, [True, False, False]), (False, [True, True, True])])
def test_what_is_gathered_of_several_devices(gate: bool, exclusive: list[bool], is_pending: bool) -> None:
    store, table = make(Features(consumable_capacity=gate))
    results: list[dict[str, Any]] = [
        {"device": "d0"},
        {"device": "d1", "shareID": "s"},
        {"device": "d2", "shareID": "t", "consumedCapacity": {"m": "1"}},
    ]
    tree = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", **r} for r in results]}}
    given = msgspec.convert(tree, AllocationResult)
    store.apply(claim(store, has=None if is_pending else given))
    if is_pending:
        store.signal_pending(KEY, "u", given)
    (pool,) = table.get_pools()
    assert [pool.usage.is_exclusive(r["device"]) for r in results] == exclusive
    assert pool.usage.sum_consumed_nano("d2") == ({"m": 10**9} if gate else {})


def test_what_is_signalled_does_not_replace_what_is_there() -> None:
    store, table = make()
    store.apply(claim(store))
    store.signal_pending(KEY, "u", allocation("d0"))
    store.signal_pending(KEY, "u", allocation("d1"))
    assert held(table) == ["d0"]


def test_nothing_is_removed_where_nothing_is_on_its_way() -> None:
    store, table = make()
    store.apply(claim(store, has=allocation()))
    assert not store.remove_pending(KEY, "u", force=False) and not store.remove_pending(KEY, "u", force=True)
    assert held(table) == ["d0"]


def test_what_is_on_its_way_is_found_until_it_is_removed() -> None:
    store, _ = make()
    assert store.find_pending("u") is None
    store.signal_pending(KEY, "u", allocation())
    assert store.find_pending("u") is not None
    store.remove_pending(KEY, "u", force=False)
    assert store.find_pending("u") is None


def test_listeners_hear_of_every_version_until_they_stop() -> None:
    store, _ = make()
    heard: list[int] = []

    def listener() -> None:
        heard.append(1)

    store.listeners.add(KEY, listener)
    store.apply(claim(store, 1))
    store.apply(claim(store, 2))
    store.listeners.remove(KEY, listener)
    store.remove(KEY)
    assert len(heard) == 2

"""ResourcePoolStatusRequests through the whole control plane in virtual time, and the counting behind them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from apportion.api.resource import AllocationResult, ResourceSlice
from apportion.controllers.pool_status import PoolUse, collect_use, describe_pool
from apportion.sim.play import Player, read_scenario

DRIVER = "d.example.com"


def slice_of(*devices: dict[str, Any], count: int = 1, name: str = "s", **spec: Any) -> ResourceSlice:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": count}
    tree = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": list(devices), **spec}
    return msgspec.convert({"metadata": {"name": name}, "spec": tree}, ResourceSlice)


def use_of(*results: dict[str, Any]) -> PoolUse:
    listed = [{"request": "r", "driver": DRIVER, "pool": "p", **r} for r in results]
    allocation = msgspec.convert({"devices": {"results": listed}}, AllocationResult)
    return collect_use([allocation]).get((DRIVER, "p"), PoolUse())


def test_devices_are_counted_once() -> None:
    devices = [{"name": f"d{i}"} for i in range(4)]
    devices[3]["taints"] = [{"key": "broken", "effect": "NoSchedule"}]
    use = use_of({"device": "d0"}, {"device": "d1", "adminAccess": True})
    entry = describe_pool([slice_of(*devices)], use, None)
    assert (entry["nodeName"], entry["resourceSliceCount"], entry["generation"]) == ("n1", 1, 1)
    counts = [entry[f"{what}Devices"] for what in ("total", "allocated", "unavailable", "available")]
    assert counts == [4, 1, 1, 2]


def test_a_pool_that_is_not_complete_has_no_counts() -> None:
    entry = describe_pool([slice_of({"name": "d0"}, count=2)], PoolUse(), None)
    assert entry["validationError"] == "1 of 2 slices are published" and "totalDevices" not in entry


def test_shared_devices_are_summed_up() -> None:
    devices = [{"name": n, "allowMultipleAllocations": True, "capacity": {"bw": {"value": "10"}}} for n in ("d0", "d1")]
    share = {"device": "d0", "shareID": "x", "consumedCapacity": {"bw": "3"}}
    summary = describe_pool([slice_of(*devices)], use_of(share, {**share, "shareID": "y"}), None)["shareableSummary"]
    assert (summary["fullyAvailableDevices"], summary["partiallyAvailableDevices"]) == (1, 1)
    assert summary["capacity"] == [{"name": "bw", "total": "20", "consumed": "6", "available": "14"}]


def test_partitions_are_counted_against_the_counters() -> None:
    def part(name: str, kind: str, amount: int) -> dict[str, Any]:
        draws = [{"counterSet": "c", "counters": {"m": {"value": str(amount)}}}]
        return {"name": name, "attributes": {"profile": {"string": kind}}, "consumesCounters": draws}

    parts = [part("a0", "half", 4), part("a1", "half", 4), part("b0", "full", 8)]
    sets = [{"name": "c", "counters": {"m": {"value": "8"}}}]
    slices = [slice_of(*parts, count=2), slice_of(count=2, name="t", sharedCounters=sets)]
    entry = describe_pool(slices, use_of({"device": "a0"}), f"{DRIVER}/profile")
    found = {e["type"]: (e["total"], e["allocatable"]) for e in entry["partitionSummary"]}
    assert found == {"half": (2, 1), "full": (1, 0)}


STEPS = """
- apply:
    objects:
    - apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: s}
      spec:
        driver: d.example.com
        allNodes: true
        pool: {name: p, generation: 1, resourceSliceCount: 1}
        devices: [{name: x}]
    - apiVersion: resource.k8s.io/v1alpha3
      kind: ResourcePoolStatusRequest
      metadata: {name: q}
      spec: {driver: d.example.com}
- run: 10s
"""


@pytest.mark.parametrize("is_on", [True, False])
def test_a_request_is_answered_once(tmp_path: Path, is_on: bool) -> None:
    pools = [{"driver": DRIVER, "poolName": "p", "totalDevices": 1, "availableDevices": 1}]
    answer: Any = {"poolCount": 1, "pools": pools, "conditions": [{"type": "Complete", "status": "True"}]}
    kind = {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "ResourcePoolStatusRequest", "metadata": {"name": "q"}}
    answered = {**kind, "status": answer if is_on else None}
    steps = yaml.safe_load(STEPS)
    steps += [{"expect": [answered]}, {"delete": {"kind": "ResourceSlice", "name": "s"}}, {"run": "30s"}]
    changed = {"spec": {"driver": "other.example.com"}}
    refusal = {"patch": {"kind": kind["kind"], "name": "q", "patch": changed, "refused": {"code": 422}}}
    steps += [{"expect": [answered]}, refusal]
    path = tmp_path / "s.yaml"
    path.write_text(yaml.safe_dump({"featureGates": {"DRAResourcePoolStatus": is_on}, "steps": steps}))
    for result in Player(read_scenario(str(path))).play():
        assert result.is_ok, result.problems

"""The example driver's demos, with slices as that driver publishes them: 8 GPUs on each of two nodes."""

from pathlib import Path

import pytest
from real_world import EXAMPLE_DRIVER, Tree, device_class, devices_of, simulate

CLASS = device_class("gpu.example.com", "device.driver == 'gpu.example.com'")


def _slice(node: str) -> Tree:
    devices = [
        {
            "name": f"gpu-{i}",
            "attributes": {
                "index": {"int": i},
                "uuid": {"string": f"gpu-0000-{node}-{i}"},
                "model": {"string": "LATEST-GPU-MODEL"},
                "driverVersion": {"version": "1.0.0"},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for i in range(8)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": devices}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


@pytest.mark.parametrize(
    ("example", "counts"),
    [
        ("basic-multiple-requests", {"pod0": 2}),
        ("basic-resourceclaim-opaque-config", {"pod0": 2}),
        ("basic-resourceclaimtemplate", {"pod0": 1, "pod1": 1}),
        ("basic-shared-claim-across-containers", {"pod0": 1}),
        ("basic-shared-claim-across-pods", {"pod0": 1, "pod1": 1}),
        ("cel-selector", {"pod0": 1}),
        ("initcontainer-shared-gpu", {"pod0": 1}),
        ("prioritized-alternatives", {"pod0": 1, "pod1": 1}),
        ("admin-access", {"pod0": 8}),
    ],
)
def test_every_pod_gets_its_devices(example: str, counts: dict[str, int], tmp_path: Path) -> None:
    cluster, results = simulate(tmp_path, EXAMPLE_DRIVER / example, CLASS, _slice("w1"), _slice("w2"))
    assert {name: len(devices_of(r)) for name, r in results.items()} == counts
    assert all(r.node for r in results.values())
    assert cluster.rejected == []
    if example == "basic-shared-claim-across-pods":
        assert devices_of(results["pod0"]) == devices_of(results["pod1"])
        assert results["pod0"].node == results["pod1"].node

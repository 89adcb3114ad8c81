"""Slices and claims captured on cloud GPU nodes, with the MPI jobs that belong to them."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from real_world import DRANET, GPU_CLASS, Tree, devices_of, pod_with_template, simulate

EFA = DRANET / "aws_eks_examples" / "gpu-efa"
GB300 = DRANET / "azure_aks_examples" / "gb300"
TRAINING = DRANET / "distributed_training"
NODE = "ip-192-168-153-160.ec2.internal"
WORKER_0, WORKER_1 = "nccl-test-dra-worker-0", "nccl-test-dra-worker-1"


def test_a_missing_class_is_what_is_missing(tmp_path: Path) -> None:
    cluster, results = simulate(tmp_path, EFA)
    assert cluster.nodes_assumed == [NODE]
    assert results[WORKER_0].node == NODE  # its claim is allocated and needs no class any more
    assert results[WORKER_1].message == (
        "0/1 nodes are available: request gpu: device class gpu.nvidia.com does not exist."
    )


def test_the_captured_claim_stays_with_worker_0_and_anti_affinity_keeps_worker_1_away(tmp_path: Path) -> None:
    cluster, results = simulate(tmp_path, EFA, GPU_CLASS)
    assert devices_of(results[WORKER_0]) == ["gpu-6", "pci-0000-a0-1b-0"]
    assert results[WORKER_1].message == ("0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.")
    assert any("had no uid" in w for w in cluster.warnings)


def test_a_second_node_gives_worker_1_a_gpu_and_an_efa_device_on_one_root(tmp_path: Path) -> None:
    second: list[Tree] = []
    roots: dict[str, str] = {}
    for name in ("resourceslice-gpu.yaml", "resourceslice-dranet.yaml"):
        text = (EFA / name).read_text().replace("ip-192-168-153-160", "ip-192-168-200-2")
        tree = yaml.safe_load(text)
        second.append(tree)
        for item in tree["items"]:
            for device in item["spec"]["devices"]:
                root = device["attributes"].get("resource.kubernetes.io/pcieRoot")
                roots[device["name"]] = root["string"] if root else ""
    _, results = simulate(tmp_path, EFA, GPU_CLASS, *second)
    assert results[WORKER_1].node == "ip-192-168-200-2.ec2.internal"
    gpu, efa = devices_of(results[WORKER_1])
    assert gpu.startswith("gpu-") and roots[gpu] == roots[efa] != ""


@pytest.mark.parametrize(
    ("template", "devices"),
    [
        # the GPU at 0008:06:00.0 with the NIC called mlx5_0, which is on its NUMA node
        ("1nic-aligned", ["gpu-0", "pci-0101-00-00-0"]),
        # the same GPU with mlx5_2, which is on the other one
        ("1nic-unaligned", ["gpu-0", "pci-0103-00-00-0"]),
        # both RDMA NICs of NUMA node 0
        ("2nic-aligned", ["gpu-0", "pci-0101-00-00-0", "pci-0102-00-00-0"]),
        # any RDMA NIC of the placement group
        ("ib-same-fabric", ["pci-0101-00-00-0"]),
    ],
)
def test_each_template_of_gb300(template: str, devices: list[str], tmp_path: Path) -> None:
    slices = [GB300 / f"resourceslice-{n}.yaml" for n in ("gpu", "dranet")]
    templates = GB300 / "resource-claim-template.yaml"
    classes = [GPU_CLASS, TRAINING / "device-class.yaml"]
    _, results = simulate(tmp_path, *slices, templates, *classes, pod_with_template(template))
    assert devices_of(results[template]) == devices


def test_the_captured_claim_of_gb300_keeps_its_uid_and_devices(tmp_path: Path) -> None:
    cluster, results = simulate(tmp_path, GB300, GPU_CLASS, TRAINING / "device-class.yaml")
    assert devices_of(results[WORKER_0]) == ["gpu-0", "pci-0103-00-00-0"]
    assert "didn't match pod anti-affinity rules" in str(results[WORKER_1].message)
    assert any("took the one its claim names as owner" in w for w in cluster.warnings)


def _h100_node(name: str) -> list[Tree]:
    """Return the slices of a node with 8 GPUs and 8 RDMA NICs, four of each on either NUMA node."""
    buses = ["0001", "0002", "0003", "0008", "0009", "000a", "000b", "000c"]
    gpus = [
        {
            "name": f"gpu-{i}",
            "attributes": {
                "type": {"string": "gpu"},
                "resource.kubernetes.io/pciBusID": {"string": f"{bus}:00:00.0"},
            },
        }
        for i, bus in enumerate(buses)
    ]
    nics = [
        {
            "name": f"nic-{i}",
            "attributes": {"dra.net/rdma": {"bool": True}, "dra.net/numaNode": {"int": i // 4}},
        }
        for i in range(8)
    ]

    def publish(driver: str, devices: list[dict[str, Any]]) -> Tree:
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "nodeName": name, "pool": pool, "devices": devices}
        meta = {"name": f"{name}-{driver}"}
        return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": spec}

    return [publish("gpu.nvidia.com", gpus), publish("dra.net", nics)]


def test_distributed_training_without_slices_waits_for_devices(tmp_path: Path) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "plain"},
        "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
    }
    _, results = simulate(tmp_path, TRAINING, GPU_CLASS, node)
    workers = [r for n, r in results.items() if "-worker-" in n]
    assert len(workers) == 4
    assert {r.message for r in workers} == {"0/1 nodes are available: 1 cannot allocate all claims."}


def test_aligned_and_unaligned_jobs_come_out_as_their_names_say(tmp_path: Path) -> None:
    slices = [s for name in ("h100-a", "h100-b") for s in _h100_node(name)]
    for kind, numa in (("aligned", 0), ("unaligned", 1)):
        folder = tmp_path / kind
        folder.mkdir()
        sources = [
            TRAINING / f"mpi-job-4gpu-4nic-numa-{kind}.yaml",
            TRAINING / "resource-claim-template.yaml",
            TRAINING / "device-class.yaml",
        ]
        _, results = simulate(folder, *sources, GPU_CLASS, *slices)
        workers = [r for n, r in results.items() if "-worker-" in n]
        assert {r.node for r in workers} == {"h100-a", "h100-b"}
        for result in workers:
            devices = devices_of(result)
            assert devices[:4] == ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]
            assert devices[4:] == [f"nic-{4 * numa + i}" for i in range(4)]

"""Two nodes with devices as four drivers publish them, and their classes: what the demos of these drivers run on."""

from collections.abc import Iterator
from typing import Any

Tree = dict[str, Any]
STANDARD = "resource.kubernetes.io"
_BUSES = ("0001", "0002", "0003", "0008", "0009", "000a", "000b", "000c")
NVIDIA, DOMAINS, EXAMPLE, NET = "gpu.nvidia.com", "compute-domain.nvidia.com", "gpu.example.com", "dra.net"


def _slice(node: str, driver: str, devices: list[Tree]) -> Tree:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
    meta = {"name": f"{node}-{driver}"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": spec}


def _texts(**attributes: Any) -> Tree:
    kinds = {str: "string", int: "int", bool: "bool"}
    return {name: {kinds[type(value)]: value} for name, value in attributes.items()}


def _gpus(node: str) -> Iterator[Tree]:
    """Eight GPUs, the first of which is cut into partitions of three sizes as well."""
    same = {**_texts(productName="NVIDIA A100-SXM4-40GB"), "driverVersion": {"version": "550.54.15"}}
    for i in range(8):
        attributes = {**same, **_texts(type="gpu", index=i, minor=i, uuid=f"GPU-{node}-{i}", architecture="Ampere")}
        attributes[f"{STANDARD}/pciBusID"] = {"string": f"{_BUSES[i]}:00:00.0"}
        attributes[f"{STANDARD}/pcieRoot"] = {"string": f"pci{_BUSES[i]}:00"}
        yield {"name": f"gpu-{i}", "attributes": attributes, "capacity": {"memory": {"value": "40Gi"}}}
    for profile in ("1g.5gb", "2g.10gb", "3g.20gb"):
        for i in range(2):
            attributes = {
                **same,
                **_texts(type="mig", profile=profile, parentUUID=f"GPU-{node}-0", uuid=f"M{profile}{i}"),
            }
            name = f"gpu-0-mig-{profile.replace('.', '-')}-{i}"
            yield {"name": name, "attributes": attributes, "capacity": {"memory": {"value": "5Gi"}}}


def _examples(node: str) -> Iterator[Tree]:
    for i in range(8):
        attributes = {**_texts(index=i, uuid=f"gpu-{node}-{i}", model="LATEST-GPU-MODEL")}
        attributes["driverVersion"] = {"version": "1.0.0"}
        yield {"name": f"gpu-{i}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def _interfaces(node: str) -> Iterator[Tree]:
    """Interfaces without hardware, and eight RDMA NICs, four on each NUMA node; the demos bring their own classes."""
    for i, name in enumerate(
        ("dummy0", "dummy1", "dummy8", "dummy-ipv6", "pbr-test-pod-2", "vrf-test-pod-2", "vrf-rtr-1")
    ):
        yield {"name": f"if-{i}", "attributes": _texts(ifName=name, type="dummy", rdma=False, state="up", mtu=1500)}
    cloud = _texts(ifName="eth1", name="eth1", type="device", rdma=False, cloudNetwork="projects/p/dranet-net")
    yield {"name": "eth-1", "attributes": cloud}
    for i in range(8):
        nic = _texts(
            ifName=f"gpu{i}rdma0", type="device", rdma=True, rdmaDevice=f"mlx5_{i}", numaNode=i // 4, state="up"
        )
        nic[f"{STANDARD}/pcieRoot"] = {"string": f"pci{_BUSES[i]}:00"}
        yield {"name": f"nic-{i}", "attributes": nic}


def _class(name: str, driver: str, kind: str = "", resource: str = "") -> Tree:
    expression = f"device.driver == '{driver}'"
    if kind:
        expression += f" && device.attributes['{driver}'].type == '{kind}'"
    spec: Tree = {"selectors": [{"cel": {"expression": expression}}]}
    if resource:
        spec["extendedResourceName"] = resource
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def list_objects() -> list[Tree]:
    """Return nodes, slices and classes."""
    room = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    objects: list[Tree] = [
        _class("gpu.example.com", EXAMPLE, resource="example.com/gpu"),
        _class("gpu.nvidia.com", NVIDIA, "gpu", "nvidia.com/gpu"),
        _class("mig.nvidia.com", NVIDIA, "mig"),
        _class("vfio.gpu.nvidia.com", NVIDIA, "vfio"),
        _class("compute-domain-default-channel.nvidia.com", DOMAINS, "channel"),
        _class("compute-domain-daemon.nvidia.com", DOMAINS, "daemon"),
    ]
    for node in ("node-0", "node-1"):
        labels = {"kubernetes.io/hostname": node, "kubernetes.io/os": "linux"}
        status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        meta = {"name": node, "labels": labels}
        objects.append({"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": status})
        channels = [{"name": f"channel-{i}", "attributes": _texts(type="channel", id=i)} for i in range(4)]
        daemon = {"name": "daemon-0", "attributes": _texts(type="daemon", id=0)}
        objects.append(_slice(node, DOMAINS, [*channels, daemon]))
        objects.append(_slice(node, NVIDIA, list(_gpus(node))))
        objects.append(_slice(node, EXAMPLE, list(_examples(node))))
        objects.append(_slice(node, NET, list(_interfaces(node))))
    return objects

"""Two nodes with devices as three drivers publish them, and their classes: what the demos of these drivers run on."""

from collections.abc import Iterator
from typing import Any

Tree = dict[str, Any]
NVIDIA, DOMAINS, EXAMPLE = "gpu.nvidia.com", "compute-domain.nvidia.com", "gpu.example.com"


def _slice(node: str, driver: str, devices: list[Tree]) -> Tree:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": devices}
    meta = {"name": f"{node}-{driver}"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": meta, "spec": spec}


def _texts(**attributes: Any) -> Tree:
    kinds = {str: "string", int: "int"}
    return {name: {kinds[type(value)]: value} for name, value in attributes.items()}


def _gpus(node: str) -> Iterator[Tree]:
    """Eight GPUs, the first of which is cut into partitions of three sizes as well."""
    same = {**_texts(productName="NVIDIA A100-SXM4-40GB"), "driverVersion": {"version": "550.54.15"}}
    for i in range(8):
        attributes = {**same, **_texts(type="gpu", index=i, minor=i, uuid=f"GPU-{node}-{i}", architecture="Ampere")}
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
    return objects

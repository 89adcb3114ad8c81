"""Volumes, claims and what describes storage, for tests."""

from typing import Any

from apportion.sched.framework.config import SchedulerConfig, read_config

Tree = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"


def _meta(name: str, namespace: str = "", **more: Any) -> Tree:
    meta = {"name": name, "uid": f"uid-{namespace}-{name}", **more}
    return {**meta, "namespace": namespace} if namespace else meta


def volume_tree(name: str, size: str = "10Gi", **spec: Any) -> Tree:
    """Return a volume of class "local"; ``at`` is (label key, values), ``labels`` and ``phase`` may be given."""
    labels, phase = spec.pop("labels", {}), spec.pop("phase", "Available")
    at = spec.pop("at", None)
    if at is not None:
        terms = [{"matchExpressions": [{"key": at[0], "operator": "In", "values": list(at[1])}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    body = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local", **spec}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": _meta(name, labels=labels),
        "spec": body,
        "status": {"phase": phase},
    }


def csi_volume_tree(name: str, driver: str = "csi.example.com", **spec: Any) -> Tree:
    """Return a CSI volume with its own handle."""
    return volume_tree(name, csi={"driver": driver, "volumeHandle": f"handle-{name}"}, **spec)


def claim_tree(name: str, size: str = "1Gi", volume: str = "", **more: Any) -> Tree:
    """Return a claim of class "local", bound when ``volume`` is given; ``storage_class`` and ``modes`` may be given."""
    meta = _meta(name, more.pop("namespace", "default"), **more.pop("meta", {}))
    spec: Tree = {
        "accessModes": more.pop("modes", ["ReadWriteOnce"]),
        "resources": {"requests": {"storage": size}},
        "storageClassName": more.pop("storage_class", "local"),
        **more,
    }
    if volume:
        spec["volumeName"] = volume
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes", **meta.get("annotations", {})}
    phase = "Bound" if volume else "Pending"
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "spec": spec,
        "status": {"phase": phase},
    }


def class_tree(name: str, provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> Tree:
    """Return a storage class that waits for the first consumer."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": _meta(name),
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        **more,
    }


def csi_node_tree(node: str, count: int | None, driver: str = "csi.example.com") -> Tree:
    """Return the CSINode of a node with one driver that can attach ``count`` volumes."""
    allocatable = {} if count is None else {"allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": _meta(node),
        "spec": {"drivers": [{"name": driver, "nodeID": node, **allocatable}]},
    }


def driver_tree(name: str = "csi.example.com", **spec: Any) -> Tree:
    """Return a CSIDriver."""
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": _meta(name), "spec": spec}


def capacity_tree(name: str, storage_class: str, capacity: str, zone: str, **more: Any) -> Tree:
    """Return how much of a class there is in a zone."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": _meta(name, "default"),
        "storageClassName": storage_class,
        "capacity": capacity,
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        **more,
    }


def attachment_tree(name: str, node: str, volume: str) -> Tree:
    """Return a VolumeAttachment."""
    spec = {"attacher": "csi.example.com", "nodeName": node, "source": {"persistentVolumeName": volume}}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": _meta(name), "spec": spec}


def mounting(*claims: str) -> list[Tree]:
    """Return the ``volumes`` of a pod that mounts these claims."""
    return [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}} for i, name in enumerate(claims)]


def bind_timeout(seconds: int) -> SchedulerConfig:
    """Return a configuration that waits so long for the volume controller."""
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": seconds}}]}],
    }
    return read_config(tree, "test")

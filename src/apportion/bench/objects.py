"""The API objects that workloads create, in the shapes and sizes of Kubernetes' scheduler_perf."""

from typing import Any, TypeAlias

Tree: TypeAlias = dict[str, Any]
DRIVER = "test-driver.cdi.k8s.io"
DEVICES_PER_NODE = 10
_DEFAULT_TOLERATIONS = [
    {
        "key": f"node.kubernetes.io/{key}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for key in ("not-ready", "unreachable")
]


def node(index: int) -> Tree:
    """Return a node with 4 CPU, 32 GiB and room for 110 pods."""
    name = f"scheduler-perf-{index:05d}"
    room = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, namespace: str, requests: Tree | None = None, **spec: Any) -> Tree:
    """Return a pending pod as the API server stores it, defaults included."""
    container: Tree = {
        "name": "pause",
        "image": "registry.example/pause:3.10",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {"limits": requests, "requests": requests} if requests else {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    labels = spec.pop("labels", None)
    meta: Tree = {"name": name, "namespace": namespace, "uid": f"pod-{namespace}-{name}"}
    meta["creationTimestamp"] = "2026-01-01T00:00:00Z"
    if labels:
        meta["labels"] = labels
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": _DEFAULT_TOLERATIONS,
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            **spec,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable" if requests else "BestEffort"},
    }


def anti_affinity(labels: dict[str, str], namespaces: list[str]) -> Tree:
    """Return an affinity that keeps pods with ``labels`` on different hosts."""
    term = {
        "labelSelector": {"matchLabels": labels},
        "topologyKey": "kubernetes.io/hostname",
        "namespaces": namespaces,
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def resource_slice(index: int) -> Tree:
    """Return the slice of one node: ten devices with the attributes that a GPU driver publishes."""
    name = f"scheduler-perf-{index:05d}"
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{index:05d}", "uid": f"slice-{index:05d}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [_device(i) for i in range(DEVICES_PER_NODE)],
        },
    }


def _device(index: int) -> Tree:
    root = index % 2
    strings = {
        "driver": "xe",
        "family": "Accelerator B",
        "health": "Healthy",
        "model": "B60",
        "pciAddress": f"0000:0{index}:00.0",
        "pciRoot": f"0{root}",
        "resource.kubernetes.io/pciBusID": f"0000:0{index}:00.0",
        "resource.kubernetes.io/pcieRoot": f"pci0000:0{root}",
        "type": "gpu",
    }
    attributes: Tree = {name: {"string": value} for name, value in strings.items()}
    attributes["driverVersion"] = {"version": "1.2.3"}
    attributes["sriov"] = {"bool": True}
    capacity = {"memory": {"value": "24480Mi"}, "millicores": {"value": "1k"}}
    return {"name": f"device-{index}", "attributes": attributes, "capacity": capacity}


def device_class() -> Tree:
    """Return the class that selects every device of the driver."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "test-class", "uid": "class-test-class"},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
    }


def claim(name: str, namespace: str, owner: Tree | None = None) -> Tree:
    """Return a claim for one device; generated for ``owner`` (a pod) when it is given."""
    meta: Tree = {"name": name, "namespace": namespace, "uid": f"claim-{namespace}-{name}"}
    if owner is not None:
        of = owner["metadata"]
        meta["annotations"] = {"resource.kubernetes.io/pod-claim-name": "resource"}
        meta["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": of["name"], "uid": of["uid"], "controller": True}
        ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": meta,
        "spec": _one_device(),
        "status": {},
    }


def claim_template(name: str, namespace: str) -> Tree:
    """Return a template of claims for one device."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": _one_device()},
    }


def _one_device() -> Tree:
    exactly = {"deviceClassName": "test-class", "allocationMode": "ExactCount", "count": 1}
    return {"devices": {"requests": [{"name": "req-0", "exactly": exactly}]}}


def allocate(tree: Tree, index: int, nodes: int) -> Tree:
    """Return the claim with the ``index``-th device of the cluster, counted across nodes first."""
    name = f"scheduler-perf-{index % nodes:05d}"
    result = {"request": "req-0", "driver": DRIVER, "pool": name, "device": f"device-{index // nodes}"}
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    tree["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    tree["status"]["allocation"] = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    return tree

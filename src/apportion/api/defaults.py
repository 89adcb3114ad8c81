"""Defaults that the API server fills in, as far as scheduling reads them. Trees in, trees out; nothing is
shared with the argument that could be changed through the result.

Source: pkg/apis/*/v1*/defaults.go upstream. What only a kubelet reads (probes, pull policies) is left alone,
and so are values that an absent field stands for in the typed views (policies of topology spread
constraints).
"""

from collections.abc import Callable
from typing import Any, Final

from apportion.api.core import Container, PodSpec, ResourceRequirements
from apportion.api.kinds import Kind, Tree
from apportion.api.pod_requests import is_pod_level_resource, sum_container_requests

DEFAULT_NAMESPACE: Final = "default"
DEFAULT_SCHEDULER: Final = "default-scheduler"
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def set_defaults(tree: Tree, kind: Kind) -> Tree:
    """Return the object with defaults filled in; about 10 µs for a pod.

    Expects the shape that the kind's validation accepts; a part of another type is left for validation to
    name.
    """
    tree = _set_namespace(tree, kind)
    setter = _SETTERS.get((kind.group, kind.name))
    return tree if setter is None else setter(tree)


def set_template_defaults(template: Tree) -> Tree:
    """Return a pod template with the defaults of its pods."""
    spec = template.get("spec")
    return {**template, "spec": set_pod_spec_defaults(spec)} if isinstance(spec, dict) else template


def _set_namespace(tree: Tree, kind: Kind) -> Tree:
    metadata = _read_object(tree, "metadata")
    if kind.namespaced and not metadata.get("namespace"):
        return {**tree, "metadata": {**metadata, "namespace": DEFAULT_NAMESPACE}}
    if not kind.namespaced and "namespace" in metadata:
        return {**tree, "metadata": {k: v for k, v in metadata.items() if k != "namespace"}}
    return tree


def _read_object(tree: Tree, name: str) -> Tree:
    child = tree.get(name)
    return child if isinstance(child, dict) else {}


def _map_items(tree: Tree, name: str, change: Callable[[Tree], Tree]) -> Tree:
    """Return ``tree`` with ``change`` applied to each object of the list ``name``, if there is one."""
    items = tree.get(name)
    if not isinstance(items, list):
        return tree
    return {**tree, name: [change(i) if isinstance(i, dict) else i for i in items]}


def _map_child(tree: Tree, name: str, change: Callable[[Tree], Tree]) -> Tree:
    child = tree.get(name)
    return {**tree, name: change(child)} if isinstance(child, dict) else tree


# ---- pods -------------------------------------------------------------------------------------------------


def _set_pod(tree: Tree) -> Tree:
    tree = _map_child(tree, "spec", set_pod_spec_defaults)
    status = _read_object(tree, "status")
    return tree if status.get("phase") else {**tree, "status": {**status, "phase": "Pending"}}


def set_pod_spec_defaults(spec: Tree) -> Tree:
    """Return a pod's spec with requests taken from limits and with completed ports."""
    spec = {"restartPolicy": "Always", "schedulerName": DEFAULT_SCHEDULER, **spec}
    host_network = spec.get("hostNetwork") is True

    def complete(container: Tree) -> Tree:
        return _set_container(container, host_network)

    spec = _map_items(_map_items(spec, "containers", complete), "initContainers", complete)
    return _set_pod_level_requests(spec) if isinstance(spec.get("resources"), dict) else spec


def _set_container(container: Tree, host_network: bool) -> Tree:
    container = _map_child(container, "resources", _request_limits)
    if container.get("ports"):
        container = _map_items(container, "ports", lambda port: _set_port(port, host_network))
    return container


def _request_limits(resources: Tree) -> Tree:
    limits = _read_object(resources, "limits")
    return {**resources, "requests": {**limits, **_read_object(resources, "requests")}} if limits else resources


def _set_port(port: Tree, host_network: bool) -> Tree:
    port = {"protocol": "TCP", **port}
    if host_network and not port.get("hostPort") and port.get("containerPort"):
        port["hostPort"] = port["containerPort"]
    return port


def _set_pod_level_requests(spec: Tree) -> Tree:
    """A pod-level request that is absent is what the containers ask for, else the pod-level limit."""
    level = spec["resources"]
    requests: dict[str, Any] = dict(_read_object(level, "requests"))
    for name, text in _sum_of_containers(spec).items():
        requests.setdefault(name, text)
    for name, text in _read_object(level, "limits").items():
        if is_pod_level_resource(name):
            requests.setdefault(name, text)
    return {**spec, "resources": {**level, "requests": requests}} if requests else spec


def _sum_of_containers(spec: Tree) -> dict[str, str]:
    def read(containers: Any) -> tuple[Container, ...]:
        return tuple(
            Container(
                restart_policy=c.get("restartPolicy") or "",
                resources=ResourceRequirements(requests=_read_object(_read_object(c, "resources"), "requests")),
            )
            for c in containers
            if isinstance(c, dict)
        )

    total = sum_container_requests(
        PodSpec(
            containers=read(spec.get("containers") or ()),
            init_containers=read(spec.get("initContainers") or ()),
        )
    )
    return {name: str(amount) for name, amount in total.items() if is_pod_level_resource(name)}


# ---- nodes, namespaces, volumes ---------------------------------------------------------------------------


def _set_node(tree: Tree) -> Tree:
    def offer_capacity(status: Tree) -> Tree:
        capacity = _read_object(status, "capacity")
        if status.get("allocatable") is None and capacity:
            return {**status, "allocatable": dict(capacity)}
        return status

    return _map_child(tree, "status", offer_capacity)


def _set_namespace_label(tree: Tree) -> Tree:
    def label(metadata: Tree) -> Tree:
        name = metadata.get("name")
        labels = _read_object(metadata, "labels")
        return {**metadata, "labels": {**labels, NAMESPACE_NAME_LABEL: name}} if name else metadata

    return _map_child(tree, "metadata", label)


def _set_volume_mode(tree: Tree) -> Tree:
    return _map_child(tree, "spec", lambda spec: {"volumeMode": "Filesystem", **spec})


def _set_storage_class(tree: Tree) -> Tree:
    return {"volumeBindingMode": "Immediate", "reclaimPolicy": "Delete", **tree}


def _set_priority_class(tree: Tree) -> Tree:
    return {"preemptionPolicy": "PreemptLowerPriority", **tree}


# ---- resource.k8s.io --------------------------------------------------------------------------------------


def set_claim_spec_defaults(spec: Tree) -> Tree:
    """Return a claim's spec with allocation mode, count and toleration operators filled in."""
    return _map_child(spec, "devices", lambda devices: _map_items(devices, "requests", _set_request))


def _set_request(request: Tree) -> Tree:
    request = _map_child(request, "exactly", _set_device_request)
    return _map_items(request, "firstAvailable", _set_device_request)


def _set_device_request(request: Tree) -> Tree:
    mode = request.get("allocationMode") or "ExactCount"
    request = {**request, "allocationMode": mode}
    if mode == "ExactCount" and not request.get("count"):
        request["count"] = 1
    return _map_items(request, "tolerations", _set_toleration)


def _set_toleration(toleration: Tree) -> Tree:
    return toleration if toleration.get("operator") else {**toleration, "operator": "Equal"}


def _set_claim(tree: Tree) -> Tree:
    return _map_child(tree, "spec", set_claim_spec_defaults)


def _set_claim_template(tree: Tree) -> Tree:
    return _map_child(tree, "spec", lambda spec: _map_child(spec, "spec", set_claim_spec_defaults))


_SETTERS: Final[dict[tuple[str, str], Callable[[Tree], Tree]]] = {
    ("", "Pod"): _set_pod,
    ("", "Node"): _set_node,
    ("", "Namespace"): _set_namespace_label,
    ("", "PersistentVolume"): _set_volume_mode,
    ("", "PersistentVolumeClaim"): _set_volume_mode,
    ("storage.k8s.io", "StorageClass"): _set_storage_class,
    ("scheduling.k8s.io", "PriorityClass"): _set_priority_class,
    ("resource.k8s.io", "ResourceClaim"): _set_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): _set_claim_template,
}

"""All that the API server fills in: the defaults of ``api``, and those that only other components read."""

import base64
from collections.abc import Callable
from typing import Final

from apportion.api import Kind, Tree, set_defaults
from apportion.server.strategies.device_rules import complete_slice
from apportion.server.strategies.pod_defaults import complete_pod_spec
from apportion.server.strategies.pod_groups import complete_pod_group
from apportion.server.strategies.service_rules import complete_service
from apportion.server.strategies.workload_defaults import WORKLOAD_DEFAULTS

# kinds for whose metadata and status nobody fills anything in
_WITH_DEFAULTS_IN_SPEC: Final = frozenset({("", "Pod"), ("resource.k8s.io", "ResourceClaim")})
_NODE_INFO: Final = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
_ROLES: Final = "rbac.authorization.k8s.io"
_DRIVER: Final = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "volumeLifecycleModes": ["Persistent"],
    "requiresRepublish": False,
    "seLinuxMount": False,
}


def complete(tree: Tree, kind: Kind) -> Tree:
    """Return the object with all its defaults; leaves its argument alone, changes nothing the second time."""
    setter = _SETTERS.get((kind.group, kind.name))
    return set_defaults(tree if setter is None else setter(tree), kind)


def complete_changed(tree: Tree, old: Tree, kind: Kind) -> Tree:
    """Return the same for what takes the place of a complete object; a spec that did not change is complete."""
    if (kind.group, kind.name) in _WITH_DEFAULTS_IN_SPEC and tree.get("spec") == old.get("spec"):
        return tree
    return complete(tree, kind)


def _complete_pod(tree: Tree) -> Tree:
    spec = tree.get("spec") or {}
    return {**tree, "spec": complete_pod_spec({"enableServiceLinks": True, **spec})}


def _complete_node(tree: Tree) -> Tree:
    status = tree.get("status") or {}
    info = {**dict.fromkeys(_NODE_INFO, ""), **(status.get("nodeInfo") or {})}
    endpoints = {"kubeletEndpoint": {"Port": 0}}
    return {
        **tree,
        "spec": {**(tree.get("spec") or {})},
        "status": {"daemonEndpoints": endpoints, **status, "nodeInfo": info},
    }


def _complete_namespace(tree: Tree) -> Tree:
    status = {"phase": "Active", **(tree.get("status") or {})}
    return {**tree, "spec": {**(tree.get("spec") or {})}, "status": status}


def _complete_secret(tree: Tree) -> Tree:
    plain = tree.get("stringData") or {}
    rest = {k: v for k, v in tree.items() if k != "stringData"}
    if plain:
        encoded = {k: base64.b64encode(v.encode()).decode() for k, v in plain.items()}
        rest["data"] = {**(tree.get("data") or {}), **encoded}
    return {"type": "Opaque", **rest}


def _complete_volume_claim(tree: Tree) -> Tree:
    status = {"phase": "Pending", **(tree.get("status") or {})}
    return {**tree, "spec": {"volumeMode": "Filesystem", **(tree.get("spec") or {})}, "status": status}


def _complete_volume(tree: Tree) -> Tree:
    spec = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem", **(tree.get("spec") or {})}
    return {**tree, "spec": spec, "status": {"phase": "Pending", **(tree.get("status") or {})}}


def _complete_network_policy(tree: Tree) -> Tree:
    spec = tree.get("spec") or {}
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    return {**tree, "spec": {"policyTypes": types, **spec}}


def _complete_binding(tree: Tree) -> Tree:
    """Who a role is bound to belongs to the group of roles, but for service accounts."""
    done = {**tree, "roleRef": {"apiGroup": _ROLES, **(tree.get("roleRef") or {})}}
    if "subjects" in done:
        done["subjects"] = [
            s if s.get("kind") == "ServiceAccount" else {"apiGroup": _ROLES, **s} for s in done["subjects"]
        ]
    return done


def _complete_driver(tree: Tree) -> Tree:
    return {**tree, "spec": {**_DRIVER, **(tree.get("spec") or {})}}


def _complete_autoscaler(tree: Tree) -> Tree:
    return {**tree, "spec": {"minReplicas": 1, **(tree.get("spec") or {})}}


def _complete_event(tree: Tree) -> Tree:
    return {"source": {}, **tree}


_SETTERS: Final[dict[tuple[str, str], Callable[[Tree], Tree]]] = {
    **WORKLOAD_DEFAULTS,
    ("", "Pod"): _complete_pod,
    ("", "Node"): _complete_node,
    ("", "Namespace"): _complete_namespace,
    ("", "Service"): complete_service,
    ("", "Secret"): _complete_secret,
    ("", "PersistentVolumeClaim"): _complete_volume_claim,
    ("", "PersistentVolume"): _complete_volume,
    ("", "Event"): _complete_event,
    ("networking.k8s.io", "NetworkPolicy"): _complete_network_policy,
    ("rbac.authorization.k8s.io", "RoleBinding"): _complete_binding,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _complete_binding,
    ("storage.k8s.io", "CSIDriver"): _complete_driver,
    ("autoscaling", "HorizontalPodAutoscaler"): _complete_autoscaler,
    ("resource.k8s.io", "ResourceSlice"): complete_slice,
    ("scheduling.k8s.io", "PodGroup"): complete_pod_group,
}

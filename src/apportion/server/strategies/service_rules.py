"""Defaults of services, and what an update keeps of what was allocated to them.

Source: pkg/apis/core/v1/defaults.go, pkg/registry/core/service/{strategy,storage/storage}.go upstream.
"""

from typing import Any, Final

from apportion.api import Tree

_WITH_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
_FAMILY: Final = {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster"}


def has_node_ports(spec: Tree) -> bool:
    """Return whether the ports of a service are opened on the nodes too."""
    return spec.get("type") in _WITH_NODE_PORTS and spec.get("allocateLoadBalancerNodePorts") is not False


def complete_service(tree: Tree) -> Tree:
    """Return a service with its defaults; one that is a mere name has no addresses."""
    spec: Tree = {"type": "ClusterIP", "sessionAffinity": "None", **(tree.get("spec") or {})}
    if spec["type"] != "ExternalName":
        spec = {**_FAMILY, **spec}
    if spec["type"] in _WITH_NODE_PORTS:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {"clientIP": {"timeoutSeconds": 10800}})
    if isinstance(spec.get("ports"), list):
        spec["ports"] = [{"protocol": "TCP", "targetPort": p.get("port"), **p} for p in spec["ports"]]
    return {**tree, "spec": spec, "status": {"loadBalancer": {}, **(tree.get("status") or {})}}


def keep_addresses(new: Tree, old: Tree) -> Tree:
    """Return an updated service with the addresses and node ports that it had and does not mention."""
    spec, before = dict(new.get("spec") or {}), old.get("spec") or {}
    if spec.get("type") == "ExternalName":
        for name in ("clusterIP", "clusterIPs"):
            if spec.get(name) == before.get(name):
                spec.pop(name, None)
    elif before.get("clusterIP") and not spec.get("clusterIP"):
        spec["clusterIP"] = before["clusterIP"]
    if spec.get("clusterIP") == before.get("clusterIP") and "clusterIP" in spec and not spec.get("clusterIPs"):
        spec["clusterIPs"] = before.get("clusterIPs") or [spec["clusterIP"]]
    if isinstance(spec.get("ports"), list):
        spec["ports"] = [_keep_node_port(p, spec, before) for p in spec["ports"]]
    return {**new, "spec": spec}


def _keep_node_port(port: Tree, spec: Tree, before: Tree) -> Tree:
    known = {_identify(p): p.get("nodePort") for p in before.get("ports") or () if p.get("nodePort")}
    found = known.get(_identify(port))
    if not has_node_ports(spec):
        return {k: v for k, v in port.items() if k != "nodePort" or v != found}
    return {**port, "nodePort": found} if found and not port.get("nodePort") else port


def _identify(port: Tree) -> tuple[Any, Any]:
    return port.get("port"), port.get("protocol", "TCP")

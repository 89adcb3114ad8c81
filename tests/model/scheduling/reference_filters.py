"""A slow scheduler's filters, written from the description of each plugin; shares nothing with the real ones."""

from collections.abc import Callable
from dataclasses import dataclass

from reference_objects import (
    Tree,
    affinity_of,
    amount,
    labels_of,
    matches_node_term,
    matches_selector,
    requests,
    tolerates,
    untolerated,
)

HARD = ("NoSchedule", "NoExecute")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@dataclass
class Cluster:
    nodes: list[Tree]
    pods: list[Tree]  # those that have a node
    namespaces: dict[str, dict[str, str]]  # labels by name

    def on(self, node: Tree) -> list[Tree]:
        return [p for p in self.pods if p["spec"]["nodeName"] == node["metadata"]["name"]]

    def node_of(self, pod: Tree) -> Tree | None:
        return next((n for n in self.nodes if n["metadata"]["name"] == pod["spec"]["nodeName"]), None)


def namespace_of(tree: Tree) -> str:
    return str(tree["metadata"].get("namespace", "default"))


# ---- plugins, in the order of the profile -----------------------------------------------------------------


def node_unschedulable(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cordoned = bool(node.get("spec", {}).get("unschedulable"))
    return not cordoned or any(tolerates(t, taint) for t in pod["spec"].get("tolerations") or ())


def taint_toleration(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    return untolerated(node, pod["spec"].get("tolerations") or (), HARD) == 0


def node_affinity(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    selector = pod["spec"].get("nodeSelector") or {}
    if any(labels_of(node).get(k) != v for k, v in selector.items()):
        return False
    required = affinity_of(pod, "nodeAffinity").get(REQUIRED)
    return required is None or any(matches_node_term(node, t) for t in required["nodeSelectorTerms"])


def _ports(pod: Tree) -> list[tuple[str, int, str]]:
    found = [c for c in pod["spec"].get("initContainers") or () if c.get("restartPolicy") == "Always"]
    ports = [p for c in (*found, *pod["spec"]["containers"]) for p in c.get("ports") or () if p.get("hostPort")]
    return [(p.get("protocol", "TCP"), p["hostPort"], p.get("hostIP") or "0.0.0.0") for p in ports]


def node_ports(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    for protocol, port, address in _ports(pod):
        for other in cluster.on(node):
            for protocol2, port2, address2 in _ports(other):
                near = address == address2 or "0.0.0.0" in (address, address2)
                if (protocol, port) == (protocol2, port2) and near:
                    return False
    return True


def node_resources_fit(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    room = node["status"]["allocatable"]
    others = cluster.on(node)
    if len(others) + 1 > int(room.get("pods", 0)):
        return False
    for name, wanted in requests(pod).items():
        used = sum(requests(p).get(name, 0) for p in others)
        if wanted > amount(name, room.get(name, 0)) - used:
            return False
    return True


def spread_nodes(cluster: Cluster, pod: Tree, constraint: Tree, keys: set[str]) -> list[Tree]:
    """Return the nodes over which a constraint counts."""
    found = [n for n in cluster.nodes if keys <= labels_of(n).keys()]
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor":
        found = [n for n in found if node_affinity(cluster, pod, n)]
    if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor":
        found = [n for n in found if taint_toleration(cluster, pod, n)]
    return found


def count_matching(cluster: Cluster, pod: Tree, constraint: Tree, node: Tree) -> int:
    selector = constraint.get("labelSelector")
    if selector == {}:
        return 0  # counts nobody, although it would select the pod itself
    live = (p for p in cluster.on(node) if not p["metadata"].get("deletionTimestamp"))
    return sum(namespace_of(p) == namespace_of(pod) and matches_selector(labels_of(p), selector) for p in live)


def topology_spread(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    constraints = pod["spec"].get("topologySpreadConstraints") or ()
    hard = [c for c in constraints if c["whenUnsatisfiable"] == "DoNotSchedule"]
    keys = {c["topologyKey"] for c in hard}
    for constraint in hard:
        key = constraint["topologyKey"]
        if key not in labels_of(node):
            return False
        counts: dict[str, int] = {}
        for other in spread_nodes(cluster, pod, constraint, keys):
            value = labels_of(other)[key]
            counts[value] = counts.get(value, 0) + count_matching(cluster, pod, constraint, other)
        lowest = min(counts.values(), default=2**31 - 1)
        if constraint.get("minDomains") and len(counts) < constraint["minDomains"]:
            lowest = 0
        own = int(matches_selector(labels_of(pod), constraint.get("labelSelector")))
        if counts.get(labels_of(node)[key], 0) + own - lowest > constraint["maxSkew"]:
            return False
    return True


def term_selects(cluster: Cluster, owner: Tree, term: Tree, pod: Tree) -> bool:
    """Return whether an affinity term of ``owner`` is about ``pod``."""
    names = set(term.get("namespaces") or ())
    selector = term.get("namespaceSelector")
    if not names and selector is None:
        names = {namespace_of(owner)}
    namespace = namespace_of(pod)
    labels = {"kubernetes.io/metadata.name": namespace, **cluster.namespaces.get(namespace, {})}
    if namespace not in names and not matches_selector(labels, selector):
        return False
    return matches_selector(labels_of(pod), term.get("labelSelector"))


def _same_domain(cluster: Cluster, other: Tree, node: Tree, key: str) -> bool:
    home = cluster.node_of(other)
    return home is not None and key in labels_of(node) and labels_of(home).get(key) == labels_of(node)[key]


def inter_pod_affinity(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    return (
        _required_affinity(cluster, pod, node)
        and _own_anti_affinity(cluster, pod, node)
        and _anti_affinity_of_others(cluster, pod, node)
    )


def _required_affinity(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    terms = affinity_of(pod, "podAffinity").get(REQUIRED) or []
    if any(t["topologyKey"] not in labels_of(node) for t in terms):
        return False

    def wanted(other: Tree) -> bool:
        return all(term_selects(cluster, pod, t, other) for t in terms)

    near = [p for p in cluster.pods if wanted(p)]
    if all(any(_same_domain(cluster, p, node, t["topologyKey"]) for p in near) for t in terms):
        return True
    homes = ((cluster.node_of(p), t) for p in near for t in terms)
    exists = any(home is not None and t["topologyKey"] in labels_of(home) for home, t in homes)
    return not exists and wanted(pod)  # the first of its series


def _own_anti_affinity(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    for term in affinity_of(pod, "podAntiAffinity").get(REQUIRED) or ():
        for other in cluster.pods:
            near = _same_domain(cluster, other, node, term["topologyKey"])
            if near and term_selects(cluster, pod, term, other):
                return False
    return True


def _anti_affinity_of_others(cluster: Cluster, pod: Tree, node: Tree) -> bool:
    for other in cluster.pods:
        for term in affinity_of(other, "podAntiAffinity").get(REQUIRED) or ():
            near = _same_domain(cluster, other, node, term["topologyKey"])
            if near and term_selects(cluster, other, term, pod):
                return False
    return True


FILTERS: dict[str, Callable[[Cluster, Tree, Tree], bool]] = {
    "NodeUnschedulable": node_unschedulable,
    "TaintToleration": taint_toleration,
    "NodeAffinity": node_affinity,
    "NodePorts": node_ports,
    "NodeResourcesFit": node_resources_fit,
    "PodTopologySpread": topology_spread,
    "InterPodAffinity": inter_pod_affinity,
}


def find_rejector(cluster: Cluster, pod: Tree, node: Tree) -> str | None:
    """Return the first plugin that turns the node down."""
    return next((name for name, fits in FILTERS.items() if not fits(cluster, pod, node)), None)

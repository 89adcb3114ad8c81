"""A slow scheduler's scores for the nodes that passed its filters."""

import math
from collections.abc import Callable

from reference_filters import Cluster, count_matching, spread_nodes, term_selects
from reference_objects import (
    Tree,
    affinity_of,
    amount,
    labels_of,
    matches_node_term,
    requests,
    requests_for_score,
    untolerated,
)

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOSTNAME = "kubernetes.io/hostname"
WEIGHTS = {
    "TaintToleration": 3, "NodeAffinity": 2, "NodeResourcesFit": 1, "PodTopologySpread": 2, "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1, "ImageLocality": 1,
}  # fmt: skip
Scores = dict[str, int]


def _scale(raw: Scores, reverse: bool = False) -> Scores:
    highest = max(raw.values(), default=0)
    if highest == 0:
        return dict.fromkeys(raw, 100 if reverse else 0)
    return {n: 100 - v * 100 // highest if reverse else v * 100 // highest for n, v in raw.items()}


def _name(node: Tree) -> str:
    return str(node["metadata"]["name"])


def taint_toleration(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> Scores:
    tolerations = [t for t in pod["spec"].get("tolerations") or () if t.get("effect", "") in ("", "PreferNoSchedule")]
    return _scale({_name(n): untolerated(n, tolerations, ("PreferNoSchedule",)) for n in nodes}, reverse=True)


def node_affinity(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> Scores:
    terms = affinity_of(pod, "nodeAffinity").get(PREFERRED) or ()
    return _scale({_name(n): sum(t["weight"] * matches_node_term(n, t["preference"]) for t in terms) for n in nodes})


def fit(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> Scores:
    """Least allocated CPU and memory."""
    scores = {}
    for node in nodes:
        parts = []
        for name in ("cpu", "memory"):
            room = amount(name, node["status"]["allocatable"].get(name, 0))
            used = sum(requests_for_score(p, is_placed=True)[name] for p in cluster.on(node))
            used += requests_for_score(pod, is_placed=False)[name]
            if room:
                parts.append((room - used) * 100 // room if used <= room else 0)
        scores[_name(node)] = sum(parts) // len(parts) if parts else 0
    return scores


def _evenness(node: Tree, pods: list[Tree]) -> int:
    used = []
    for name in ("cpu", "memory"):
        room = amount(name, node["status"]["allocatable"].get(name, 0))
        if room:
            used.append(min(sum(requests(p).get(name, 0) for p in pods) / room, 1.0))
    deviation = abs(used[0] - used[1]) / 2 if len(used) == 2 else 0.0
    return int((1 - deviation) * 100)


def balance(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> Scores:
    if not {"cpu", "memory"} & requests(pod).keys():
        return {_name(n): 0 for n in nodes}
    scores = {}
    for node in nodes:
        before, after = _evenness(node, cluster.on(node)), _evenness(node, [*cluster.on(node), pod])
        scores[_name(node)] = int(50 + (50 + after - before) / 2)
    return scores


def image_locality(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> Scores:
    wanted = [c["image"] for c in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"])]
    wanted = [i if ":" in i.rpartition("/")[2] else f"{i}:latest" for i in wanted]

    def has(node: Tree, image: str) -> int | None:
        images = node["status"].get("images") or ()
        return next((i["sizeBytes"] for i in images if image in i["names"]), None)

    scores, least, most = {}, 23 << 20, len(wanted) * (1000 << 20)
    sizes = {i: next((s for n in cluster.nodes if (s := has(n, i)) is not None), 0) for i in wanted}
    for node in nodes:
        total = 0
        for image in wanted:
            if has(node, image) is not None:
                spread = sum(has(n, image) is not None for n in cluster.nodes) / len(cluster.nodes)
                total += int(sizes[image] * spread)
        total = min(max(total, least), most)
        scores[_name(node)] = 100 * (total - least) // (most - least)
    return scores


def topology_spread(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> Scores:
    soft = [c for c in pod["spec"].get("topologySpreadConstraints") or () if c["whenUnsatisfiable"] != "DoNotSchedule"]
    if not soft:
        return {_name(n): 0 for n in nodes}
    keys = {c["topologyKey"] for c in soft}
    counted = [n for n in nodes if keys <= labels_of(n).keys()]
    totals = {_name(n): 0.0 for n in counted}
    for constraint in soft:
        key = constraint["topologyKey"]
        domains = len(counted) if key == HOSTNAME else len({labels_of(n)[key] for n in counted})
        eligible = spread_nodes(cluster, pod, constraint, keys)
        for node in counted:
            same = [n for n in eligible if labels_of(n)[key] == labels_of(node)[key]]
            where = [node] if key == HOSTNAME else same
            count = sum(count_matching(cluster, pod, constraint, n) for n in where)
            totals[_name(node)] += count * math.log(domains + 2) + constraint["maxSkew"] - 1
    raw = {n: math.floor(v + 0.5) for n, v in totals.items()}
    highest, lowest = max(raw.values(), default=0), min(raw.values(), default=0)
    scaled = {n: 100 if highest == 0 else 100 * (highest + lowest - v) // highest for n, v in raw.items()}
    return {_name(n): scaled.get(_name(n), 0) for n in nodes}


def inter_pod_affinity(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> Scores:
    weights: dict[tuple[str, str], int] = {}

    def add(home: Tree | None, key: str, weight: int) -> None:
        if home is not None and key in labels_of(home):
            place = (key, labels_of(home)[key])
            weights[place] = weights.get(place, 0) + weight

    for other in cluster.pods:
        home = cluster.node_of(other)
        for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
            for weighted in affinity_of(pod, kind).get(PREFERRED) or ():
                term = weighted["podAffinityTerm"]
                if term_selects(cluster, pod, term, other):
                    add(home, term["topologyKey"], sign * weighted["weight"])
            for weighted in affinity_of(other, kind).get(PREFERRED) or ():
                term = weighted["podAffinityTerm"]
                if term_selects(cluster, other, term, pod):
                    add(home, term["topologyKey"], sign * weighted["weight"])
        for term in affinity_of(other, "podAffinity").get(REQUIRED) or ():
            if term_selects(cluster, other, term, pod):
                add(home, term["topologyKey"], 1)
    raw = {_name(n): sum(weights.get((k, v), 0) for k, v in labels_of(n).items()) for n in nodes}
    lowest, highest = min(raw.values(), default=0), max(raw.values(), default=0)
    return {n: int(100 * ((v - lowest) / (highest - lowest))) if highest > lowest else 0 for n, v in raw.items()}


SCORES: dict[str, Callable[[Cluster, Tree, list[Tree]], Scores]] = {
    "TaintToleration": taint_toleration,
    "NodeAffinity": node_affinity,
    "NodeResourcesFit": fit,
    "PodTopologySpread": topology_spread,
    "InterPodAffinity": inter_pod_affinity,
    "NodeResourcesBalancedAllocation": balance,
    "ImageLocality": image_locality,
}


def score(cluster: Cluster, pod: Tree, nodes: list[Tree]) -> dict[str, Scores]:
    """Return by node the weighted score of every plugin."""
    by_plugin = {name: plugin(cluster, pod, nodes) for name, plugin in SCORES.items()}
    return {_name(n): {p: WEIGHTS[p] * s[_name(n)] for p, s in by_plugin.items()} for n in nodes}

"""Checks a finished run from the API objects alone. Shares no code with the scheduler on purpose."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

Tree = dict[str, Any]
_UNITS = {"m": 1, "": 1000, "Ki": 1000 << 10, "Mi": 1000 << 20, "Gi": 1000 << 30}


def _milli(text: str) -> int:
    digits = text.rstrip("mKiMG")
    return int(digits) * _UNITS[text[len(digits) :]]


def verify(nodes: Iterable[Tree], pods: Iterable[Tree], claims: Iterable[Tree], slices: Iterable[Tree]) -> list[str]:
    """Return what is wrong with the placements: over-committed nodes, neighbours that exclude each other, devices
    given twice or on another node, pods bound without their claims. Empty means that every placement holds."""
    rooms = {n["metadata"]["name"]: n["status"]["allocatable"] for n in nodes}
    placed = [p for p in pods if p["spec"].get("nodeName")]
    problems = [f"pod {_key(p)} is on {p['spec']['nodeName']}, which does not exist" for p in placed
                if p["spec"]["nodeName"] not in rooms]  # fmt: skip
    problems += _check_rooms(rooms, placed)
    problems += _check_anti_affinity(placed)
    problems += _check_devices(list(claims), placed, slices)
    return problems


def _key(tree: Tree) -> str:
    return f"{tree['metadata']['namespace']}/{tree['metadata']['name']}"


def _check_rooms(rooms: dict[str, Tree], placed: list[Tree]) -> Iterable[str]:
    used: Counter[tuple[str, str]] = Counter()
    for pod in placed:
        name = pod["spec"]["nodeName"]
        used[name, "pods"] += 1000
        for container in pod["spec"]["containers"]:
            for resource, amount in container["resources"].get("requests", {}).items():
                used[name, resource] += _milli(amount)
    for (name, resource), amount in used.items():
        if amount > _milli(rooms.get(name, {}).get(resource, "0")):
            yield f"node {name} is over-committed: {amount} thousandths of {resource}"


def _check_anti_affinity(placed: list[Tree]) -> Iterable[str]:
    """The workloads keep pods apart by host name, so two that exclude each other must not share a node."""
    by_node: dict[str, list[Tree]] = {}
    for pod in placed:
        by_node.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for name, neighbours in by_node.items():
        for pod in neighbours:
            anti = pod["spec"].get("affinity", {}).get("podAntiAffinity", {})
            for term in anti.get("requiredDuringSchedulingIgnoredDuringExecution", ()):
                wanted = term["labelSelector"]["matchLabels"].items()
                for other in neighbours:
                    labels = other["metadata"].get("labels", {})
                    near = other["metadata"]["namespace"] in term["namespaces"] and wanted <= labels.items()
                    if near and other is not pod:
                        yield f"pods {_key(pod)} and {_key(other)} exclude each other and are both on {name}"


def _check_devices(claims: list[Tree], placed: list[Tree], slices: Iterable[Tree]) -> Iterable[str]:
    homes = {
        (s["spec"]["driver"], s["spec"]["pool"]["name"], d["name"]): s["spec"]["nodeName"]
        for s in slices
        for d in s["spec"]["devices"]
    }
    holders: dict[tuple[str, str, str], str] = {}
    by_name = {_key(c): c for c in claims}
    for claim in claims:
        for result in claim["status"].get("allocation", {}).get("devices", {}).get("results", ()):
            device = (result["driver"], result["pool"], result["device"])
            if device not in homes:
                yield f"claim {_key(claim)} has {'/'.join(device)}, which no slice publishes"
            if device in holders:
                yield f"device {'/'.join(device)} is in claims {holders[device]} and {_key(claim)}"
            holders[device] = _key(claim)
    for pod in placed:
        for entry in pod["status"].get("resourceClaimStatuses", ()):
            found = by_name[f"{pod['metadata']['namespace']}/{entry['resourceClaimName']}"]
            yield from _check_claim(pod, found, homes)


def _check_claim(pod: Tree, claim: Tree, homes: dict[tuple[str, str, str], str]) -> Iterable[str]:
    uids = {ref["uid"] for ref in claim["status"].get("reservedFor", ())}
    if pod["metadata"]["uid"] not in uids:
        yield f"pod {_key(pod)} is bound but claim {_key(claim)} is not reserved for it"
    results = claim["status"].get("allocation", {}).get("devices", {}).get("results", ())
    if not results:
        yield f"pod {_key(pod)} is bound but claim {_key(claim)} has no devices"
    for result in results:
        home = homes.get((result["driver"], result["pool"], result["device"]))
        if home != pod["spec"]["nodeName"]:
            yield f"pod {_key(pod)} is on {pod['spec']['nodeName']} but its device {result['device']} is on {home}"

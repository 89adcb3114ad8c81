"""Checks a finished run from the API objects alone. Shares no code with the scheduler on purpose."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

Tree = dict[str, Any]
_SUFFIXES: Final = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12), "P": Fraction(10**15),
    "Ki": Fraction(1 << 10), "Mi": Fraction(1 << 20), "Gi": Fraction(1 << 30), "Ti": Fraction(1 << 40),
    "Pi": Fraction(1 << 50),
}  # fmt: skip
_HOST: Final = "kubernetes.io/hostname"


@lru_cache(maxsize=10_000)
def _amount(text: object) -> Fraction:
    written = str(text)
    digits = written.rstrip("numkMGTPi")
    return Fraction(digits) * _SUFFIXES[written[len(digits) :]]


def verify(
    nodes: Iterable[Tree],
    pods: Iterable[Tree],
    claims: Iterable[Tree],
    slices: Iterable[Tree],
    checks_rooms: bool = True,
) -> list[str]:
    """Return what is wrong with the placements: over-committed nodes, neighbours that exclude each other, devices
    given twice or on another node, pods bound without their claims. Empty means that every placement holds.

    ``checks_rooms`` is off where nodes lose room after pods were placed on them.
    """
    rooms = {n["metadata"]["name"]: n["status"]["allocatable"] for n in nodes}
    placed = [p for p in pods if p["spec"].get("nodeName")]
    problems = [f"pod {_key(p)} is on {p['spec']['nodeName']}, which does not exist" for p in placed
                if p["spec"]["nodeName"] not in rooms]  # fmt: skip
    if checks_rooms:
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
        used[name, "pods"] += 1
        whole = (pod["spec"].get("resources") or {}).get("requests") or {}
        for container in [{"resources": {"requests": whole}}] if whole else pod["spec"]["containers"]:
            for resource, amount in ((container.get("resources") or {}).get("requests") or {}).items():
                used[name, resource] += _amount(amount)  # type: ignore[assignment]
    for (name, resource), amount in used.items():
        # a resource that no node has comes from devices
        is_of_node = name in rooms and (resource in rooms[name] or "/" not in resource)
        if is_of_node and amount > _amount(rooms[name].get(resource, "0")):
            yield f"node {name} is over-committed: {float(amount):g} of {resource}"


def _check_anti_affinity(placed: list[Tree]) -> Iterable[str]:
    """Two pods that exclude each other by host name and equal labels must not share a node."""
    by_node: dict[str, list[Tree]] = {}
    for pod in placed:
        by_node.setdefault(pod["spec"]["nodeName"], []).append(pod)
    for name, neighbours in by_node.items():
        for pod in neighbours:
            for term in _exclusions(pod):
                wanted = term["labelSelector"]["matchLabels"].items()
                near = term.get("namespaces") or [pod["metadata"]["namespace"]]
                for other in neighbours:
                    labels = other["metadata"].get("labels") or {}
                    if other is not pod and other["metadata"]["namespace"] in near and wanted <= labels.items():
                        yield f"pods {_key(pod)} and {_key(other)} exclude each other and are both on {name}"


def _exclusions(pod: Tree) -> Iterable[Tree]:
    """Yield the required terms whose meaning can be told from labels and namespaces alone."""
    anti = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    for term in anti.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        selector = term.get("labelSelector") or {}
        is_plain = selector.get("matchLabels") and not selector.get("matchExpressions")
        if is_plain and term["topologyKey"] == _HOST and term.get("namespaceSelector") is None:
            yield term


def _check_devices(claims: list[Tree], placed: list[Tree], slices: Iterable[Tree]) -> Iterable[str]:
    """A home is the node of a device, None when several nodes can reach it."""
    homes: dict[tuple[str, str, str], str | None] = {}
    shared = set()
    for tree in slices:
        for device in tree["spec"].get("devices") or ():
            key = (tree["spec"]["driver"], tree["spec"]["pool"]["name"], device["name"])
            homes[key] = tree["spec"].get("nodeName")
            if device.get("allowMultipleAllocations"):
                shared.add(key)
    holders: dict[tuple[str, str, str], str] = {}
    by_name = {_key(c): c for c in claims}
    for claim in claims:
        for result in _results(claim):
            device = (result["driver"], result["pool"], result["device"])
            if device not in homes:
                yield f"claim {_key(claim)} has {'/'.join(device)}, which no slice publishes"
            if device in holders and device not in shared and not result.get("adminAccess"):
                yield f"device {'/'.join(device)} is in claims {holders[device]} and {_key(claim)}"
            holders[device] = _key(claim)
    for pod in placed:
        for name in _claims_of(pod):
            found = by_name.get(f"{pod['metadata']['namespace']}/{name}")
            if found is None:
                yield f"pod {_key(pod)} is bound but its claim {name} does not exist"
            else:
                yield from _check_claim(pod, found, homes)


def _results(claim: Tree) -> list[Tree]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    found: list[Tree] = (allocation.get("devices") or {}).get("results") or []
    return found


def _claims_of(pod: Tree) -> Iterable[str]:
    status = pod.get("status") or {}
    names = [e.get("resourceClaimName") for e in status.get("resourceClaimStatuses") or ()]
    names += [e.get("resourceClaimName") for e in pod["spec"].get("resourceClaims") or ()]
    names.append((status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName"))
    return [name for name in names if name]


def _check_claim(pod: Tree, claim: Tree, homes: dict[tuple[str, str, str], str | None]) -> Iterable[str]:
    uids = {ref["uid"] for ref in claim["status"].get("reservedFor") or ()}
    if pod["metadata"]["uid"] not in uids:
        yield f"pod {_key(pod)} is bound but claim {_key(claim)} is not reserved for it"
    if not _results(claim):
        yield f"pod {_key(pod)} is bound but claim {_key(claim)} has no devices"
    for result in _results(claim):
        home = homes.get((result["driver"], result["pool"], result["device"]))
        if home is not None and home != pod["spec"]["nodeName"]:
            yield f"pod {_key(pod)} is on {pod['spec']['nodeName']} but its device {result['device']} is on {home}"

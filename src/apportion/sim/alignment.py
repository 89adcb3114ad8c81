"""Which attribute the devices of a claim have in common because the claim asked for it."""

from collections.abc import Iterable
from typing import Any

from apportion.api.kinds import Tree

DeviceKey = tuple[str, str, str]


def index_devices(slices: Iterable[Tree]) -> dict[DeviceKey, Tree]:
    """Return (driver, pool, device) -> device of all slices; the first one wins."""
    found: dict[DeviceKey, Tree] = {}
    for tree in slices:
        spec = tree["spec"]
        for device in spec.get("devices") or ():
            found.setdefault((spec["driver"], spec["pool"]["name"], device["name"]), device)
    return found


def aligned_attributes(claim: Tree, devices: dict[DeviceKey, Tree]) -> list[str]:
    """Return "attribute=value" for each matchAttribute constraint of an allocated claim."""
    allocation = claim.get("status", {}).get("allocation") or {}
    results = allocation.get("devices", {}).get("results", ())
    found = []
    for constraint in claim["spec"].get("devices", {}).get("constraints", ()):
        name = constraint.get("matchAttribute")
        if name is None:
            continue
        covered = [r for r in results if _covers(constraint.get("requests", ()), r["request"])]
        values = {_value(r, name, devices) for r in covered}
        if covered and len(values) == 1:
            found.append(f"{name.rpartition('/')[2]}={values.pop()}")
    return found


def _covers(requests: Iterable[str], request: str) -> bool:
    listed = list(requests)
    return not listed or request in listed or request.partition("/")[0] in listed


def _value(result: Tree, name: str, devices: dict[DeviceKey, Tree]) -> str:
    device = devices.get((result["driver"], result["pool"], result["device"]), {})
    attributes: dict[str, Any] = device.get("attributes", {})
    own = attributes.get(name) or attributes.get(name.removeprefix(f"{result['driver']}/")) or {}
    return str(next(iter(own.values()), "?"))

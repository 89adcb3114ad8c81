"""What is special about devices: when a taint was added, amounts that are missing, names that are better otherwise.

Source: pkg/apis/resource/v1/defaults.go and pkg/registry/resource upstream.
"""

from collections.abc import Callable
from typing import Final

from apportion.api import Kind, Tree

_DEVICE_GROUP: Final = "resource.k8s.io"


def date_taints(tree: Tree, kind: Kind, now: str) -> Tree:
    """Return the object with a time at each device taint that has none."""
    spec = tree.get("spec")
    if kind.group != _DEVICE_GROUP or not isinstance(spec, dict):
        return tree

    def date(taint: Tree) -> Tree:
        return taint if taint.get("timeAdded") else {**taint, "timeAdded": now}

    if kind.name == "DeviceTaintRule" and isinstance(spec.get("taint"), dict):
        return {**tree, "spec": {**spec, "taint": date(spec["taint"])}}
    if kind.name == "ResourceSlice" and any(d.get("taints") for d in spec.get("devices") or ()):
        devices = [{**d, "taints": [date(t) for t in d["taints"]]} if d.get("taints") else d for d in spec["devices"]]
        return {**tree, "spec": {**spec, "devices": devices}}
    return tree


def complete_slice(tree: Tree) -> Tree:
    """Return a slice in which every amount has a value; one that was not given is zero."""
    spec = tree.get("spec")
    if not isinstance(spec, dict):
        return tree
    spec = _complete_lists(spec, "sharedCounters", lambda s: _complete_amounts(s, "counters"))
    return {**tree, "spec": _complete_lists(spec, "devices", _complete_device)}


def _complete_device(device: Tree) -> Tree:
    device = _complete_lists(device, "consumesCounters", lambda c: _complete_amounts(c, "counters"))
    return _complete_amounts(device, "capacity")


def _complete_lists(tree: Tree, name: str, complete: Callable[[Tree], Tree]) -> Tree:
    return {**tree, name: [complete(item) for item in tree[name]]} if isinstance(tree.get(name), list) else tree


def _complete_amounts(tree: Tree, name: str) -> Tree:
    amounts = tree.get(name)
    if not isinstance(amounts, dict) or all(a.get("value") for a in amounts.values()):
        return tree
    return {**tree, name: {n: {**a, "value": a.get("value") or "0"} for n, a in amounts.items()}}


def list_warnings(tree: Tree, kind: Kind) -> list[str]:
    """Return what is allowed, but should not be."""
    driver = (tree.get("spec") or {}).get("driver") if kind.name == "ResourceSlice" else None
    if driver and driver != driver.lower():
        return [f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters']
    return []

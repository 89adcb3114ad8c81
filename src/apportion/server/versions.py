"""One stored object in several served versions.

Objects are stored in one version. ``api.convert_to_preferred`` brings the older ones up; the way back is here.
Events are stored in the form of the core group. Source: pkg/apis/resource/v1beta1/conversion.go and
pkg/apis/events/v1/conversion.go upstream.
"""

from collections.abc import Callable
from typing import Any, Final

import orjson

from apportion.api import Tree, convert_to_preferred
from apportion.server.resources import Resource

_EVENT_NAMES: Final = (  # core, events.k8s.io
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)


def to_stored(tree: Tree, resource: Resource) -> Tree:
    """Return an object of a served version in the version that is stored."""
    if resource.is_preferred:
        return tree
    if resource.kind.name == "Event":
        return {**_rename(tree, {new: old for old, new in _EVENT_NAMES}), "apiVersion": "v1"}
    return convert_to_preferred(tree, resource.kind)


def to_served(tree: Tree, resource: Resource) -> Tree:
    """Return a stored object in the version of ``resource``."""
    if resource.is_preferred:
        return tree
    if resource.kind.name == "Event":
        tree = _rename(tree, dict(_EVENT_NAMES))
    elif resource.version == "v1beta1" and resource.group == "resource.k8s.io":
        tree = _TO_V1BETA1.get(resource.kind.name, _keep)(tree)
    return {**tree, "apiVersion": resource.api_version}


def encode(tree: Tree) -> bytes:
    """Return the bytes of an object: kind and apiVersion first, so that a list can leave them out."""
    return orjson.dumps({"kind": tree["kind"], "apiVersion": tree["apiVersion"], **tree})


def serve_bytes(raw: bytes, resource: Resource) -> bytes:
    """Return the bytes of a stored object in the version of ``resource``; costs nothing in the stored one."""
    return raw if resource.is_preferred else encode(to_served(orjson.loads(raw), resource))


def _rename(tree: Tree, names: dict[str, str]) -> Tree:
    return {names.get(k, k): v for k, v in tree.items()}


def _keep(tree: Tree) -> Tree:
    return tree


def _map_list(tree: Tree, path: tuple[str, ...], change: Callable[[Any], Any]) -> Tree:
    """Return ``tree`` with ``change`` applied to each item of the list at ``path``, if there is one."""
    child = tree.get(path[0])
    if len(path) > 1:
        return {**tree, path[0]: _map_list(child, path[1:], change)} if isinstance(child, dict) else tree
    return {**tree, path[0]: [change(item) for item in child]} if isinstance(child, list) else tree


def _flatten_request(request: Tree) -> Tree:
    return {**{k: v for k, v in request.items() if k != "exactly"}, **request.get("exactly", {})}


def _nest_device(device: Tree) -> Tree:
    return {"name": device.get("name", ""), "basic": {k: v for k, v in device.items() if k != "name"}}


_TO_V1BETA1: Final[dict[str, Callable[[Tree], Tree]]] = {
    "ResourceClaim": lambda t: _map_list(t, ("spec", "devices", "requests"), _flatten_request),
    "ResourceClaimTemplate": lambda t: _map_list(t, ("spec", "spec", "devices", "requests"), _flatten_request),
    "ResourceSlice": lambda t: _map_list(t, ("spec", "devices"), _nest_device),
}

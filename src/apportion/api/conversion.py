"""Older versions of an object, brought into the shape of the version that we read.

resource.k8s.io v1beta1 and v1alpha3 differ from v1 in two places: a request's fields stand inline instead of
under ``exactly``, and a device's fields stand under ``basic``. In all other groups the versions in the table
of kinds have one shape. Source: k8s.io/kubernetes/pkg/apis/resource/v1beta1/conversion.go, KEP-4381.
"""

from collections.abc import Callable
from typing import Any, Final

from apportion.api.kinds import Kind, Tree, Use, split_api_version
from apportion.base import ValidationError

_INLINE: Final = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)
_OLD_SHAPE: Final = ("v1beta1", "v1alpha3")
# Selectors that DeviceTaintRule had in its first alpha version only.
_GONE_TAINT_SELECTORS: Final = ("deviceClassName", "selectors")


def convert_to_preferred(tree: Tree, kind: Kind) -> Tree:
    """Return the object in the version that ``kind`` lists first; workloads stay in the version they have.

    Raises ValidationError when the version is unknown, or was removed without a successor (classic DRA).
    """
    version = split_api_version(tree["apiVersion"])[1]
    if version == kind.versions[0]:
        return tree
    if version not in kind.versions:
        raise ValidationError("apiVersion", _explain_version(version, kind))
    if kind.use is Use.WORKLOAD:
        return tree  # whoever expands it knows the versions apart
    if kind.group == "resource.k8s.io" and version in _OLD_SHAPE:
        tree = _CONVERTERS.get(kind.name, _keep)(tree)
    return {**tree, "apiVersion": kind.api_version}


def _explain_version(version: str, kind: Kind) -> str:
    if kind.group == "resource.k8s.io" and version in ("v1alpha1", "v1alpha2"):
        return f"{version} is classic DRA, which Kubernetes 1.32 removed; rewrite it for {kind.api_version}"
    return f"unknown version {version} of {kind.name}; known are {', '.join(kind.versions)}"


def _keep(tree: Tree) -> Tree:
    return tree


def _replace(tree: Tree, path: tuple[str, ...], change: Callable[[Any], Any]) -> Tree:
    """Return a copy of ``tree`` with the value at ``path`` changed; as it was when there is none."""
    if not isinstance(tree, dict) or path[0] not in tree:
        return tree
    old = tree[path[0]]
    return {**tree, path[0]: change(old) if len(path) == 1 else _replace(old, path[1:], change)}


def _convert_each(convert: Callable[[Tree], Tree]) -> Callable[[Any], Any]:
    def convert_list(items: Any) -> Any:
        if not isinstance(items, list):
            return items
        return [convert(i) if isinstance(i, dict) else i for i in items]

    return convert_list


def _convert_request(request: Tree) -> Tree:
    inline = {k: request[k] for k in _INLINE if k in request}
    if "exactly" in request or (request.get("firstAvailable") and not inline):
        return request
    outer = {k: v for k, v in request.items() if k not in _INLINE}
    return {**outer, "exactly": inline}


def _convert_device(device: Tree) -> Tree:
    basic = device.get("basic")
    if not isinstance(basic, dict):
        return device
    flat = {**{k: v for k, v in device.items() if k != "basic"}, **basic}
    return _replace(flat, ("capacity",), _convert_capacities)


def _convert_capacities(capacities: Any) -> Any:
    # v1alpha3 had bare quantities here
    if not isinstance(capacities, dict):
        return capacities
    return {name: c if isinstance(c, dict) else {"value": c} for name, c in capacities.items()}


def _convert_claim(tree: Tree) -> Tree:
    return _replace(tree, ("spec", "devices", "requests"), _convert_each(_convert_request))


def _convert_template(tree: Tree) -> Tree:
    return _replace(tree, ("spec", "spec", "devices", "requests"), _convert_each(_convert_request))


def _convert_slice(tree: Tree) -> Tree:
    return _replace(tree, ("spec", "devices"), _convert_each(_convert_device))


def _convert_taint_rule(tree: Tree) -> Tree:
    def drop(selector: Any) -> Any:
        if not isinstance(selector, dict):
            return selector
        return {k: v for k, v in selector.items() if k not in _GONE_TAINT_SELECTORS}

    return _replace(tree, ("spec", "deviceSelector"), drop)


_CONVERTERS: Final[dict[str, Callable[[Tree], Tree]]] = {
    "ResourceClaim": _convert_claim,
    "ResourceClaimTemplate": _convert_template,
    "ResourceSlice": _convert_slice,
    "DeviceTaintRule": _convert_taint_rule,
}

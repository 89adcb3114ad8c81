"""Resizing a pod in place, through its own door. Source: podResizeStrategy and ValidatePodResize upstream."""

from typing import Any, Final

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server.strategies.fields import forbidden, invalid
from apportion.server.strategies.pod_defaults import get_qos_class

_LISTS: Final = ("containers", "initContainers")
_RESIZED: Final = ("resources", "resizePolicy")
_AMOUNTS: Final = ("requests", "limits")
_MUTABLE: Final = ("cpu", "memory")
_MIRROR: Final = "kubernetes.io/config.mirror"


def prepare_resize(new: Tree, old: Tree) -> Tree:
    """Return the pod as it was, with nothing of ``new`` but what its containers, and the pod itself, ask for."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    done = {k: v for k, v in before.items() if k != "resources"}
    for name in _LISTS:
        given = {c.get("name"): c for c in spec.get(name) or ()}
        if name in before:
            done[name] = [_take_resources(given.get(c["name"], c), c) for c in before[name]]
    if "resources" in spec:
        done["resources"] = spec["resources"]
    return {**old, "spec": done}


def _take_resources(given: Tree, before: Tree) -> Tree:
    kept = {k: v for k, v in before.items() if k not in _RESIZED}
    return {**kept, **{k: given[k] for k in _RESIZED if k in given}}


def check_resize(new: Tree, resized: Tree, old: Tree) -> list[ValidationError]:
    """Return what a resize asks for although it must not; ``resized`` is what `prepare_resize` made of ``new``."""
    if _MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("", "static pods cannot be resized")]
    spec, before = resized["spec"], old["spec"]
    if (before.get("os") or {}).get("name") == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    found = []
    qos = get_qos_class(spec)
    if qos != (old.get("status") or {}).get("qosClass", qos):
        found.append(invalid("spec", qos, "Pod QOS Class may not change as a result of resizing"))
    if not _is_supported(old):
        found.append(forbidden("spec", "Pod running on node without support for resize"))
    found += _check_order(new.get("spec") or {}, before)
    for name in _LISTS:
        for i, (container, was) in enumerate(zip(spec.get(name) or (), before.get(name) or (), strict=True)):
            found += _check_container(container, was, f"spec.{name}[{i}]", is_init=name == "initContainers")
    found += _check_removed(spec.get("resources") or {}, before.get("resources") or {}, "spec.resources")
    if _drop_mutable(spec) != _drop_mutable(before):
        found.append(forbidden("spec", "only cpu and memory resources are mutable"))
    return found


def _is_supported(old: Tree) -> bool:
    """Return whether the kubelet of a running pod says what its containers have; one that does not cannot resize."""
    statuses = (old.get("status") or {}).get("containerStatuses") or ()
    return all("resources" in s for s in statuses if "running" in (s.get("state") or {}))


def _check_order(spec: Tree, before: Tree) -> list[ValidationError]:
    found = []
    for name in _LISTS:
        given, known = ([c.get("name") for c in s.get(name) or ()] for s in (spec, before))
        if len(given) != len(known):
            found.append(forbidden(f"spec.{name}", f"{name} may not be added or removed on resize"))
            continue
        for i, (one, other) in enumerate(zip(given, known, strict=True)):
            if one != other:
                found.append(forbidden(f"spec.{name}[{i}].name", f"{name} may not be renamed or reordered on resize"))
    return found


def _check_container(container: Tree, was: Tree, field: str, is_init: bool) -> list[ValidationError]:
    wanted, had = container.get("resources") or {}, was.get("resources") or {}
    if is_init and was.get("restartPolicy") != "Always":
        why = "resources for non-sidecar init containers are immutable"
        return [] if wanted == had else [forbidden(f"{field}.resources", why)]
    return _check_removed(wanted, had, f"{field}.resources")


def _check_removed(wanted: Tree, had: Tree, field: str) -> list[ValidationError]:
    return [
        forbidden(f"{field}.{kind}", f"resource {kind} cannot be removed")
        for kind in _AMOUNTS
        if (had.get(kind) or {}).keys() - (wanted.get(kind) or {}).keys()
    ]


def _drop_mutable(spec: Tree) -> Any:
    """Return a spec without what a resize may change."""
    rest = {k: v for k, v in spec.items() if k != "resources"}
    for name in _LISTS:
        if name in spec:
            rest[name] = [{**c, "resizePolicy": None, "resources": _drop_amounts(c)} for c in spec[name]]
    return {**rest, "resources": _drop_amounts(spec)}


def _drop_amounts(part: Tree) -> Tree:
    resources = part.get("resources") or {}
    kept = {k: v for k, v in resources.items() if k not in _AMOUNTS}
    for kind in _AMOUNTS:
        others = {k: v for k, v in (resources.get(kind) or {}).items() if k not in _MUTABLE}
        if others:
            kept[kind] = others
    return kept

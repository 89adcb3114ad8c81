"""What is checked beyond ``api.validate``: templates of workloads, and which changes an update may make.

Source: pkg/apis/*/validation/validation.go upstream.
"""

from collections.abc import Callable
from typing import Any, Final

import orjson

from apportion.api import (
    CheckCEL,
    Kind,
    Tree,
    compile_label_selector,
    decode_as,
    validate,
    validate_pod_template,
)
from apportion.api.view import LabelSelector
from apportion.base import ValidationError
from apportion.server.strategies.pod_groups import check_pod_group
from apportion.server.strategies.pod_updates import check_pod_update

_TEMPLATED: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})
_FIXED_SELECTOR: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})


def check_object(tree: Tree, kind: Kind, check_cel: CheckCEL | None) -> list[ValidationError]:
    """Return what is wrong with an object after defaults; empty when it is valid."""
    found = _check_owners(tree)
    found += validate(tree, check_cel)
    if kind.name in _TEMPLATED and isinstance(tree.get("spec"), dict):
        found += _check_workload(tree["spec"], kind)
    if kind.name == "PodGroup":
        found += check_pod_group(tree)
    return found


def _check_owners(tree: Tree) -> list[ValidationError]:
    owners = tree["metadata"].get("ownerReferences") or ()
    return [
        ValidationError(f"metadata.ownerReferences[{i}].uid", "Required value: must not be empty")
        for i, owner in enumerate(owners)
        if not owner.get("uid")
    ]


def _check_workload(spec: Tree, kind: Kind) -> list[ValidationError]:
    selector, template = spec.get("selector"), spec.get("template")
    found = []
    if kind.name != "Job" and not selector:
        found.append(ValidationError("spec.selector", "Required value"))
    if not isinstance(template, dict):
        return [*found, ValidationError("spec.template", "Required value")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and kind.name != "Job":
        matcher = compile_label_selector(decode_as(LabelSelector, orjson.dumps(selector)), "spec.selector")
        if not matcher.matches(labels):
            found.append(
                invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
            )
    return found + validate_pod_template(template, "spec.template")


def invalid(field: str, value: Any, why: str) -> ValidationError:
    printed = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return ValidationError(field, f"Invalid value: {printed}: {why}")


# ---- updates ----------------------------------------------------------------------------------------------


def check_update(new: Tree, old: Tree, kind: Kind) -> list[ValidationError]:
    """Return what an update changed although it must not."""
    found = []
    for name in ("name", "namespace", "uid"):
        value, before = new["metadata"].get(name), old["metadata"].get(name)
        if value != before:
            found.append(invalid(f"metadata.{name}", value, "field is immutable"))
    check = _UPDATE_RULES.get((kind.group, kind.name))
    if check is not None:
        found += check(new, old)
    if kind.name in _FIXED_SELECTOR:
        selector = (new.get("spec") or {}).get("selector")
        if selector != (old.get("spec") or {}).get("selector"):
            found.append(invalid("spec.selector", selector, "field is immutable"))
    return found


def _check_claim_update(new: Tree, old: Tree) -> list[ValidationError]:
    found = []
    if new.get("spec") != old.get("spec"):
        found.append(invalid("spec", None, "field is immutable"))
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation = before.get("allocation")
    if allocation and status.get("allocation") and status["allocation"] != allocation:
        found.append(invalid("status.allocation", None, "field cannot be modified once set"))
    if new["metadata"].get("deletionTimestamp"):
        known = [c.get("uid") for c in before.get("reservedFor") or ()]
        if any(c.get("uid") not in known for c in status.get("reservedFor") or ()):
            why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            found.append(ValidationError("status.reservedFor", f"Forbidden: {why}"))
    return found


def _fix(*path: str) -> Callable[[Tree, Tree], list[ValidationError]]:
    """Return a rule that one field must not change."""

    def read(tree: Tree) -> Any:
        value: Any = tree
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def check(new: Tree, old: Tree) -> list[ValidationError]:
        value = read(new)
        return [] if value == read(old) else [invalid(".".join(path), value, "field is immutable")]

    return check


def _fix_all(*paths: tuple[str, ...]) -> Callable[[Tree, Tree], list[ValidationError]]:
    checks = [_fix(*path) for path in paths]
    return lambda new, old: [error for check in checks for error in check(new, old)]


def _check_priority_class(new: Tree, old: Tree) -> list[ValidationError]:
    if new.get("value") == old.get("value"):
        return []
    return [ValidationError("value", "Forbidden: may not be changed in an update.")]


def _check_immutable(new: Tree, old: Tree) -> list[ValidationError]:
    """ConfigMaps and Secrets that were declared immutable."""
    if not old.get("immutable"):
        return []
    names = ("immutable", "data", "binaryData", "type")
    why = "Forbidden: field is immutable when `immutable` is set"
    return [ValidationError(n, why) for n in names if new.get(n) != old.get(n)]


_UPDATE_RULES: Final[dict[tuple[str, str], Callable[[Tree, Tree], list[ValidationError]]]] = {
    ("", "Pod"): check_pod_update,
    ("", "ConfigMap"): _check_immutable,
    ("", "Secret"): _check_immutable,
    ("scheduling.k8s.io", "PriorityClass"): _check_priority_class,
    ("resource.k8s.io", "ResourceClaim"): _check_claim_update,
    ("resource.k8s.io", "ResourceClaimTemplate"): _fix("spec"),
    ("resource.k8s.io", "ResourceSlice"): _fix_all(("spec", "driver"), ("spec", "pool", "name"), ("spec", "nodeName")),
}

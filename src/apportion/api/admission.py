"""Admission without a server: what kube-apiserver would add to new objects, and for which reasons it refuses
them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from apportion.api.core import PriorityClass
from apportion.api.decode import decode_as
from apportion.api.identity import NameGenerator, fill_identity
from apportion.api.kinds import Kind, Tree
from apportion.api.pod_admission import (
    PriorityTable,
    add_default_tolerations,
    apply_runtime_class,
    is_live,
    merge_label_keys,
)
from apportion.base import ValidationError

ADMIN_ACCESS_LABEL: Final = "resource.kubernetes.io/admin-access"
_DEFAULT_CLASS_ANNOTATIONS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


@dataclass(frozen=True, slots=True)
class AdmissionContext:
    """The objects that decide about others. ``now`` is the creation time (RFC 3339) of objects that have
    none.
    """

    names: NameGenerator
    now: str
    priorities: PriorityTable
    runtime_classes: Mapping[str, Tree] = field(default_factory=dict)
    namespace_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    default_storage_class: str | None = None

    @classmethod
    def from_trees(cls, trees: Iterable[Tree], names: NameGenerator, now: str) -> "AdmissionContext":
        """Collect classes and namespaces from valid objects; other kinds are skipped."""
        by_kind: dict[str, dict[str, Tree]] = {}
        for tree in trees:
            kind = tree["kind"]
            if kind in ("PriorityClass", "RuntimeClass", "Namespace", "StorageClass"):
                by_kind.setdefault(kind, {})[tree["metadata"].get("name") or ""] = tree
        classes = by_kind.get("PriorityClass", {})
        return cls(
            names,
            now,
            PriorityTable({n: decode_as(PriorityClass, orjson.dumps(t)) for n, t in classes.items()}),
            by_kind.get("RuntimeClass", {}),
            {n: t["metadata"].get("labels") or {} for n, t in by_kind.get("Namespace", {}).items()},
            _find_default_storage_class(by_kind.get("StorageClass", {})),
        )


def admit(tree: Tree, kind: Kind, context: AdmissionContext) -> Tree:
    """Return the object as the API server would store it: named, dated, and completed from its classes.

    Expects a valid object with defaults. Raises ValidationError when admission refuses it.
    """
    return fill_identity(admit_fields(tree, kind, context), kind, context.names, context.now)


def admit_fields(tree: Tree, kind: Kind, context: AdmissionContext) -> Tree:
    """Return the object completed from its classes; as `admit`, for whoever names and dates objects himself."""
    admit_kind = _ADMITTERS.get((kind.group, kind.name))
    return tree if admit_kind is None else admit_kind(tree, context)


def _admit_pod(tree: Tree, context: AdmissionContext) -> Tree:
    live = is_live(tree)
    spec = tree["spec"]
    if not live:
        spec = add_default_tolerations(merge_label_keys(spec, tree["metadata"].get("labels") or {}))
    spec = apply_runtime_class(context.priorities.admit(spec, live), context.runtime_classes, live)
    return {**tree, "spec": spec}


def _admit_pod_group(tree: Tree, context: AdmissionContext) -> Tree:
    spec = tree.get("spec") or {}
    if is_live(tree) and spec.get("priority") is not None:
        return tree
    name, value, _ = context.priorities.resolve(spec.get("priorityClassName") or "")
    return {**tree, "spec": {**spec, **({"priorityClassName": name} if name else {}), "priority": value}}


# ---- claims -----------------------------------------------------------------------------------------------


def _admit_claim(tree: Tree, context: AdmissionContext) -> Tree:
    _check_admin_access(tree, "spec", tree.get("spec") or {}, context)
    return tree


def _admit_claim_template(tree: Tree, context: AdmissionContext) -> Tree:
    _check_admin_access(tree, "spec.spec", (tree.get("spec") or {}).get("spec") or {}, context)
    return tree


def _check_admin_access(tree: Tree, path: str, spec: Tree, context: AdmissionContext) -> None:
    labels = context.namespace_labels.get(tree["metadata"].get("namespace") or "", {})
    if is_live(tree) or labels.get(ADMIN_ACCESS_LABEL) == "true":
        return
    for i, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            raise ValidationError(
                f"{path}.devices.requests[{i}].adminAccess",
                f"Forbidden: admin access to devices requires the `{ADMIN_ACCESS_LABEL}: true` label on the "
                "containing namespace",
            )


# ---- volumes ----------------------------------------------------------------------------------------------


def _find_default_storage_class(classes: Mapping[str, Tree]) -> str | None:
    def is_default(tree: Tree) -> bool:
        annotations = tree["metadata"].get("annotations") or {}
        return any(annotations.get(a) == "true" for a in _DEFAULT_CLASS_ANNOTATIONS)

    def age(name: str) -> tuple[Any, str]:
        return classes[name]["metadata"].get("creationTimestamp") or "", name

    return max((n for n, t in classes.items() if is_default(t)), key=age, default=None)


def _admit_volume_claim(tree: Tree, context: AdmissionContext) -> Tree:
    spec = tree.get("spec") or {}
    if context.default_storage_class is None or spec.get("storageClassName") is not None:
        return tree
    return {**tree, "spec": {**spec, "storageClassName": context.default_storage_class}}


_ADMITTERS: Final[dict[tuple[str, str], Callable[[Tree, AdmissionContext], Tree]]] = {
    ("", "Pod"): _admit_pod,
    ("", "PersistentVolumeClaim"): _admit_volume_claim,
    ("scheduling.k8s.io", "PodGroup"): _admit_pod_group,
    ("resource.k8s.io", "ResourceClaim"): _admit_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): _admit_claim_template,
}

"""Rules for ``metadata`` and for label selectors, which all kinds share."""

import re
from typing import Any, Final

from apportion.api.kinds import Kind
from apportion.api.validation.names import (
    check_dns_label,
    check_dns_subdomain,
    check_label_value,
    check_qualified_name,
)
from apportion.api.validation.report import FieldErrors
from apportion.api.view import LabelSelector, LabelSelectorRequirement, ObjectMeta

# Longer prefixes of generated names are cut by the API server.
GENERATED_BASE_MAX: Final = 58
_STANDARD_FINALIZERS: Final = ("orphan", "foregroundDeletion", "kubernetes")
_ANNOTATIONS_BYTES_MAX: Final = 256 * 1024
_DNS_LABEL_KINDS: Final = ("Namespace", "Service")


def validate_metadata(errors: FieldErrors, meta: ObjectMeta, kind: Kind, generate_name: Any) -> None:
    """Check name, labels, annotations, finalizers and owners; ``generate_name`` is what was written, if
    anything.
    """
    check = check_dns_label if kind.name in _DNS_LABEL_KINDS else check_dns_subdomain
    if meta.name:
        errors.check_format("metadata.name", meta.name, check(meta.name))
    elif not generate_name:
        errors.required("metadata.name", "name or generateName is required")
    if generate_name and not isinstance(generate_name, str):
        errors.add("metadata.generateName", "Expected str")
    elif generate_name:  # a dash at its end is followed by more
        problems = check(re.sub("-$", "a", generate_name[:GENERATED_BASE_MAX]))
        errors.check_format("metadata.generateName", generate_name, problems)
    if kind.namespaced and meta.namespace:
        errors.check_format("metadata.namespace", meta.namespace, check_dns_label(meta.namespace))
    validate_labels(errors, "metadata.labels", meta.labels)
    _validate_annotations(errors, meta.annotations)
    for i, finalizer in enumerate(meta.finalizers):
        field = f"metadata.finalizers[{i}]"
        errors.check_format(field, finalizer, check_qualified_name(finalizer))
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            errors.invalid(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified")
    _validate_owners(errors, meta)


def _validate_annotations(errors: FieldErrors, annotations: dict[str, str]) -> None:
    bytes_total = 0
    for key, value in annotations.items():
        errors.check_format("metadata.annotations", key, check_qualified_name(key.lower()))
        bytes_total += len(key) + len(value)
    if bytes_total > _ANNOTATIONS_BYTES_MAX:
        errors.too_long("metadata.annotations", _ANNOTATIONS_BYTES_MAX)


def _validate_owners(errors: FieldErrors, meta: ObjectMeta) -> None:
    controllers = [o for o in meta.owner_references if o.controller]
    for i, owner in enumerate(meta.owner_references):
        for name, value in (("apiVersion", owner.api_version), ("kind", owner.kind), ("name", owner.name)):
            if not value:
                errors.required(f"metadata.ownerReferences[{i}].{name}", "must not be empty")
    if len(controllers) > 1:
        errors.invalid(
            "metadata.ownerReferences",
            [o.name for o in controllers],
            "only one reference can have controller set to true",
        )


def validate_labels(errors: FieldErrors, field: str, labels: dict[str, str]) -> None:
    """Check the keys and values of labels or of a node selector."""
    for key, value in labels.items():
        problems = check_qualified_name(key)
        if problems:
            errors.check_format(field, key, problems)
        problems = check_label_value(value)
        if problems:
            errors.check_format(field, value, problems)


def validate_label_selector(errors: FieldErrors, field: str, selector: LabelSelector | None) -> None:
    """Check a label selector; None is valid."""
    if selector is None:
        return
    validate_labels(errors, f"{field}.matchLabels", selector.match_labels)
    for i, requirement in enumerate(selector.match_expressions):
        _validate_requirement(errors, f"{field}.matchExpressions[{i}]", requirement)


def _validate_requirement(errors: FieldErrors, field: str, requirement: LabelSelectorRequirement) -> None:
    operator = requirement.operator
    if operator in ("In", "NotIn"):
        if not requirement.values:
            errors.required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if requirement.values:
            errors.forbidden(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        errors.invalid(f"{field}.operator", operator, "not a valid selector operator")
    errors.check_format(f"{field}.key", requirement.key, check_qualified_name(requirement.key))
    for i, value in enumerate(requirement.values):
        errors.check_format(f"{field}.values[{i}]", value, check_label_value(value))

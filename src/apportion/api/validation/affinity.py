"""Rules for where a pod may go: node and pod affinity, topology spread, tolerations, taints."""

from typing import Final

from apportion.api.core import (
    Affinity,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
)
from apportion.api.validation.metadata import validate_label_selector
from apportion.api.validation.names import check_dns_label, check_label_value, check_qualified_name
from apportion.api.validation.report import FieldErrors
from apportion.api.view import LabelSelectorRequirement, NodeSelector, NodeSelectorTerm

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_POLICIES: Final = ("Honor", "Ignore")


def validate_affinity(errors: FieldErrors, field: str, affinity: Affinity | None) -> None:
    """Check node affinity, pod affinity and pod anti-affinity; None is valid."""
    if affinity is None:
        return
    if affinity.node_affinity is not None:
        _validate_node_affinity(errors, f"{field}.nodeAffinity", affinity.node_affinity)
    _validate_pod_affinity(errors, f"{field}.podAffinity", affinity.pod_affinity)
    _validate_pod_affinity(errors, f"{field}.podAntiAffinity", affinity.pod_anti_affinity)


def _validate_node_affinity(errors: FieldErrors, field: str, affinity: NodeAffinity) -> None:
    if affinity.required is not None:
        validate_node_selector(errors, f"{field}.{_REQUIRED}", affinity.required)
    for i, term in enumerate(affinity.preferred):
        path = f"{field}.{_PREFERRED}[{i}]"
        _validate_weight(errors, path, term.weight)
        _validate_node_term(errors, f"{path}.preference", term.preference)


def _validate_weight(errors: FieldErrors, field: str, weight: int) -> None:
    if not 1 <= weight <= 100:
        errors.invalid(f"{field}.weight", weight, "must be in the range 1-100")


def validate_node_selector(errors: FieldErrors, field: str, selector: NodeSelector) -> None:
    """Check a node selector, which needs at least one term."""
    path = f"{field}.nodeSelectorTerms"
    if not selector.node_selector_terms:
        errors.required(path, "must have at least one node selector term")
    for i, term in enumerate(selector.node_selector_terms):
        _validate_node_term(errors, f"{path}[{i}]", term)


def _validate_node_term(errors: FieldErrors, field: str, term: NodeSelectorTerm) -> None:
    for i, requirement in enumerate(term.match_expressions):
        _validate_node_requirement(errors, f"{field}.matchExpressions[{i}]", requirement)
    for i, requirement in enumerate(term.match_fields):
        _validate_node_field(errors, f"{field}.matchFields[{i}]", requirement)


def _validate_node_requirement(errors: FieldErrors, field: str, requirement: LabelSelectorRequirement) -> None:
    operator, values = requirement.operator, requirement.values
    if operator in ("In", "NotIn"):
        if not values:
            errors.required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.forbidden(f"{field}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.required(f"{field}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        errors.invalid(f"{field}.operator", operator, "not a valid selector operator")
    errors.check_format(f"{field}.key", requirement.key, check_qualified_name(requirement.key))
    for i, value in enumerate(values):
        errors.check_format(f"{field}.values[{i}]", value, check_label_value(value))


def _validate_node_field(errors: FieldErrors, field: str, requirement: LabelSelectorRequirement) -> None:
    if requirement.operator not in ("In", "NotIn"):
        errors.invalid(f"{field}.operator", requirement.operator, "not a valid selector operator")
    elif len(requirement.values) != 1:
        errors.required(
            f"{field}.values",
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        )
    if requirement.key != "metadata.name":
        errors.invalid(f"{field}.key", requirement.key, "not a valid field selector key")


def _validate_pod_affinity(errors: FieldErrors, field: str, affinity: PodAffinity | None) -> None:
    if affinity is None:
        return
    for i, term in enumerate(affinity.required):
        _validate_pod_term(errors, f"{field}.{_REQUIRED}[{i}]", term)
    for i, weighted in enumerate(affinity.preferred):
        path = f"{field}.{_PREFERRED}[{i}]"
        _validate_weight(errors, path, weighted.weight)
        _validate_pod_term(errors, f"{path}.podAffinityTerm", weighted.pod_affinity_term)


def _validate_pod_term(errors: FieldErrors, field: str, term: PodAffinityTerm) -> None:
    validate_label_selector(errors, f"{field}.labelSelector", term.label_selector)
    validate_label_selector(errors, f"{field}.namespaceSelector", term.namespace_selector)
    for i, namespace in enumerate(term.namespaces):
        errors.check_format(f"{field}.namespaces[{i}]", namespace, check_dns_label(namespace))
    for name, keys in (
        ("matchLabelKeys", term.match_label_keys),
        ("mismatchLabelKeys", term.mismatch_label_keys),
    ):
        if keys and term.label_selector is None:
            errors.forbidden(f"{field}.{name}", "must not be specified when labelSelector is not set")
        _validate_keys(errors, f"{field}.{name}", keys)
    if not term.topology_key:
        errors.required(f"{field}.topologyKey", "can not be empty")
    errors.check_format(f"{field}.topologyKey", term.topology_key, check_qualified_name(term.topology_key))


def _validate_keys(errors: FieldErrors, field: str, keys: tuple[str, ...]) -> None:
    for i, key in enumerate(keys):
        errors.check_format(f"{field}[{i}]", key, check_qualified_name(key))


def validate_spread_constraint(errors: FieldErrors, field: str, constraint: TopologySpreadConstraint) -> None:
    """Check one topology spread constraint."""
    if constraint.max_skew <= 0:
        errors.invalid(f"{field}.maxSkew", constraint.max_skew, "must be greater than zero")
    if not constraint.topology_key:
        errors.required(f"{field}.topologyKey", "can not be empty")
    when = constraint.when_unsatisfiable
    errors.check_choice(f"{field}.whenUnsatisfiable", when, ("DoNotSchedule", "ScheduleAnyway"))
    if constraint.min_domains is not None:
        if constraint.min_domains <= 0:
            errors.invalid(f"{field}.minDomains", constraint.min_domains, "must be greater than zero")
        if when != "DoNotSchedule":
            why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
            errors.invalid(f"{field}.minDomains", constraint.min_domains, why)
    errors.check_choice(f"{field}.nodeAffinityPolicy", constraint.node_affinity_policy, _POLICIES)
    errors.check_choice(f"{field}.nodeTaintsPolicy", constraint.node_taints_policy, _POLICIES)
    if constraint.match_label_keys and constraint.label_selector is None:
        errors.forbidden(f"{field}.matchLabelKeys", "must not be specified when labelSelector is not set")
    _validate_keys(errors, f"{field}.matchLabelKeys", constraint.match_label_keys)
    validate_label_selector(errors, f"{field}.labelSelector", constraint.label_selector)


def validate_toleration(errors: FieldErrors, field: str, toleration: Toleration) -> None:
    """Check one toleration of a pod; numeric comparison passes, whether the gate is on or not."""
    operator = toleration.operator
    if toleration.key:
        errors.check_format(f"{field}.key", toleration.key, check_qualified_name(toleration.key))
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        errors.invalid(f"{field}.operator", operator, why)
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        errors.invalid(
            f"{field}.effect", toleration.effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
        )
    if operator in ("", "Equal"):
        errors.check_format(f"{field}.operator", toleration.value, check_label_value(toleration.value))
    elif operator == "Exists":
        if toleration.value:
            errors.invalid(f"{field}.operator", toleration.value, "value must be empty when `operator` is 'Exists'")
    elif operator not in ("Gt", "Lt"):
        errors.unsupported(f"{field}.operator", operator, ("Equal", "Exists"))
    if toleration.effect:
        errors.check_choice(f"{field}.effect", toleration.effect, _TAINT_EFFECTS)


def validate_taints(errors: FieldErrors, field: str, taints: tuple[Taint, ...]) -> None:
    """Check the taints of a node: one for each key and effect."""
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        path = f"{field}[{i}]"
        errors.check_format(f"{path}.key", taint.key, check_qualified_name(taint.key))
        errors.check_format(f"{path}.value", taint.value, check_label_value(taint.value))
        if not taint.effect:
            errors.required(f"{path}.effect")
        else:
            errors.check_choice(f"{path}.effect", taint.effect, _TAINT_EFFECTS)
        if (taint.key, taint.effect) in seen:
            errors.duplicate(path, taint)
        seen.add((taint.key, taint.effect))

"""Rules for ResourceClaims and their templates (upstream: pkg/apis/resource/validation)."""

from typing import Any, Final

from apportion.api.kinds import Tree
from apportion.api.quantity import parse_quantity
from apportion.api.resource import (
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimTemplate,
)
from apportion.api.validation.allocation import REFERENCE_TEXT, validate_claim_status
from apportion.api.validation.devices import (
    CheckCEL,
    validate_expression,
    validate_fully_qualified,
    validate_opaque,
    validate_qualified_id,
    validate_selectors,
    validate_tolerations,
)
from apportion.api.validation.names import check_dns_label, check_dns_subdomain
from apportion.api.validation.report import FieldErrors
from apportion.base import InputError

REQUESTS_MAX: Final = 32
SUB_REQUESTS_MAX: Final = 8
CONSTRAINTS_MAX: Final = 32
CONFIGS_MAX: Final = 32
DERIVED_ATTRIBUTES_MAX: Final = 32
_ONE_OF: Final = "exactly one of `exactly` or `firstAvailable` is required"
# Word for word upstream's text, which it prints when neither is set; both together pass.
_ONE_ATTRIBUTE: Final = (
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
)


def validate_claim(errors: FieldErrors, claim: ResourceClaim, tree: Tree, check_cel: CheckCEL | None) -> None:
    """Check a claim's spec, and its status when it has one."""
    devices = (tree.get("spec") or {}).get("devices") or {}
    validate_claim_devices(errors, "spec.devices", claim.spec.devices, devices, check_cel)
    validate_claim_status(errors, claim)


def validate_claim_template(
    errors: FieldErrors, template: ResourceClaimTemplate, tree: Tree, check_cel: CheckCEL | None
) -> None:
    """Check a claim template."""
    for name in ("name", "namespace"):
        if ((tree.get("spec") or {}).get("metadata") or {}).get(name):
            errors.forbidden(f"spec.metadata.{name}", "cannot be set")
    devices = ((tree.get("spec") or {}).get("spec") or {}).get("devices") or {}
    validate_claim_devices(errors, "spec.spec.devices", template.spec.spec.devices, devices, check_cel)


def validate_claim_devices(
    errors: FieldErrors, field: str, claim: DeviceClaim, tree: Tree, check_cel: CheckCEL | None
) -> None:
    """Check requests, constraints and configuration; ``tree`` is the same part as it was written."""
    known = request_names(claim)
    seen: set[str] = set()
    for i, request in errors.bounded(f"{field}.requests", claim.requests, REQUESTS_MAX):
        path = f"{field}.requests[{i}]"
        errors.check_format(f"{path}.name", request.name, check_dns_label(request.name))
        if request.name in seen:
            errors.duplicate(path, tree["requests"][i])
        seen.add(request.name)
        _validate_request(errors, path, request, tree["requests"][i], check_cel)
    for i, constraint in errors.bounded(f"{field}.constraints", claim.constraints, CONSTRAINTS_MAX):
        _validate_constraint(errors, f"{field}.constraints[{i}]", constraint, known)
    for i, config in errors.bounded(f"{field}.config", claim.config, CONFIGS_MAX):
        path = f"{field}.config[{i}]"
        _validate_references(errors, f"{path}.requests", config.requests, known)
        validate_opaque(errors, f"{path}.opaque", config.opaque, tree["config"][i].get("opaque"))


def request_names(claim: DeviceClaim) -> frozenset[str]:
    """Return what a reference may name: ``request`` and ``request/subrequest``."""
    subs = {f"{r.name}/{s.name}" for r in claim.requests for s in r.first_available}
    return frozenset(subs | {r.name for r in claim.requests})


def _validate_request(
    errors: FieldErrors, field: str, request: DeviceRequest, tree: Any, check_cel: CheckCEL | None
) -> None:
    if request.exactly is not None and request.first_available:
        errors.invalid(field, None, f"{_ONE_OF}, but multiple fields are set")
    elif request.exactly is not None:
        _validate_device_request(errors, f"{field}.exactly", request.exactly, check_cel)
    elif request.first_available:
        _validate_alternatives(errors, f"{field}.firstAvailable", request, tree["firstAvailable"], check_cel)
    else:
        errors.required(field, _ONE_OF)


def _validate_alternatives(
    errors: FieldErrors, field: str, request: DeviceRequest, tree: Any, check_cel: CheckCEL | None
) -> None:
    seen: set[str] = set()
    for i, sub in errors.bounded(field, request.first_available, SUB_REQUESTS_MAX):
        path = f"{field}[{i}]"
        errors.check_format(f"{path}.name", sub.name, check_dns_label(sub.name))
        if sub.name in seen:
            errors.duplicate(path, tree[i])
        seen.add(sub.name)
        _validate_device_request(errors, path, sub, check_cel)


def _validate_device_request(
    errors: FieldErrors,
    field: str,
    request: ExactDeviceRequest | DeviceSubRequest,
    check_cel: CheckCEL | None,
) -> None:
    if not request.device_class_name:
        errors.required(f"{field}.deviceClassName")
    else:
        name = request.device_class_name
        errors.check_format(f"{field}.deviceClassName", name, check_dns_subdomain(name))
    validate_selectors(errors, f"{field}.selectors", request.selectors, check_cel)
    _validate_amount(errors, field, request.allocation_mode, request.count)
    validate_tolerations(errors, f"{field}.tolerations", request.tolerations)
    if request.capacity is not None:
        for name, raw in request.capacity.requests.items():
            path = f"{field}.capacity.requests[{name}]"
            validate_qualified_id(errors, path, name)
            try:
                parse_quantity(raw)
            except InputError as error:
                errors.add(path, str(error))
    derived_field = f"{field}.derivedAttributes"
    for i, derived in errors.bounded(derived_field, request.derived_attributes, DERIVED_ATTRIBUTES_MAX):
        path = f"{derived_field}[{i}]"
        validate_qualified_id(errors, f"{path}.name", derived.name)
        validate_expression(errors, f"{path}.expression", derived.expression, None)


def _validate_amount(errors: FieldErrors, field: str, mode: str, count: int) -> None:
    if mode == "All":
        if count:
            errors.invalid(f"{field}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount":
        if count <= 0:
            errors.invalid(f"{field}.count", count, "must be greater than zero")
    else:
        errors.unsupported(f"{field}.allocationMode", mode, ("All", "ExactCount"))


def _validate_constraint(errors: FieldErrors, field: str, constraint: DeviceConstraint, known: frozenset[str]) -> None:
    _validate_references(errors, f"{field}.requests", constraint.requests, known)
    match, distinct = constraint.match_attribute, constraint.distinct_attribute
    if match is not None:
        validate_fully_qualified(errors, f"{field}.matchAttribute", match)
    if distinct is not None:
        validate_fully_qualified(errors, f"{field}.distinctAttribute", distinct)
    if match is None and distinct is None:
        errors.required(field, _ONE_ATTRIBUTE)


def _validate_references(errors: FieldErrors, field: str, references: tuple[str, ...], known: frozenset[str]) -> None:
    for i, reference in errors.bounded(field, references, REQUESTS_MAX):
        if reference not in known:
            errors.invalid(f"{field}[{i}]", reference, REFERENCE_TEXT)
        elif reference in references[:i]:
            errors.duplicate(f"{field}[{i}]", reference)

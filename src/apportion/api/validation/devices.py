"""Rules that requests and devices share: driver and attribute names, tolerations, taints, selectors,
configuration.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import orjson

from apportion.api.core import Toleration
from apportion.api.resource import DeviceSelector, DeviceTaint, OpaqueDeviceConfiguration
from apportion.api.validation.names import (
    check_c_identifier,
    check_dns_subdomain,
    check_label_value,
    check_qualified_name,
)
from apportion.api.validation.report import FieldErrors

# Gets a CEL expression and returns what is wrong with it, or None. The CEL room provides it; without one,
# only the length of expressions is checked.
CheckCEL: TypeAlias = Callable[[str], str | None]

DRIVER_BYTES_MAX: Final = 63
DOMAIN_BYTES_MAX: Final = 63
IDENTIFIER_BYTES_MAX: Final = 32
SELECTORS_MAX: Final = 32
EXPRESSION_BYTES_MAX: Final = 10 * 1024
PARAMETERS_BYTES_MAX: Final = 10 * 1024
TAINTS_MAX: Final = 16
_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_FULLY_QUALIFIED_TEXT: Final = "a fully qualified name must be a domain and a name separated by a slash"


def validate_driver(errors: FieldErrors, field: str, driver: str) -> None:
    """Check a driver name: a DNS subdomain of up to 63 bytes, upper case allowed."""
    if not driver:
        errors.required(field)
        return
    errors.check_length(field, driver, DRIVER_BYTES_MAX)
    errors.check_format(field, driver, check_dns_subdomain(driver.lower()))


def validate_qualified_id(errors: FieldErrors, field: str, name: str) -> None:
    """Check an attribute or capacity name: a C identifier, with or without a domain before a slash."""
    domain, slash, identifier = name.rpartition("/")
    if not identifier and not slash:
        errors.required(field, "name must not be empty")
        return
    if slash:
        if not domain:
            errors.required(field, "the domain must not be empty")
        elif not errors.check_length(field, domain, DOMAIN_BYTES_MAX):
            errors.check_format(field, domain, check_dns_subdomain(domain.lower()))
        if not identifier:
            errors.required(field, "the name must not be empty")
            return
    if not errors.check_length(field, identifier, IDENTIFIER_BYTES_MAX):
        errors.check_format(field, identifier, check_c_identifier(identifier))


def validate_fully_qualified(errors: FieldErrors, field: str, name: str) -> None:
    """Check a name that must have a domain, such as the attribute of a constraint."""
    if not name:
        errors.required(field)
    elif "/" not in name:
        errors.invalid(field, name, _FULLY_QUALIFIED_TEXT)
    else:
        validate_qualified_id(errors, field, name)


def validate_selectors(
    errors: FieldErrors, field: str, selectors: tuple[DeviceSelector, ...], check_cel: CheckCEL | None
) -> None:
    """Check CEL selectors: present, not too long, and what ``check_cel`` says of them."""
    for i, selector in errors.bounded(field, selectors, SELECTORS_MAX):
        if selector.cel is None:
            errors.required(f"{field}[{i}].cel")
        else:
            validate_expression(errors, f"{field}[{i}].cel.expression", selector.cel.expression, check_cel)


def validate_expression(errors: FieldErrors, field: str, expression: str, check_cel: CheckCEL | None) -> None:
    """Check one CEL expression."""
    if errors.check_length(field, expression, EXPRESSION_BYTES_MAX):
        return
    if not expression and check_cel is None:
        errors.required(field)
    problem = check_cel(expression) if check_cel is not None else None
    if problem is not None:
        errors.invalid(field, expression, problem)


def validate_tolerations(errors: FieldErrors, field: str, tolerations: tuple[Toleration, ...]) -> None:
    """Check the tolerations of a device request."""
    for i, toleration in errors.bounded(field, tolerations, TAINTS_MAX):
        path = f"{field}[{i}]"
        if toleration.key:
            errors.check_format(f"{path}.key", toleration.key, check_qualified_name(toleration.key))
        if toleration.operator == "Exists":
            if toleration.value:
                errors.invalid(f"{path}.value", toleration.value, "must be empty for operator `Exists`")
        elif toleration.operator == "Equal":
            errors.check_format(f"{path}.value", toleration.value, check_label_value(toleration.value))
        else:
            errors.unsupported(f"{path}.operator", toleration.operator, ("Equal", "Exists"))
        if toleration.effect:
            errors.check_choice(f"{path}.effect", toleration.effect, _EFFECTS)


def validate_device_taint(errors: FieldErrors, field: str, taint: DeviceTaint) -> None:
    """Check the taint of a device or of a taint rule."""
    errors.check_format(f"{field}.key", taint.key, check_qualified_name(taint.key))
    if taint.value:
        errors.check_format(f"{field}.value", taint.value, check_label_value(taint.value))
    if not taint.effect:
        errors.required(f"{field}.effect")
    else:
        errors.check_choice(f"{field}.effect", taint.effect, _EFFECTS)


def validate_opaque(errors: FieldErrors, field: str, opaque: OpaqueDeviceConfiguration | None, tree: Any) -> None:
    """Check driver parameters; ``tree`` is the same part as written, where absent and empty differ."""
    if opaque is None:
        errors.required(field)
        return
    validate_driver(errors, f"{field}.driver", opaque.driver)
    parameters = tree.get("parameters")
    if parameters is None:
        errors.required(f"{field}.parameters")
    elif not isinstance(parameters, dict):
        errors.invalid(f"{field}.parameters", "<value omitted>", "must be a valid JSON object")
    elif len(orjson.dumps(parameters)) > PARAMETERS_BYTES_MAX:
        errors.too_long(f"{field}.parameters", PARAMETERS_BYTES_MAX)

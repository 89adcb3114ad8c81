"""Rules for the capacity of a device and the policy for requests of a share of it (KEP-5075)."""

from typing import Final

from apportion.api.quantity import Quantity, parse_quantity
from apportion.api.resource import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity
from apportion.api.validation.report import FieldErrors
from apportion.api.view import QuantityText
from apportion.base import InputError

VALID_VALUES_MAX: Final = 10
_ONE_OF: Final = "exactly one of `validValues` or `validRange` is required"


def read_quantity(errors: FieldErrors, field: str, raw: QuantityText | None) -> Quantity | None:
    """Return the quantity; None when it is absent, or after recording that it is none."""
    if raw is None:
        return None
    try:
        return parse_quantity(raw)
    except InputError as error:
        errors.add(field, str(error))
        return None


def validate_capacity(errors: FieldErrors, field: str, capacity: DeviceCapacity, shareable: bool) -> None:
    """Check one capacity; a request policy needs a device that several claims may share."""
    total = read_quantity(errors, f"{field}.value", capacity.value)
    policy = capacity.request_policy
    if policy is None:
        return
    if not shareable:
        errors.forbidden(f"{field}.requestPolicy", "allowMultipleAllocations must be true")
        return
    _validate_policy(errors, f"{field}.requestPolicy", policy, total)


def _validate_policy(errors: FieldErrors, field: str, policy: CapacityRequestPolicy, total: Quantity | None) -> None:
    default = read_quantity(errors, f"{field}.default", policy.default)
    if policy.default is None and (policy.valid_values or policy.valid_range is not None):
        errors.required(f"{field}.default")
    elif default is not None and total is not None and total < default:
        errors.invalid(f"{field}.default", str(default), f"default is more than capacity value: {total}")
    if policy.valid_values and policy.valid_range is not None:
        errors.forbidden(field, f"{_ONE_OF}, but multiple fields are set")
    elif policy.valid_values:
        _validate_values(errors, f"{field}.validValues", policy.valid_values, default, total)
    elif policy.valid_range is not None:
        _validate_range(errors, f"{field}.validRange", policy.valid_range, default, total)


def _validate_values(
    errors: FieldErrors,
    field: str,
    values: tuple[QuantityText, ...],
    default: Quantity | None,
    total: Quantity | None,
) -> None:
    last: Quantity | None = None
    found = False
    for i, raw in errors.bounded(field, values, VALID_VALUES_MAX):
        path = f"{field}[{i}]"
        value = read_quantity(errors, path, raw)
        if value is None:
            continue
        if total is not None and total < value:
            errors.invalid(path, str(value), f"option is larger than capacity value: {total}")
        if last is not None and value == last:
            errors.duplicate(path, str(value))
        elif last is not None and value < last:
            errors.invalid(field, str(value), "values must be sorted in ascending order")
        last = value
        found = found or value == default
    if default is not None and not found:
        errors.invalid(field, str(default), "default value is not valid according to the requestPolicy")


def _validate_range(
    errors: FieldErrors,
    field: str,
    valid: CapacityRequestPolicyRange,
    default: Quantity | None,
    total: Quantity | None,
) -> None:
    low = read_quantity(errors, f"{field}.min", valid.min)
    high = read_quantity(errors, f"{field}.max", valid.max)
    step = read_quantity(errors, f"{field}.step", valid.step)
    if valid.min is None:
        errors.required(f"{field}.min")
    if low is not None and default is not None and default < low:
        errors.invalid(f"{field}.default", str(default), f"default is less than min: {low}")
    if low is not None and total is not None and total < low:
        errors.invalid(f"{field}.min", str(low), f"min is larger than capacity value: {total}")
    if high is not None:
        _validate_upper_bound(errors, field, low, high, default, total)
    if step is not None and low is not None:
        _validate_step(errors, field, low, step, {"default": default, "max": high}, total)


def _validate_upper_bound(
    errors: FieldErrors,
    field: str,
    low: Quantity | None,
    high: Quantity,
    default: Quantity | None,
    total: Quantity | None,
) -> None:
    if low is not None and high < low:
        errors.invalid(f"{field}.max", str(low), f"min is larger than max: {high}")
    if default is not None and high < default:
        errors.invalid(f"{field}.default", str(default), f"default is more than max: {high}")
    if total is not None and total < high:
        errors.invalid(f"{field}.max", str(high), f"max is larger than capacity value: {total}")


def _validate_step(
    errors: FieldErrors,
    field: str,
    low: Quantity,
    step: Quantity,
    aligned: dict[str, Quantity | None],
    total: Quantity | None,
) -> None:
    if step.nano <= 0:
        errors.invalid(f"{field}.step", str(step), "must be greater than zero")
        return
    if total is not None and total < low + step:
        errors.invalid(f"{field}.step", str(step), f"one step {low + step} is larger than capacity value: {total}")
    for name, value in aligned.items():
        if value is not None and low <= value and (value.nano - low.nano) % step.nano:
            errors.invalid(
                f"{field}.{name}", str(value), f"value is not a multiple of a given step ({step}) from {low}"
            )

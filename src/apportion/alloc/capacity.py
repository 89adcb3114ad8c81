"""Consumable capacity: how much of a capacity one allocation takes (KEP-5075)."""

from collections.abc import Mapping

from apportion.alloc.features import Features
from apportion.alloc.signature import Capacity, Signature
from apportion.api.quantity import NANO, Quantity, parse_quantity
from apportion.api.resource import CapacityRequestPolicy, CapacityRequestPolicyRange
from apportion.api.view import QuantityText

_MILLI = NANO // 1000


def find_amounts(
    signature: Signature, requests: Mapping[str, QuantityText], features: Features
) -> tuple[Quantity, ...] | None:
    """Return what one allocation takes of each capacity, in the order of ``signature.capacity``.

    None when an unused device could not serve it: it lacks a requested capacity, has too little, or its
    request policy forbids the amount. Follows ``getConsumedCapacity`` of the structured allocator, but
    compares a policy's default by amount, not by notation.
    """
    if any(name not in (c.name for c in signature.capacity) for name in requests):
        return None
    amounts = []
    for capacity in signature.capacity:
        amount = _round_request(capacity, requests.get(capacity.name), features)
        if amount.nano > capacity.value_nano or _is_forbidden(amount, capacity.policy, features):
            return None
        amounts.append(amount)
    return tuple(amounts)


def _round_request(capacity: Capacity, request: QuantityText | None, features: Features) -> Quantity:
    policy = capacity.policy
    if request is None:
        if policy is not None and policy.default is not None:
            return parse_quantity(policy.default)
        return parse_quantity(capacity.text)
    asked = parse_quantity(request)
    if policy is None:
        return asked
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _round_to_range(asked, policy.valid_range, features)
    return _round_to_values(asked, policy.valid_values)


def _round_to_values(asked: Quantity, valid: tuple[QuantityText, ...]) -> Quantity:
    larger = [q for q in map(parse_quantity, valid) if q.nano >= asked.nano]
    return min(larger) if larger else asked


def _round_to_range(asked: Quantity, valid: CapacityRequestPolicyRange, features: Features) -> Quantity:
    assert valid.min is not None
    low = parse_quantity(valid.min)
    if asked < low:
        return low
    if valid.step is None:
        return asked
    unit = _get_unit_nano(valid, features)
    start, step = _to_units(low, unit), _to_units(parse_quantity(valid.step), unit)
    if step <= 0:
        return asked
    steps = -(-(_to_units(asked, unit) - start) // step)
    return Quantity((start + step * steps) * unit, "BinarySI" if unit == NANO else "DecimalSI")


def _get_unit_nano(valid: CapacityRequestPolicyRange, features: Features) -> int:
    """Return the grain that steps are counted in: thousandths when a bound is fractional."""
    bounds = [parse_quantity(b) for b in (valid.min, valid.max, valid.step) if b is not None]
    is_fractional = any(q.nano % NANO for q in bounds)
    return _MILLI if is_fractional and features.fractional_range else NANO


def _to_units(quantity: Quantity, unit_nano: int) -> int:
    return -(-quantity.nano // unit_nano)


def _is_forbidden(amount: Quantity, policy: CapacityRequestPolicy | None, features: Features) -> bool:
    if policy is None or (policy.default is not None and parse_quantity(policy.default) == amount):
        return False
    if policy.valid_range is not None:
        return _is_out_of_range(amount, policy.valid_range, features)
    return bool(policy.valid_values) and all(parse_quantity(v) != amount for v in policy.valid_values)


def _is_out_of_range(amount: Quantity, valid: CapacityRequestPolicyRange, features: Features) -> bool:
    if valid.max is not None and parse_quantity(valid.max) < amount:
        return True
    if valid.step is None or valid.min is None:
        return False
    unit = _get_unit_nano(valid, features)
    step = _to_units(parse_quantity(valid.step), unit)
    distance = _to_units(amount, unit) - _to_units(parse_quantity(valid.min), unit)
    return step > 0 and distance % step != 0

"""Attribute values as constraints compare them: sets of typed values."""

from typing import Final, TypeAlias

from apportion.alloc.signature import Signature
from apportion.api.resource import DeviceAttribute

# The type is part of the value, so that 1, true and "1" never equal each other.
TypedValue: TypeAlias = tuple[str, int | bool | str]
Values: TypeAlias = frozenset[TypedValue]

# An attribute whose type the constraint does not understand: compares to nothing, not even itself.
UNTYPED: Final[Values] = frozenset()


def find_values(signature: Signature, name: str, with_lists: bool) -> Values | None:
    """Return the values of the attribute, None when the device lacks it, UNTYPED when it has no usable type.

    ``with_lists`` is the gate DRAListTypeAttributes; lists win over scalars, a scalar is a list of one.
    """
    attribute = signature.find_attribute(name)
    if attribute is None:
        return None
    if with_lists:
        listed = _read_lists(attribute)
        if listed:
            return listed
    return _read_scalar(attribute)


def _read_lists(a: DeviceAttribute) -> Values:
    if a.int_values:
        return frozenset(("int", v) for v in a.int_values)
    if a.bool_values:
        return frozenset(("bool", v) for v in a.bool_values)
    if a.string_values:
        return frozenset(("string", v) for v in a.string_values)
    return frozenset(("version", v) for v in a.version_values or ())


def _read_scalar(a: DeviceAttribute) -> Values:
    if a.int_value is not None:
        return frozenset((("int", a.int_value),))
    if a.bool_value is not None:
        return frozenset((("bool", a.bool_value),))
    if a.string_value is not None:
        return frozenset((("string", a.string_value),))
    return frozenset((("version", a.version_value),)) if a.version_value is not None else UNTYPED


def describe_values(values: Values | None) -> str:
    """Return the values for a sentence; ``absent`` when the device lacks the attribute."""
    if values is None:
        return "absent"
    return ", ".join(sorted(str(v).lower() if t == "bool" else str(v) for t, v in values)) or "no value"

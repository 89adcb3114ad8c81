"""Values at run time.

==================  =========================================
CEL                 Python
==================  =========================================
bool, null          bool, None
int, uint           int, ``Uint``
double              float
string, bytes       str, bytes
list, map           tuple, dict (``DomainMap`` for domains)
duration            ``Duration``
timestamp           ``Timestamp``
quantity, semver    ``api.Quantity``, ``Semver``
optional, type      ``Optional``, ``TypeValue``
an error            ``Failure``
==================  =========================================
"""

from typing import Any, Final, TypeAlias

from apportion.api.quantity import Quantity

INT_MAX: Final = (1 << 63) - 1
INT_MIN: Final = -(1 << 63)
UINT_MAX: Final = (1 << 64) - 1

Value: TypeAlias = Any


class Uint(int):
    """An unsigned 64-bit integer; a class of its own so that overloads can tell it from ``int``."""

    __slots__ = ()


class Failure:
    """An error as a value: ``&&``, ``||`` and comprehensions may absorb it."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __repr__(self) -> str:
        return f"Failure({self.message!r})"


class DomainMap(dict[str, dict[str, Value]]):
    """``device.attributes`` and ``device.capacity``: looking up an unknown domain gives an empty map."""

    __slots__ = ()


class Optional:
    """A value that may be absent; two are equal when both are absent or hold equal values."""

    __slots__ = ("has", "value")

    def __init__(self, has: bool, value: Value = None) -> None:
        self.has = has
        self.value = value


class TypeValue:
    """A type as a value: what ``type(x)`` returns and what ``int`` in an expression is."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeValue) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Duration:
    """A signed span in nanoseconds."""

    __slots__ = ("nano",)

    def __init__(self, nano: int) -> None:
        self.nano = nano

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)


class Timestamp:
    """A point in time as nanoseconds since the Unix epoch."""

    __slots__ = ("nano",)

    def __init__(self, nano: int) -> None:
        self.nano = nano

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nano == other.nano

    def __hash__(self) -> int:
        return hash(self.nano)


NONE: Final = Optional(False)
NO_OVERLOAD: Final = Failure("no such overload")
_MISSING: Final = object()
_EMPTY: Final[dict[str, Value]] = {}
_NUMBERS: Final = frozenset((int, Uint, float))
_MAPS: Final = frozenset((dict, DomainMap))


def can_be_key(value: Value) -> bool:
    """Return whether a map can hold ``value`` as a key; Python could not even hash a map."""
    return not isinstance(value, tuple | dict)


def find_entry(entries: dict[Value, Value], key: Value) -> Value:
    """Return the value under ``key``, or a Failure that says there is none.

    Numbers of different kinds meet when they are equal, ``true`` and ``1`` never do, which a Python dict
    alone would not keep apart.
    """
    found = entries.get(key, _MISSING)
    if found is _MISSING:
        return _EMPTY if entries.__class__ is DomainMap else Failure(f"no such key: {format_key(key)}")
    if key.__class__ is not str and not _has_kin(entries, key):
        return Failure(f"no such key: {format_key(key)}")
    return found


def has_entry(entries: dict[Value, Value], key: Value) -> bool:
    """Return whether ``key`` is present; an unknown domain is not, although looking it up works."""
    return key in entries and (key.__class__ is str or _has_kin(entries, key))


def _has_kin(entries: dict[Value, Value], key: Value) -> bool:
    is_bool = key.__class__ is bool
    return any(k == key and (k.__class__ is bool) == is_bool for k in entries)


def format_key(key: Value) -> str:
    """Return ``key`` as an error message shows it."""
    if key is None:
        return "null"
    return str(key).lower() if key.__class__ is bool else str(key)


def equals(left: Value, right: Value) -> Value:
    """Return whether two values are equal in CEL, or a Failure.

    Values of different types are unequal, except that numbers compare by amount, and that a Kubernetes type
    on the left refuses anything else (as in k8s.io/apiserver/pkg/cel).
    """
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS:
        return other in _NUMBERS and bool(left == right)
    if kind is tuple:
        return other is tuple and len(left) == len(right) and _equal_pairs(zip(left, right, strict=True))
    if kind in _MAPS:
        return other in _MAPS and _equal_maps(left, right)
    if kind is Optional:
        return other is Optional and left.has == right.has and (not left.has or equals(left.value, right.value))
    if kind is not other:
        return NO_OVERLOAD if _refuses_others(kind) else False
    return bool(left == right)


def _refuses_others(kind: type) -> bool:
    return kind is Quantity or getattr(kind, "REFUSES_OTHERS", False)


def _equal_pairs(pairs: Any) -> Value:
    for left, right in pairs:
        same = equals(left, right)
        if same is not True:
            return same
    return True


def _equal_maps(left: dict[Value, Value], right: dict[Value, Value]) -> Value:
    if len(left) != len(right):
        return False
    for key, value in left.items():
        if not has_entry(right, key):
            return False
        same = equals(value, right[key])
        if same is not True:
            return same
    return True

"""Operators of the standard environment: arithmetic, comparison, membership, size.

Source of the behaviour: the CEL language definition; comparisons cross number types as in Kubernetes.
"""

import math
import operator
from collections.abc import Callable
from typing import Final

from apportion.cel.library.declare import Overload, declare
from apportion.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Failure,
    Timestamp,
    Uint,
    Value,
    can_be_key,
    equals,
    has_entry,
)

_OVERFLOW: Final = Failure("integer overflow")
_UNSIGNED_OVERFLOW: Final = Failure("unsigned integer overflow")
_TIME_OVERFLOW: Final = Failure("timestamp overflow")
_NAN: Final = Failure("NaN values cannot be ordered")
# A list longer than this cannot be walked within the cost limit; stops concatenation from eating memory.
LIST_LENGTH_MAX: Final = 1_000_000
TEXT_LENGTH_MAX: Final = 10_000_000
_TOO_LONG: Final = Failure("operation cancelled: actual cost limit exceeded")
# 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999999Z.
TIME_MIN_NANO: Final = -62_135_596_800 * 10**9
TIME_MAX_NANO: Final = 253_402_300_800 * 10**9 - 1


def fit_int(value: int) -> Value:
    """Return ``value`` when it fits into 64 signed bits, else a Failure."""
    return value if INT_MIN <= value <= INT_MAX else _OVERFLOW


def fit_uint(value: int) -> Value:
    """Return ``value`` as an unsigned integer when it fits into 64 bits, else a Failure."""
    return Uint(value) if 0 <= value <= UINT_MAX else _UNSIGNED_OVERFLOW


def fit_duration(nano: int) -> Value:
    """Return the duration when its nanoseconds fit into 64 bits, else a Failure."""
    return Duration(nano) if INT_MIN <= nano <= INT_MAX else _OVERFLOW


def fit_timestamp(nano: int) -> Value:
    """Return the point in time when it lies in the years 1 to 9999, else a Failure."""
    return Timestamp(nano) if TIME_MIN_NANO <= nano <= TIME_MAX_NANO else _TIME_OVERFLOW


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _divide_int(left: int, right: int) -> Value:
    return fit_int(_divide(left, right)) if right else Failure("division by zero")


def _modulo_int(left: int, right: int) -> Value:
    return left - right * _divide(left, right) if right else Failure("modulus by zero")


def _divide_uint(left: int, right: int) -> Value:
    return Uint(int(left) // int(right)) if right else Failure("division by zero")


def _modulo_uint(left: int, right: int) -> Value:
    return Uint(int(left) % int(right)) if right else Failure("modulus by zero")


def _divide_double(left: float, right: float) -> float:
    if right:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _join(left: str, right: str) -> Value:
    return left + right if len(left) + len(right) <= TEXT_LENGTH_MAX else _TOO_LONG


def _concat(left: tuple[Value, ...], right: tuple[Value, ...]) -> Value:
    return left + right if len(left) + len(right) <= LIST_LENGTH_MAX else _TOO_LONG


def _arithmetic(name: str, run: Callable[[int, int], int]) -> tuple[Overload, ...]:
    function = f"_{name}_"
    return (
        declare(function, "(int, int) -> int", lambda a, b: fit_int(run(a, b))),
        declare(function, "(uint, uint) -> uint", lambda a, b: fit_uint(run(int(a), int(b)))),
        declare(function, "(double, double) -> double", run),
    )


_ARITHMETIC: Final = (
    *_arithmetic("+", operator.add),
    *_arithmetic("-", operator.sub),
    *_arithmetic("*", operator.mul),
    declare("_/_", "(int, int) -> int", _divide_int),
    declare("_/_", "(uint, uint) -> uint", _divide_uint),
    declare("_/_", "(double, double) -> double", _divide_double),
    declare("_%_", "(int, int) -> int", _modulo_int),
    declare("_%_", "(uint, uint) -> uint", _modulo_uint),
    declare("-_", "(int) -> int", lambda a: fit_int(-a)),
    declare("-_", "(double) -> double", operator.neg),
    declare("_+_", "(string, string) -> string", _join, "concat"),
    declare("_+_", "(bytes, bytes) -> bytes", _join, "concat"),
    declare("_+_", "(list<A>, list<A>) -> list<A>", _concat, "concat_list"),
    declare("_+_", "(duration, duration) -> duration", lambda a, b: fit_duration(a.nano + b.nano)),
    declare("_+_", "(timestamp, duration) -> timestamp", lambda a, b: fit_timestamp(a.nano + b.nano)),
    declare("_+_", "(duration, timestamp) -> timestamp", lambda a, b: fit_timestamp(a.nano + b.nano)),
    declare("_-_", "(duration, duration) -> duration", lambda a, b: fit_duration(a.nano - b.nano)),
    declare("_-_", "(timestamp, duration) -> timestamp", lambda a, b: fit_timestamp(a.nano - b.nano)),
    declare("_-_", "(timestamp, timestamp) -> duration", lambda a, b: fit_duration(a.nano - b.nano)),
)


def _ordering(name: str, run: Callable[[Value, Value], bool]) -> tuple[Overload, ...]:
    def order_numbers(left: float, right: float) -> Value:
        return _NAN if math.isnan(left) or math.isnan(right) else run(left, right)

    function = f"_{name}_"
    numbers = ("int", "uint", "double")
    plain = [declare(function, f"({a}, {a}) -> bool", run) for a in ("bool", "int", "uint")]
    crossed = [
        declare(function, f"({a}, {b}) -> bool", order_numbers)
        for a in numbers
        for b in numbers
        if a != b or a == "double"
    ]
    texts = [declare(function, f"({a}, {a}) -> bool", run, "shorter") for a in ("string", "bytes")]
    times = [
        declare(function, f"({a}, {a}) -> bool", lambda x, y: run(x.nano, y.nano)) for a in ("duration", "timestamp")
    ]
    return (*plain, *crossed, *texts, *times)


def unequal(left: Value, right: Value) -> bool:
    """Return whether two values are not known to be equal; never an error, as upstream."""
    return equals(left, right) is not True


def is_in_list(item: Value, items: tuple[Value, ...]) -> bool:
    """Return whether some element equals ``item``; elements that cannot be compared are passed over."""
    return any(equals(element, item) is True for element in items)


def _is_in_map(key: Value, entries: dict[Value, Value]) -> Value:
    return has_entry(entries, key) if can_be_key(key) else Failure("no such overload")


_COMPARISON: Final = (
    declare("_==_", "(A, A) -> bool", equals, "shorter"),
    declare("_!=_", "(A, A) -> bool", unequal, "shorter"),
    *_ordering("<", operator.lt),
    *_ordering("<=", operator.le),
    *_ordering(">", operator.gt),
    *_ordering(">=", operator.ge),
    declare("@in", "(A, list<A>) -> bool", is_in_list, "in_list"),
    declare("@in", "(A, map<A, B>) -> bool", _is_in_map),
)

_SIZE: Final = tuple(
    declare("size", signature.format(kind), len)
    for signature in ("({}) -> int", "{}.() -> int")
    for kind in ("string", "bytes", "list<A>", "map<A, B>")
)

_LOGIC: Final = (declare("!_", "(bool) -> bool", operator.not_),)

OVERLOADS: Final = (*_ARITHMETIC, *_COMPARISON, *_SIZE, *_LOGIC)

"""What a call costs at run time, by the name of the cost rule in its declaration.

The amounts follow cel-go (interpreter/runtimecost.go) and Kubernetes (apiserver/pkg/cel/library/cost.go).
Operands may be Failures: a call that fails is paid for, too, with operands of size 1.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from apportion.cel.values import DomainMap, Failure, Optional, Value

Actual: TypeAlias = Callable[[Sequence[Value]], int]

_SIZED: Final = frozenset((str, bytes, tuple, dict, DomainMap))
_SCAN: Final = 0.1
_PATTERN: Final = 0.25
_TENTHS: Final = tuple(math.ceil(n * _SCAN) for n in range(1025))


def size_of(value: Value) -> int:
    """Return the size of a string, bytes, list or map; anything else has size 1."""
    kind = value.__class__
    if kind in _SIZED:
        return len(value)
    return size_of(value.value) if kind is Optional and value.has else 1


def scan_cost(size: int) -> int:
    """Return the cost of walking ``size`` characters or items: a tenth, rounded up."""
    return _TENTHS[size] if size <= 1024 else math.ceil(size * _SCAN)


def shorter_cost(left: Value, right: Value) -> int:
    """Return the cost of comparing two values: that of walking the shorter one."""
    a, b = size_of(left), size_of(right)
    return scan_cost(a if a < b else b)


def traversal_cost(value: Value) -> int:
    """Return the cost of walking a value as a tree; rounds down, unlike the others."""
    kind = value.__class__
    if kind is str:
        return int(len(value.encode()) * _SCAN)
    if kind is bytes:
        return int(len(value) * _SCAN)
    if kind is tuple:
        return sum(map(traversal_cost, value))
    if kind in _SIZED:
        return sum(traversal_cost(k) + traversal_cost(v) for k, v in value.items())
    return 1


def _pattern_cost(args: Sequence[Value]) -> int:
    return scan_cost(size_of(args[0]) + 1) * math.ceil(size_of(args[1]) * _PATTERN)


def _product(args: Sequence[Value]) -> int:
    return size_of(args[0]) * size_of(args[1])


def _scan_first(args: Sequence[Value]) -> int:
    return scan_cost(size_of(args[0]))


def _scan_first_twice(args: Sequence[Value]) -> int:
    return math.ceil(size_of(args[0]) * 2 * _SCAN)


# Addresses have no size of their own, so walking one costs 1; texts are parsed on top.
ACTUAL: Final[dict[str, Actual]] = {
    "one": lambda _: 1,
    # Walking an error is free here, though not in `includes`: so it was recorded.
    "traverse": lambda args: 0 if args[0].__class__ is Failure else traversal_cost(args[0]),
    "includes": lambda args: traversal_cost(args[0]),
    "scan": _scan_first,
    "scan_same": _scan_first,
    "format": _scan_first,
    "quote": _scan_first,
    "encode": _scan_first,
    "decode": _scan_first,
    "scan_twice": _scan_first_twice,
    "replace": _scan_first_twice,
    "split": _scan_first_twice,
    # The size of what join builds: parts and separators.
    "join": lambda args: math.ceil(_joined_size(args) * 2 * _SCAN),
    "find": _pattern_cost,
    "matches": _pattern_cost,
    "prefix": lambda args: scan_cost(size_of(args[1])),
    "in_list": lambda args: size_of(args[1]),
    "shorter": lambda args: shorter_cost(args[0], args[1]),
    "concat": lambda args: scan_cost(size_of(args[0]) + size_of(args[1])),
    "concat_list": lambda _: 1,
    "contains": lambda args: scan_cost(size_of(args[0])) * scan_cost(size_of(args[1])),
    "product": lambda args: _product(args) + 1,
    "product_twice": lambda args: 2 * _product(args) + 1,
    "copy": lambda args: size_of(args[0]) + 11,
    "pairs": lambda args: size_of(args[0]) ** 2 + 11,
    "range": lambda args: (args[0] if isinstance(args[0], int) else 1) + 11,
    "contains_ip": lambda _: 1,
    "contains_ip_text": lambda args: 1 + scan_cost(size_of(args[1])),
    "contains_cidr": lambda _: 3,
    "contains_cidr_text": lambda args: 3 + scan_cost(size_of(args[1])),
}


def _joined_size(args: Sequence[Value]) -> int:
    parts = args[0]
    if parts.__class__ is not tuple:
        return 1
    separators = size_of(args[1]) * max(len(parts) - 1, 0) if len(args) > 1 else 0
    return sum(map(size_of, parts)) + separators

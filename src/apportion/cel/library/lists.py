"""List functions (Kubernetes' lists library and cel-go's ext/lists.go version 3) and sets (ext/sets.go)."""

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import Any, Final

from apportion.api.quantity import Quantity
from apportion.cel.library.declare import Overload, declare
from apportion.cel.library.operators import LIST_LENGTH_MAX, fit_duration, fit_int, fit_uint, is_in_list
from apportion.cel.values import NONE, Duration, Failure, Optional, Timestamp, Uint, Value, equals

_ORDERED: Final = ("int", "uint", "double", "bool", "string", "bytes", "duration", "timestamp")
_ORDERED_CLASSES: Final = frozenset((int, Uint, float, bool, str, bytes, Duration, Timestamp, Quantity))
_MIXED: Final = Failure("no such overload")
# list.includes() looks at no more elements than a device may have attribute values.
INCLUDES_LENGTH_MAX: Final = 48


def _rank(value: Value) -> Any:
    return value.nano if isinstance(value, Duration | Timestamp) else value


def _is_ordered(items: tuple[Value, ...]) -> bool:
    kinds = {item.__class__ for item in items}
    return len(kinds) <= 1 and kinds <= _ORDERED_CLASSES


def _is_sorted(items: tuple[Value, ...]) -> Value:
    if not _is_ordered(items):
        return _MIXED
    ranks = [_rank(item) for item in items]
    return all(a <= b for a, b in pairwise(ranks))


def _extreme(name: str, pick: Callable[..., Value]) -> Callable[[tuple[Value, ...]], Value]:
    def run(items: tuple[Value, ...]) -> Value:
        if not items:
            return Failure(f"{name} called on empty list")
        return pick(items, key=_rank) if _is_ordered(items) else _MIXED

    return run


def _add(left: Value, right: Value) -> Value:
    kind = left.__class__
    if isinstance(left, Failure) or kind is not right.__class__:
        return left if isinstance(left, Failure) else _MIXED
    if kind is int:
        return fit_int(left + right)
    if kind is Uint:
        return fit_uint(int(left) + int(right))
    if kind is float:
        return left + right
    return fit_duration(left.nano + right.nano) if kind is Duration else _MIXED


def _sum(zero: Value) -> Callable[[tuple[Value, ...]], Value]:
    return lambda items: reduce(_add, items) if items else zero


def _index_of(items: tuple[Value, ...], item: Value) -> int:
    return next((i for i, element in enumerate(items) if equals(element, item) is True), -1)


def _last_index_of(items: tuple[Value, ...], item: Value) -> int:
    back = _index_of(items[::-1], item)
    return len(items) - 1 - back if back >= 0 else -1


def _slice(items: tuple[Value, ...], start: int, end: int) -> Value:
    if not 0 <= start <= end <= len(items):
        return Failure(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: tuple[Value, ...], depth: int = 1) -> Value:
    if depth < 0:
        return Failure("level must be non-negative")
    flat: list[Value] = []
    for item in items:
        if isinstance(item, tuple) and depth > 0:
            inner = _flatten(item, depth - 1)
            flat.extend(inner)
        else:
            flat.append(item)
    return tuple(flat)


def _distinct(items: tuple[Value, ...]) -> tuple[Value, ...]:
    kept: list[Value] = []
    for item in items:
        if not is_in_list(item, tuple(kept)):
            kept.append(item)
    return tuple(kept)


def _range(count: int) -> Value:
    if count > LIST_LENGTH_MAX:
        return Failure("operation cancelled: actual cost limit exceeded")
    return tuple(range(count))


def _sort(items: tuple[Value, ...]) -> Value:
    return _sort_by_keys(items, items)


def _sort_by_keys(items: tuple[Value, ...], keys: tuple[Value, ...]) -> Value:
    if not _is_ordered(keys):
        return Failure("list elements must be comparable and of one type")
    order = sorted(range(len(items)), key=lambda i: _rank(keys[i]))
    return tuple(items[i] for i in order)


def includes(holder: Value, item: Value) -> Value:
    """Return whether the list holds ``item``, or whether the scalar equals it.

    A Failure when 48 elements were looked at in vain and there are more (KEP-5491, 1.36).
    """
    if not isinstance(holder, tuple):
        return equals(holder, item)
    if is_in_list(item, holder[:INCLUDES_LENGTH_MAX]):
        return True
    if len(holder) > INCLUDES_LENGTH_MAX:
        return Failure(f"includes: list has more than {INCLUDES_LENGTH_MAX} elements")
    return False


def _contains_all(items: tuple[Value, ...], part: tuple[Value, ...]) -> bool:
    return all(is_in_list(item, items) for item in part)


def _zeros() -> tuple[Overload, ...]:
    zeros = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
    return tuple(declare("sum", f"list<{k}>.() -> {k}", _sum(zero), "traverse") for k, zero in zeros.items())


_KUBERNETES: Final = (
    *_zeros(),
    *(declare("isSorted", f"list<{k}>.() -> bool", _is_sorted, "traverse") for k in _ORDERED),
    *(declare("min", f"list<{k}>.() -> {k}", _extreme("min", min), "traverse") for k in _ORDERED),
    *(declare("max", f"list<{k}>.() -> {k}", _extreme("max", max), "traverse") for k in _ORDERED),
    declare("indexOf", "list<A>.(A) -> int", _index_of, "traverse"),
    declare("lastIndexOf", "list<A>.(A) -> int", _last_index_of, "traverse"),
)

_EXTENSION: Final = (
    declare("slice", "list<A>.(int, int) -> list<A>", _slice, "copy"),
    declare("flatten", "list<list<A>>.() -> list<A>", _flatten, "copy"),
    declare("flatten", "list<dyn>.(int) -> list<dyn>", _flatten, "copy"),
    declare("distinct", "list<A>.() -> list<A>", _distinct, "pairs"),
    declare("reverse", "list<A>.() -> list<A>", lambda items: items[::-1], "copy"),
    declare("lists.range", "(int) -> list<int>", _range, "range"),
    declare("first", "list<A>.() -> optional<A>", lambda x: Optional(True, x[0]) if x else NONE),
    declare("last", "list<A>.() -> optional<A>", lambda x: Optional(True, x[-1]) if x else NONE),
    *(declare("sort", f"list<{k}>.() -> list<{k}>", _sort, "pairs") for k in _ORDERED),
    *(declare("@sortByAssociatedKeys", f"list<A>.(list<{k}>) -> list<A>", _sort_by_keys, "pairs") for k in _ORDERED),
)

_SETS: Final = (
    declare("sets.contains", "(list<A>, list<A>) -> bool", _contains_all, "product"),
    declare(
        "sets.equivalent",
        "(list<A>, list<A>) -> bool",
        lambda a, b: _contains_all(a, b) and _contains_all(b, a),
        "product_twice",
    ),
    declare(
        "sets.intersects",
        "(list<A>, list<A>) -> bool",
        lambda a, b: any(is_in_list(item, b) for item in a),
        "product",
    ),
)

OVERLOADS: Final = (*_KUBERNETES, *_EXTENSION, *_SETS)
# Declared with list-typed attributes only.
INCLUDES: Final = (declare("includes", "dyn.(dyn) -> bool", includes, "includes"),)

"""Optional values (cel-go cel/library.go); ``or`` and ``orValue`` are lazy, so the planner runs them."""

from typing import Final

from apportion.cel.library.declare import declare
from apportion.cel.values import NONE, Failure, Optional, Value


def _value(optional: Optional) -> Value:
    return optional.value if optional.has else Failure("optional.none() dereference")


def _of_non_zero(value: Value) -> Optional:
    return Optional(True, value) if value or isinstance(value, Optional) else NONE


def _or(left: Optional, right: Optional) -> Optional:
    return left if left.has else right


def _or_value(left: Optional, right: Value) -> Value:
    return left.value if left.has else right


def _insert(*_: Value) -> Value:
    # The planner grows the accumulator itself; see run/loops.py.
    return Failure("no such overload")


OVERLOADS: Final = (
    declare("optional.of", "(A) -> optional<A>", lambda v: Optional(True, v)),
    declare("optional.none", "() -> optional<A>", lambda: NONE),
    declare("optional.ofNonZeroValue", "(A) -> optional<A>", _of_non_zero),
    declare("hasValue", "optional<A>.() -> bool", lambda o: o.has),
    declare("value", "optional<A>.() -> A", _value),
    declare("or", "optional<A>.(optional<A>) -> optional<A>", _or),
    declare("orValue", "optional<A>.(A) -> A", _or_value),
    declare("cel.@mapInsert", "(map<A, B>, A, B) -> map<A, B>", _insert),
    declare("cel.@mapInsert", "(map<A, B>, map<A, B>) -> map<A, B>", _insert),
    declare("@not_strictly_false", "(bool) -> bool", lambda v: v is not False),
)

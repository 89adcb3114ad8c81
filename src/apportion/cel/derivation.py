"""Expressions that yield an attribute value instead of a yes or no (derived attributes, KEP-6080)."""

from functools import lru_cache
from typing import Final

from apportion.cel.device import DeviceFacts
from apportion.cel.errors import CompileError
from apportion.cel.language import types
from apportion.cel.language.ast import Expr
from apportion.cel.language.checker import check_types
from apportion.cel.language.parser import parse_expression
from apportion.cel.library.declare import name_type
from apportion.cel.library.environment import CelFeatures, get_environment
from apportion.cel.library.semver import Semver
from apportion.cel.run.frame import COST_LIMIT, CostExceeded, Frame
from apportion.cel.run.planner import Planner
from apportion.cel.selector import EXPRESSION_LENGTH_MAX
from apportion.cel.values import Failure, Value
from apportion.cel.verdict import describe_failure

_CACHE_SIZE: Final = 256
_SCALARS: Final = (types.BOOL, types.INT, types.STRING, types.SEMVER)
_LISTS: Final = tuple(types.list_of(t) for t in (*_SCALARS, types.DYN, types.ANY))
# (kind of attribute, value), as constraints compare them
Typed = tuple[str, int | bool | str]


class Derivation:
    """A compiled expression for an attribute value."""

    def __init__(self, expression: str, root: Expr, with_lists: bool) -> None:
        self.expression = expression
        self._with_lists = with_lists
        planner = Planner(expression)
        self._run = planner.plan(root).run
        self._local_count = planner.local_count

    def evaluate(self, facts: DeviceFacts) -> tuple[frozenset[Typed] | Failure, int]:
        """Return the values for a device, a scalar as a set of one, or what went wrong; and the cost in CEL units."""
        if facts.broken is not None:
            return Failure(facts.broken), 0
        frame = Frame(facts, self._local_count)
        try:
            value = self._run(frame)
        except CostExceeded:
            return Failure("operation cancelled: actual cost limit exceeded"), frame.cost
        if frame.cost > COST_LIMIT:
            return Failure("operation cancelled: actual cost limit exceeded"), frame.cost
        return self._read(value), frame.cost

    def _read(self, value: Value) -> frozenset[Typed] | Failure:
        if isinstance(value, Failure):
            return Failure(describe_failure(value))
        items = value if isinstance(value, tuple) and self._with_lists else (value,)
        found: set[Typed] = set()
        for item in items:
            typed = _read_scalar(item)
            if isinstance(typed, Failure):
                return typed
            found.add(typed)
        return frozenset(found)


def _read_scalar(value: Value) -> Typed | Failure:
    if isinstance(value, Semver):
        return "version", value.text
    for kind, type_ in (("bool", bool), ("int", int), ("string", str)):
        if type(value) is type_:
            return kind, value
    return Failure(f"CEL result of type {name_type(value)} is no attribute value")


@lru_cache(maxsize=_CACHE_SIZE)
def compile_derivation(expression: str, features: CelFeatures, with_lists: bool) -> Derivation:
    """Return the compiled expression; raises CompileError, also for a result that no attribute can have."""
    if len(expression) > EXPRESSION_LENGTH_MAX:
        raise CompileError(f"expression has more than {EXPRESSION_LENGTH_MAX} characters: shorten it")
    environment = get_environment(features)
    root = parse_expression(expression)
    check_types(root, environment, expression)
    allowed = (*_SCALARS, types.DYN, types.ANY, environment.attribute_type)
    if root.type not in allowed and not (with_lists and root.type in _LISTS):
        raise CompileError(f"must evaluate to bool, int, string or version, not {root.type}", expression, root.start)
    return Derivation(expression, root, with_lists)

"""Compiles a selector expression and evaluates it over devices."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from apportion.cel.device import DeviceFacts
from apportion.cel.errors import CompileError
from apportion.cel.estimate.walk import estimate_max_cost
from apportion.cel.language import types
from apportion.cel.language.ast import Expr
from apportion.cel.language.checker import check_types
from apportion.cel.language.parser import parse_expression
from apportion.cel.library.declare import name_type
from apportion.cel.library.environment import CelFeatures, Environment, get_environment
from apportion.cel.run.frame import COST_LIMIT, CostExceeded, Frame
from apportion.cel.run.planner import Planner
from apportion.cel.values import Failure, Value

EXPRESSION_LENGTH_MAX: Final = 10 * 1024
_CACHE_SIZE: Final = 1024
_VERDICTS_KEPT: Final = 256
_KEY_HINT: Final = (
    " (guard the lookup, for example with has(), or give a default with optional chaining and orValue())"
)
_NO_KEY: Final = "no such key"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one device: ``match`` is None exactly when there is an ``error``; ``cost`` in CEL units."""

    match: bool | None
    error: str | None
    cost: int


class Selector:
    """A compiled expression. ``max_cost`` is the worst case, estimated as the API server does."""

    def __init__(self, expression: str, root: Expr, environment: Environment) -> None:
        self.expression = expression
        self.root = root
        planner = Planner(expression)
        self._run = planner.plan(root).run
        self._local_count = planner.local_count
        self.max_cost = estimate_max_cost(root, environment)
        # Few different answers occur, and building one costs more than evaluating.
        self._verdicts: dict[tuple[bool, int], Verdict] = {}

    def evaluate(self, facts: DeviceFacts) -> Verdict:
        """Return whether the device matches; one to two microseconds for a typical expression, errors more."""
        if facts.broken is not None:
            return Verdict(None, facts.broken, 0)
        frame = Frame(facts, self._local_count)
        try:
            value = self._run(frame)
        except CostExceeded:
            return make_verdict(frame, None)
        if value is True or value is False:
            known = self._verdicts.get((value, frame.cost))
            if known is not None:
                return known
        return self._remember(make_verdict(frame, value))

    def _remember(self, verdict: Verdict) -> Verdict:
        if verdict.match is not None:
            if len(self._verdicts) >= _VERDICTS_KEPT:
                self._verdicts.clear()
            self._verdicts[verdict.match, verdict.cost] = verdict
        return verdict


def make_verdict(frame: Frame, value: Value) -> Verdict:
    """Return the verdict on the final value of an evaluation."""
    if frame.cost > COST_LIMIT:
        return Verdict(None, "operation cancelled: actual cost limit exceeded", frame.cost)
    if isinstance(value, bool):
        return Verdict(value, None, frame.cost)
    return Verdict(None, describe_failure(value), frame.cost)


def describe_failure(value: Value) -> str:
    """Return the error text for a value that is no answer; a missing key comes with a hint."""
    if not isinstance(value, Failure):
        name = name_type(value)
        return (
            f"CEL result of type {name} could not be converted to bool: "
            f"unsupported type conversion from '{name}' to bool"
        )
    return value.message + _KEY_HINT if _NO_KEY in value.message else value.message


def compile_selector(expression: str, features: CelFeatures = CelFeatures()) -> Selector:  # noqa: B008
    """Return the compiled expression, which must yield a bool or an attribute value; raises CompileError.

    The last 1024 expressions are kept, so compiling one again costs nothing; one that fails is compiled anew.
    """
    return _compile(expression, features)


@lru_cache(maxsize=_CACHE_SIZE)
def _compile(expression: str, features: CelFeatures) -> Selector:
    size = len(expression.encode(errors="surrogatepass"))
    if size > EXPRESSION_LENGTH_MAX:
        raise CompileError(f"expression has {size} bytes, {EXPRESSION_LENGTH_MAX} are allowed")
    environment = get_environment(features)
    root = parse_expression(expression)
    check_types(root, environment, expression)
    if root.type not in (types.BOOL, environment.attribute_type):
        raise CompileError(f"must evaluate to bool or the unknown type, not {root.type}", expression, root.start)
    return Selector(expression, root, environment)

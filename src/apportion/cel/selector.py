"""Compiles a selector expression and evaluates it over devices."""

from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from typing import Final

from apportion.cel.device import DeviceFacts
from apportion.cel.errors import CompileError, ResultTypeError
from apportion.cel.estimate.walk import estimate_max_cost
from apportion.cel.language import types
from apportion.cel.language.ast import Expr
from apportion.cel.language.checker import check_types
from apportion.cel.language.parser import parse_expression
from apportion.cel.library.environment import CelFeatures, get_environment
from apportion.cel.run.frame import COST_LIMIT, CostExceeded, Frame
from apportion.cel.run.planner import Planner
from apportion.cel.trace import Trace, Tracer
from apportion.cel.verdict import Verdict, make_verdict

# resource.k8s.io CELSelectorExpressionMaxLength.
EXPRESSION_LENGTH_MAX: Final = 10 * 1024
_CACHE_SIZE: Final = 1024
_VERDICTS_KEPT: Final = 256
_NO_FEATURES: Final = CelFeatures()


class Selector:
    """A compiled expression. ``max_cost`` is the worst case, estimated as the API server does."""

    def __init__(self, expression: str, root: Expr) -> None:
        self.expression = expression
        self.max_cost = estimate_max_cost(root)
        self._root = root
        planner = Planner(expression)
        self._run = planner.plan(root).run
        self._local_count = planner.local_count
        # Few different answers occur, and building one costs as much as evaluating.
        self._verdicts: dict[tuple[bool, int], Verdict] = {}

    def evaluate(self, facts: DeviceFacts) -> Verdict:
        """Return whether the device matches; about a microsecond for a typical expression, errors more."""
        if facts.broken is not None:
            return Verdict(None, facts.broken, 0)
        frame = Frame(facts, self._local_count)
        try:
            value = self._run(frame)
        except CostExceeded:
            return make_verdict(frame, None)
        if value is not True and value is not False:
            return make_verdict(frame, value)
        known = self._verdicts.get((value, frame.cost))
        return known or self._remember(make_verdict(frame, value))

    def trace(self, facts: DeviceFacts) -> Trace:
        """Return the verdict with what each clause said; some ten times as slow as ``evaluate``."""
        return self._tracer.trace(facts)

    @cached_property
    def _tracer(self) -> Tracer:
        return Tracer(self.expression, self._root)

    def _remember(self, verdict: Verdict) -> Verdict:
        if verdict.match is not None:
            if len(self._verdicts) >= _VERDICTS_KEPT:
                self._verdicts.clear()
            self._verdicts[verdict.match, verdict.cost] = verdict
        return verdict


def compile_selector(expression: str, features: CelFeatures = _NO_FEATURES) -> Selector:
    """Return the compiled expression, which must yield a bool or an attribute value; raises CompileError.

    The last 1024 expressions are kept, so compiling one again costs nothing; one that fails is compiled anew.
    Half a millisecond for a typical expression.
    """
    return _compile(expression, features)


def find_expression_problem(expression: str, features: CelFeatures = _NO_FEATURES) -> str | None:
    """Return why the API server would refuse the expression, or None: it must compile and be cheap enough."""
    try:
        max_cost = compile_selector(expression, features).max_cost
    except ResultTypeError as error:
        return error.text
    except CompileError as error:
        return f"compilation failed: {error}"
    if max_cost > COST_LIMIT:
        return f"too complex, exceeds cost limit: the estimated cost {max_cost} is above {COST_LIMIT}"
    return None


def check_expressions(gates: Mapping[str, bool]) -> Callable[[str], str | None]:
    """Return `find_expression_problem` for an API server with these feature gates."""
    features = CelFeatures(
        list_type_attributes=gates["DRAListTypeAttributes"], consumable_capacity=gates["DRAConsumableCapacity"]
    )
    return lambda expression: find_expression_problem(expression, features)


@lru_cache(maxsize=_CACHE_SIZE)
def _compile(expression: str, features: CelFeatures) -> Selector:
    try:
        size = len(expression.encode())
    except UnicodeEncodeError as error:
        raise CompileError(f"expression is not valid Unicode: {error.reason}") from None
    if size > EXPRESSION_LENGTH_MAX:
        raise CompileError(f"expression has {size} bytes, {EXPRESSION_LENGTH_MAX} are allowed: shorten it")
    environment = get_environment(features)
    root = parse_expression(expression)
    check_types(root, environment, expression)
    if root.type not in (types.BOOL, environment.attribute_type):
        text = f"must evaluate to bool or the unknown type, not {root.type}"
        raise ResultTypeError(text, expression, root.start)
    return Selector(expression, root)

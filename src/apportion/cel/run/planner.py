"""Turns a checked tree into closures: planned once, run over many devices.

Errors are values here: a closure returns a ``Failure`` instead of raising, as ``&&``, ``||`` and
comprehensions may absorb it, and what is evaluated after it still counts for the cost. What is computed
while planning and how costs fall follows cel-go (interpreter/planner.go with constant folding on).
"""

from apportion.cel.language.ast import (
    Bind,
    Call,
    Conditional,
    Const,
    Expr,
    Fold,
    Ident,
    Index,
    ListExpr,
    Logic,
    MapExpr,
    Select,
)
from apportion.cel.library.environment import DEVICE_VARIABLE, TYPE_NAMES
from apportion.cel.run.calls import plan_call
from apportion.cel.run.containers import plan_list, plan_map
from apportion.cel.run.frame import Frame, Run, Step, make_constant, read_device
from apportion.cel.run.loops import plan_fold
from apportion.cel.run.paths import plan_path
from apportion.cel.values import NO_OVERLOAD, Failure, TypeValue, Value

_UNSET = object()


class Planner:
    """Plans one expression. ``watched`` maps ``id(node)`` to the key under which a trace wants its value."""

    def __init__(self, source: str, watched: dict[int, int] | None = None) -> None:
        self.source = source
        self.watched = watched or {}
        self.local_count = 0
        self._readers: dict[str, Run] = {}

    def plan(self, node: Expr) -> Step:
        """Return the step that evaluates ``node``."""
        step = self._plan_bare(node)
        key = self.watched.get(id(node))
        return step if key is None else Step(_record(step.run, key))

    def plan_branch(self, node: Expr) -> Step:
        """Plan an operand of ``?:`` or an index key: there, a path costs nothing for its root."""
        is_path = isinstance(node, Ident | Index) or (isinstance(node, Select) and not node.test_only)
        if is_path and id(node) not in self.watched:
            return plan_path(self, node, root_cost=0)
        return self.plan(node)

    def plan_name(self, node: Ident) -> Run | TypeValue:
        """Return how to read the variable, or the type that the name denotes."""
        reader = self._readers.get(node.name)
        if reader is not None:
            return reader
        if node.name == DEVICE_VARIABLE:
            return read_device
        return TypeValue(TYPE_NAMES[node.name].name)

    def add_slot(self) -> int:
        """Return a new place for a local variable in the frame."""
        self.local_count += 1
        return self.local_count - 1

    def plan_within(self, nodes: list[Expr], readers: dict[str, Run]) -> list[Step]:
        """Plan ``nodes`` with more local variables, each read in its own way."""
        before = self._readers
        self._readers = {**before, **readers}
        steps = [self.plan(node) for node in nodes]
        self._readers = before
        return steps

    def _plan_bare(self, node: Expr) -> Step:
        match node:
            case Const():
                return make_constant(node.value)
            case Ident() | Select() | Index():
                return plan_path(self, node, root_cost=1)
            case Call():
                return plan_call(self, node)
            case Logic():
                terms = [self.plan(term).run for term in node.terms]
                return Step(_make_or(terms) if node.operator == "||" else _make_and(terms))
            case Conditional():
                return self._plan_conditional(node)
            case ListExpr():
                return plan_list(self, node)
            case MapExpr():
                return plan_map(self, node)
            case Fold():
                return plan_fold(self, node)
            case Bind():
                return self._plan_bind(node)

    def _plan_conditional(self, node: Conditional) -> Step:
        condition = self.plan(node.condition).run
        then, otherwise = self.plan_branch(node.then).run, self.plan_branch(node.otherwise).run

        def run(frame: Frame) -> Value:
            chosen = condition(frame)
            if chosen is True:
                return then(frame)
            if chosen is False:
                return otherwise(frame)
            return chosen if chosen.__class__ is Failure else NO_OVERLOAD

        return Step(run)

    def _plan_bind(self, node: Bind) -> Step:
        slot = self.add_slot()
        init = self.plan(node.init).run

        def read(frame: Frame) -> Value:
            value = frame.locals[slot]
            if value is _UNSET:
                value = frame.locals[slot] = init(frame)
            return value

        result = self.plan_within([node.result], {node.name: read})[0].run

        def run(frame: Frame) -> Value:
            frame.locals[slot] = _UNSET
            return result(frame)

        return Step(run)


def _make_and(terms: list[Run]) -> Run:
    def run(frame: Frame) -> Value:
        failure: Failure | None = None
        for term in terms:
            value = term(frame)
            if value is False:
                return False
            if value is not True and failure is None:
                failure = value if value.__class__ is Failure else NO_OVERLOAD
        return True if failure is None else failure

    return run


def _make_or(terms: list[Run]) -> Run:
    def run(frame: Frame) -> Value:
        failure: Failure | None = None
        for term in terms:
            value = term(frame)
            if value is True:
                return True
            if value is not False and failure is None:
                failure = value if value.__class__ is Failure else NO_OVERLOAD
        return False if failure is None else failure

    return run


def _record(run: Run, key: int) -> Run:
    def record(frame: Frame) -> Value:
        value = run(frame)
        if frame.log is not None:
            frame.log[key] = value
        return value

    return record

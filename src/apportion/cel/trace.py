"""Why an expression said what it said: its clauses with their values, and the attributes it looked up."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from apportion.cel.device import DeviceFacts
from apportion.cel.language.ast import Bind, Call, Conditional, Expr, Logic
from apportion.cel.lookups import Lookup, find_lookups
from apportion.cel.run.frame import CostExceeded, Frame
from apportion.cel.run.planner import Planner
from apportion.cel.values import Value
from apportion.cel.verdict import Verdict, describe_failure, make_verdict

ClauseKind: TypeAlias = Literal["and", "or", "choice", "not", "bind", "leaf"]
_OPERATORS: Final[dict[str, ClauseKind]] = {"&&": "and", "||": "or"}


@dataclass(frozen=True, slots=True)
class Clause:
    """An operand of ``&&``, ``||``, ``?:`` or ``!``, or the whole expression.

    ``text`` is its source as written. A clause that was not reached has neither ``value`` nor ``error``.
    ``decided`` marks those that explain the verdict: the one that stopped the evaluation, or all that had
    to agree.
    """

    text: str
    kind: ClauseKind
    value: bool | None
    error: str | None
    decided: bool
    children: tuple["Clause", ...] = ()

    @property
    def evaluated(self) -> bool:
        """Whether the evaluation got here."""
        return self.value is not None or self.error is not None

    def iterate_leaves(self) -> Iterator["Clause"]:
        """Yield the clauses that are not made of others, in source order."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.iterate_leaves()


@dataclass(frozen=True, slots=True)
class Trace:
    """One evaluation, explained. ``lookups`` pairs each constant lookup with whether the device has it."""

    verdict: Verdict
    root: Clause
    lookups: tuple[tuple[Lookup, bool], ...]

    @property
    def deciding(self) -> tuple[Clause, ...]:
        """The smallest clauses that explain the verdict."""
        return tuple(leaf for leaf in self.root.iterate_leaves() if leaf.decided)


@dataclass(frozen=True, slots=True)
class _Part:
    """A clause before any evaluation."""

    node: Expr
    kind: ClauseKind
    parts: tuple["_Part", ...] = ()


class Tracer:
    """Evaluates an expression with its clauses watched."""

    def __init__(self, source: str, root: Expr) -> None:
        self._source = source
        self._part = _split_clauses(root)
        watched = {id(part.node): i for i, part in enumerate(_iterate_parts(self._part))}
        self._keys = watched
        planner = Planner(source, watched)
        self._run = planner.plan(root).run
        self._local_count = planner.local_count
        self._lookups = find_lookups(root)

    def trace(self, facts: DeviceFacts) -> Trace:
        """Evaluate once and return what happened."""
        log: dict[int, Value] = {}
        frame = Frame(facts, self._local_count, log)
        if facts.broken is not None:
            verdict = Verdict(None, facts.broken, 0)
        else:
            try:
                verdict = make_verdict(frame, self._run(frame))
            except CostExceeded:
                verdict = make_verdict(frame, None)
        root = self._make_clause(self._part, log, decided=True)
        return Trace(verdict, root, tuple((lookup, lookup.is_in(facts)) for lookup in self._lookups))

    def _make_clause(self, part: _Part, log: dict[int, Value], decided: bool) -> Clause:
        value, error = self._outcome(part, log)
        reasons = _find_reasons(part, value, error, [self._outcome(p, log) for p in part.parts])
        children = tuple(self._make_clause(child, log, decided and i in reasons) for i, child in enumerate(part.parts))
        text = self._source[part.node.start : part.node.end]
        return Clause(text, part.kind, value, error, decided, children)

    def _outcome(self, part: _Part, log: dict[int, Value]) -> tuple[bool | None, str | None]:
        key = self._keys[id(part.node)]
        if key not in log:
            return None, None
        value = log[key]
        return (value, None) if isinstance(value, bool) else (None, describe_failure(value))


def _split_clauses(node: Expr) -> _Part:
    match node:
        case Logic():
            return _Part(node, _OPERATORS[node.operator], tuple(_split_clauses(t) for t in node.terms))
        case Conditional():
            operands = (node.condition, node.then, node.otherwise)
            return _Part(node, "choice", tuple(_split_clauses(o) for o in operands))
        case Call(function="!_"):
            return _Part(node, "not", (_split_clauses(node.args[0]),))
        case Bind():
            return _Part(node, "bind", (_split_clauses(node.result),))
    return _Part(node, "leaf")


def _iterate_parts(part: _Part) -> Iterator[_Part]:
    yield part
    for child in part.parts:
        yield from _iterate_parts(child)


def _find_reasons(
    part: _Part, value: bool | None, error: str | None, outcomes: list[tuple[bool | None, str | None]]
) -> set[int]:
    """Return the indexes of the operands that explain the outcome."""
    reached = {i for i, outcome in enumerate(outcomes) if outcome != (None, None)}
    if part.kind in ("and", "or"):
        stopper = part.kind == "or"
        if value is stopper:
            return {i for i, outcome in enumerate(outcomes) if outcome[0] is stopper}
        if error is not None:
            return {next(iter(sorted(i for i, outcome in enumerate(outcomes) if outcome[1])), 0)}
    return reached

"""Plans comprehensions.

Lists and maps that ``map``, ``filter`` and the like build are grown in place, since copying them for every
element, as the expansion says, would be quadratic; what it costs is counted as if they were copied.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias

from apportion.cel.language.ast import ACCUMULATOR, Call, Expr, Fold, Ident, ListExpr, MapExpr
from apportion.cel.run.containers import LIST_COST
from apportion.cel.run.frame import COST_LIMIT, CostExceeded, Frame, Run, Step
from apportion.cel.values import NO_OVERLOAD, Failure, Value, can_be_key, format_key, has_entry

if TYPE_CHECKING:
    from apportion.cel.run.planner import Planner

# What `@result + [x]` and an insertion cost besides their operands; the accumulator itself is one of them.
_APPEND_COST: Final = LIST_COST + 2
_INSERT_COST: Final = 2

_Loop: TypeAlias = Callable[[Frame, Iterable[tuple[Value, Value]]], None]


def plan_fold(planner: "Planner", node: Fold) -> Step:
    """Return the step that runs the comprehension."""
    items_of = planner.plan(node.iter_range).run
    init = _plan_init(planner, node.accu_init)
    accu, first, second = planner.add_slot(), planner.add_slot(), planner.add_slot()
    outer = {ACCUMULATOR: _make_reader(accu)}
    inner = {**outer, node.iter_var: _make_reader(first)}
    if node.iter_var2:
        inner[node.iter_var2] = _make_reader(second)
    condition, step = planner.plan_within([node.condition, node.step], inner)
    result = planner.plan_within([node.result], outer)[0].run
    loop = _make_loop(None if condition.constant is True else condition.run, step.run, accu, first, second)
    in_pairs = node.iter_var2 is not None

    def run(frame: Frame) -> Value:
        items = items_of(frame)
        if items.__class__ is Failure:
            return items
        if not isinstance(items, tuple | dict):
            return NO_OVERLOAD
        frame.locals[accu] = init(frame)
        loop(frame, _pair_up(items, in_pairs))
        built = frame.locals[accu]
        if built.__class__ is list:
            frame.locals[accu] = tuple(built)
        return result(frame)

    return Step(run)


def _plan_init(planner: "Planner", node: Expr) -> Run:
    if isinstance(node, ListExpr):
        return lambda _: []
    if isinstance(node, MapExpr):
        return lambda _: {}
    return planner.plan(node).run


def _make_reader(slot: int) -> Run:
    return lambda frame: frame.locals[slot]


def _pair_up(items: "tuple[Value, ...] | dict[Value, Value]", in_pairs: bool) -> Iterable[tuple[Value, Value]]:
    if isinstance(items, dict):
        return list(items.items())
    return enumerate(items) if in_pairs else ((item, None) for item in items)


def _make_loop(condition: Run | None, step: Run, accu: int, first: int, second: int) -> _Loop:
    def run(frame: Frame, pairs: Iterable[tuple[Value, Value]]) -> None:
        local = frame.locals
        for local[first], local[second] in pairs:
            # An error as condition does not end the loop: the next element may still absorb it.
            if condition is not None and condition(frame) is False:
                break
            local[accu] = step(frame)
            if frame.cost > COST_LIMIT:
                raise CostExceeded

    return run


def find_growth(planner: "Planner", node: Call) -> Step | None:
    """Return the step that grows the accumulator when ``node`` does so, else None."""
    first, *rest = node.operands
    if not isinstance(first, Ident) or first.name != ACCUMULATOR:
        return None
    read = planner.plan_name(first)
    if not callable(read):
        return None
    if node.function == "_+_" and isinstance(rest[0], ListExpr):
        return Step(_make_append(read, planner.plan(rest[0].elements[0]).run))
    if node.function == "cel.@mapInsert":
        operands = [planner.plan(operand).run for operand in rest]
        return Step(_make_insert(read, operands))
    return None


def _make_append(read: Run, element: Run) -> Run:
    def run(frame: Frame) -> Value:
        items, value = read(frame), element(frame)
        frame.cost += _APPEND_COST
        if items.__class__ is Failure or value.__class__ is Failure:
            return items if items.__class__ is Failure else value
        items.append(value)
        return items

    return run


def _make_insert(read: Run, operands: list[Run]) -> Run:
    def run(frame: Frame) -> Value:
        entries = read(frame)
        values = [operand(frame) for operand in operands]
        frame.cost += _INSERT_COST
        for value in (entries, *values):
            if value.__class__ is Failure:
                return value
        if not can_be_key(values[0]) and len(values) > 1:
            return NO_OVERLOAD
        added = values[0] if len(values) == 1 else {values[0]: values[1]}
        for key, value in added.items():
            if has_entry(entries, key):
                return Failure(f"insert failed: key {format_key(key)} already exists")
            entries[key] = value
        return entries

    return run

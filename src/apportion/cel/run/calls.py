"""Plans calls of functions and operators.

Calls that cost 1 and equality with a constant make up nearly every selector, so they have closures of their
own; the rest goes through the general ones.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from apportion.cel.errors import CompileError
from apportion.cel.language.ast import Call
from apportion.cel.library.convert import CONVERSIONS
from apportion.cel.library.environment import Dispatcher
from apportion.cel.library.regex import compile_pattern
from apportion.cel.run.cost import ACTUAL, Actual, scan_cost, shorter_cost, size_of
from apportion.cel.run.frame import Frame, Run, Step, make_constant
from apportion.cel.run.loops import find_growth
from apportion.cel.values import NO_OVERLOAD, Failure, Optional, Uint, Value, equals

if TYPE_CHECKING:
    from apportion.cel.run.planner import Planner

# Parsers that are worth running while planning when their text is a constant; they are paid for all the same.
_PARSERS: Final = frozenset(("quantity", "semver", "ip", "cidr", "url"))
_PATTERNS: Final = frozenset(("matches", "find", "findAll"))
_LITERALS: Final = {"duration": "invalid duration argument", "timestamp": "invalid timestamp argument"}
_SCALARS: Final = frozenset((str, int, float, bool, bytes, Uint))


def plan_call(planner: "Planner", node: Call) -> Step:
    """Return the step that evaluates the call."""
    if node.operands and (growth := find_growth(planner, node)) is not None:
        return growth
    steps = [planner.plan(operand) for operand in node.operands]
    function = node.function
    if function == "@not_strictly_false":
        return Step(_make_not_strictly_false(steps[0].run))
    if function in ("or", "orValue"):
        return Step(_make_or_value(steps[0].run, steps[1].run, unwrap=function == "orValue"))
    if function in _PATTERNS and steps[1].is_constant:
        return _plan_pattern(planner, node, steps)
    if function in CONVERSIONS and len(steps) == 1 and steps[0].is_constant:
        return _fold_conversion(planner, node, steps[0])
    if function == "@in" and _is_set(steps[1]) and len(node.overloads) == 1:
        return Step(_make_membership(steps[0].run, steps[1].constant))
    if function == "_==_":
        return Step(_make_equality(steps))
    find = Dispatcher(node.overloads).find
    if function in _PARSERS and all(s.is_constant for s in steps):
        parsed = _fold_parser(find, steps, _cost_rule(node))
        if parsed is not None:
            return parsed
    return Step(_make_call(find, steps, _cost_rule(node)))


def _cost_rule(node: Call) -> str:
    """Return the rule that all candidates share; calls that are decided at run time cost 1 otherwise."""
    rules = {overload.cost for overload in node.overloads}
    return rules.pop() if len(rules) == 1 else "one"


_Find = Callable[[tuple[type, ...]], Callable[..., Value] | None]


def _make_call(find: _Find, steps: list[Step], rule: str) -> Run:
    if len(steps) > 2:
        return _make_variadic(find, [s.run for s in steps], ACTUAL[rule])
    if rule == "one" and len(steps) == 1:
        return _make_unary(find, steps[0].run)
    if rule == "one" and len(steps) == 2:
        return _make_binary(find, steps[0].run, steps[1])
    return _make_general(find, [s.run for s in steps], ACTUAL[rule])


def _make_unary(find: _Find, operand: Run) -> Run:
    def run(frame: Frame) -> Value:
        value = operand(frame)
        frame.cost += 1
        if value.__class__ is Failure:
            return value
        function = find((value.__class__,))
        return NO_OVERLOAD if function is None else function(value)

    return run


def _make_binary(find: _Find, left: Run, right: Step) -> Run:
    if right.is_constant and not isinstance(right.constant, Failure):
        return _make_binary_constant(find, left, right.constant, right.charge + 1)
    right_run = right.run

    def run(frame: Frame) -> Value:
        a, b = left(frame), right_run(frame)
        frame.cost += 1
        if a.__class__ is Failure:
            return a
        if b.__class__ is Failure:
            return b
        function = find((a.__class__, b.__class__))
        return NO_OVERLOAD if function is None else function(a, b)

    return run


def _make_binary_constant(find: _Find, left: Run, right: Value, cost: int) -> Run:
    known: dict[type, Callable[..., Value] | None] = {}
    kind = right.__class__

    def run(frame: Frame) -> Value:
        value = left(frame)
        frame.cost += cost
        left_kind = value.__class__
        try:
            function = known[left_kind]
        except KeyError:
            function = known[left_kind] = None if left_kind is Failure else find((left_kind, kind))
        if function is None:
            return value if left_kind is Failure else NO_OVERLOAD
        return function(value, right)

    return run


def _make_general(find: _Find, operands: list[Run], cost: Actual) -> Run:
    def run(frame: Frame) -> Value:
        values = [operand(frame) for operand in operands]
        frame.charge(cost(values))
        return _apply(find, values)

    return run


def _make_variadic(find: _Find, operands: list[Run], cost: Actual) -> Run:
    """Three operands and more: upstream stops at the first error and does not charge for the call then."""

    def run(frame: Frame) -> Value:
        values: list[Value] = []
        for operand in operands:
            value = operand(frame)
            if value.__class__ is Failure:
                return value
            values.append(value)
        frame.charge(cost(values))
        return _apply(find, values)

    return run


def _apply(find: _Find, values: list[Value]) -> Value:
    for value in values:
        if value.__class__ is Failure:
            return value
    function = find(tuple([value.__class__ for value in values]))
    return NO_OVERLOAD if function is None else function(*values)


def _make_equality(steps: list[Step]) -> Run:
    left, right = steps[0].run, steps[1].run
    if steps[1].is_constant and steps[1].constant.__class__ in _SCALARS:
        return _make_constant_equality(left, steps[1].constant)

    def run(frame: Frame) -> Value:
        a, b = left(frame), right(frame)
        frame.charge(shorter_cost(a, b))
        if a.__class__ is Failure:
            return a
        return b if b.__class__ is Failure else equals(a, b)

    return run


def _make_constant_equality(left: Run, right: Value) -> Run:
    kind, size = right.__class__, size_of(right)
    full_cost = scan_cost(size)

    def run(frame: Frame) -> Value:
        value = left(frame)
        if value.__class__ is kind:
            if kind is str and len(value) < size:
                frame.cost += scan_cost(len(value))
            else:
                frame.cost += full_cost
            return value == right
        frame.cost += shorter_cost(value, right)
        return value if value.__class__ is Failure else equals(value, right)

    return run


def _make_not_strictly_false(operand: Run) -> Run:
    def run(frame: Frame) -> Value:
        value = operand(frame)
        frame.cost += 1
        return value is not False

    return run


def _make_or_value(left: Run, right: Run, unwrap: bool) -> Run:
    def run(frame: Frame) -> Value:
        value = left(frame)
        if value.__class__ is Failure:
            return value
        if value.__class__ is not Optional:
            return NO_OVERLOAD
        if not value.has:
            return right(frame)
        return value.value if unwrap else value

    return run


def _is_set(step: Step) -> bool:
    items = step.constant
    return isinstance(items, tuple) and bool(items) and all(i.__class__ in _SCALARS for i in items)


def _make_membership(operand: Run, items: tuple[Value, ...]) -> Run:
    """``x in [constants]``: upstream looks it up in a set, which is free."""
    if all(item.__class__ is str for item in items):
        members = frozenset(items)

        def run_text(frame: Frame) -> Value:
            value = operand(frame)
            if value.__class__ is str:
                return value in members
            return value if value.__class__ is Failure else False

        return run_text

    def run(frame: Frame) -> Value:
        value = operand(frame)
        if value.__class__ is Failure:
            return value
        return any(equals(item, value) is True for item in items)

    return run


def _plan_pattern(planner: "Planner", node: Call, steps: list[Step]) -> Step:
    pattern = steps[1].constant
    compiled = compile_pattern(pattern) if isinstance(pattern, str) else None
    if isinstance(compiled, Failure):
        text = f"invalid {node.function} argument: {compiled.message}"
        raise CompileError(text, planner.source, node.operands[1].pos)
    find = Dispatcher(node.overloads).find
    return Step(_make_variadic(find, [s.run for s in steps], ACTUAL[_cost_rule(node)]))


def _fold_conversion(planner: "Planner", node: Call, step: Step) -> Step:
    find = Dispatcher(node.overloads).find
    value = _apply(find, [step.constant])
    if isinstance(value, Failure):
        text = f"{_LITERALS.get(node.function, 'program instantiation failed')}: {value.message}"
        raise CompileError(text, planner.source, node.args[0].pos)
    return make_constant(value, step.charge)


def _fold_parser(find: _Find, steps: list[Step], rule: str) -> Step | None:
    """Return the parsed constant, or None when it does not parse: that stays an error at run time."""
    values = [s.constant for s in steps]
    parsed = _apply(find, values)
    charge = ACTUAL[rule](values) + sum(s.charge for s in steps)
    return None if isinstance(parsed, Failure) else make_constant(parsed, charge)

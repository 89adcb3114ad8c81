"""Plans list and map literals; literals of constants are built once and cost nothing."""

from typing import TYPE_CHECKING, Final

from apportion.cel.language.ast import ListExpr, MapExpr
from apportion.cel.run.frame import Frame, Run, Step, make_constant
from apportion.cel.values import NO_OVERLOAD, Failure, Optional, Value, can_be_key, format_key, has_entry

if TYPE_CHECKING:
    from apportion.cel.run.planner import Planner

LIST_COST: Final = 10
_MAP_COST: Final = 30


def plan_list(planner: "Planner", node: ListExpr) -> Step:
    """Return the step that builds the list."""
    steps = [planner.plan(element) for element in node.elements]
    if not node.optional and _are_free(steps):
        return make_constant(tuple(s.constant for s in steps))
    runs = [(s.run, i in node.optional) for i, s in enumerate(steps)]

    def run(frame: Frame) -> Value:
        frame.cost += LIST_COST
        items: list[Value] = []
        for element, optional in runs:
            value = element(frame)
            if optional and value.__class__ is Optional:
                if not value.has:
                    continue
                value = value.value
            if value.__class__ is Failure:
                return value
            items.append(value)
        return tuple(items)

    return Step(run)


def plan_map(planner: "Planner", node: MapExpr) -> Step:
    """Return the step that builds the map."""
    pairs = [(planner.plan(key), planner.plan(value)) for key, value in node.entries]
    if not node.optional and _are_free([s for pair in pairs for s in pair]):
        built = _build([(k.constant, v.constant) for k, v in pairs])
        if not isinstance(built, Failure):
            return make_constant(built)
    runs = [(k.run, v.run, i in node.optional) for i, (k, v) in enumerate(pairs)]
    return Step(_make_map(runs))


def _make_map(runs: list[tuple[Run, Run, bool]]) -> Run:
    def run(frame: Frame) -> Value:
        frame.cost += _MAP_COST
        pairs: list[tuple[Value, Value]] = []
        for key_of, value_of, optional in runs:
            key, value = key_of(frame), value_of(frame)
            if key.__class__ is Failure or value.__class__ is Failure:
                return key if key.__class__ is Failure else value
            if optional and value.__class__ is Optional:
                if not value.has:
                    continue
                value = value.value
            pairs.append((key, value))
        return _build(pairs)

    return run


def _build(pairs: list[tuple[Value, Value]]) -> Value:
    entries: dict[Value, Value] = {}
    for key, value in pairs:
        if not can_be_key(key):
            return NO_OVERLOAD
        if has_entry(entries, key):
            return Failure(f"Failed with repeated key: {format_key(key)}")
        entries[key] = value
    return entries


def _are_free(steps: list[Step]) -> bool:
    return all(s.is_constant and not s.charge and not isinstance(s.constant, Failure) for s in steps)

"""Plans paths such as ``device.attributes["gpu.example.com"].model``: a root and a chain of qualifiers.

Each qualifier that is looked at costs 1, the root costs 1 more (0 as an operand of ``?:``). Paths with
constant names into ``device`` are by far the most frequent, so they get closures of their own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apportion.cel.language.ast import Conditional, Const, Expr, Ident, Index, Select
from apportion.cel.run.frame import Frame, Run, Step, make_constant, read_device
from apportion.cel.values import NO_OVERLOAD, NONE, DomainMap, Failure, Optional, Value, can_be_key, find_entry

if TYPE_CHECKING:
    from apportion.cel.run.planner import Planner

_EMPTY: Final[dict[str, Value]] = {}
_DOMAIN_FIELDS: Final = ("attributes", "capacity")


@dataclass(frozen=True, slots=True)
class _Qualifier:
    """One link of the chain: a constant ``name`` or a ``key`` to evaluate."""

    name: Value
    key: Run | None
    optional: bool


def plan_path(planner: "Planner", node: Expr, root_cost: int) -> Step:
    """Return the step that follows the path; ``has()`` around it turns the last link into a test."""
    test_only = isinstance(node, Select) and node.test_only
    root, links = _split(node)
    if isinstance(root, Ident):
        reader = planner.plan_name(root)
        if not callable(reader):
            return make_constant(reader)
    else:
        reader = planner.plan_branch(root).run
        # A path over a conditional has no cost of its own.
        root_cost = 0 if isinstance(root, Conditional) else root_cost
    qualifiers = [_plan_link(planner, link) for link in links]
    if reader is read_device:
        fast = _make_device_path(qualifiers, root_cost, test_only)
        if fast is not None:
            return Step(fast)
    if not qualifiers:
        return Step(_make_root(reader, root_cost))
    walk = _make_walk(reader, qualifiers, root_cost, test_only)
    return Step(walk)


def _split(node: Expr) -> tuple[Expr, list[Select | Index]]:
    links: list[Select | Index] = []
    while isinstance(node, Select | Index):
        links.append(node)
        node = node.operand
    return node, links[::-1]


def _plan_link(planner: "Planner", link: Select | Index) -> _Qualifier:
    if isinstance(link, Select):
        return _Qualifier(link.field, None, link.optional)
    if isinstance(link.key, Const):
        return _Qualifier(link.key.value, None, link.optional)
    return _Qualifier(None, planner.plan_branch(link.key).run, link.optional)


def _make_root(read: Run, cost: int) -> Run:
    def run(frame: Frame) -> Value:
        frame.cost += cost
        return read(frame)

    return run if cost else read


def _make_device_path(qualifiers: list[_Qualifier], root_cost: int, test_only: bool) -> Run | None:
    names = [q.name for q in qualifiers]
    plain = all(q.key is None and not q.optional and isinstance(q.name, str) for q in qualifiers)
    cost = root_cost + len(names) - test_only
    if plain and names == ["driver"] and not test_only:
        return _make_driver(cost)
    if plain and len(names) == 3 and names[0] in _DOMAIN_FIELDS:
        field, domain, name = names
        return (_make_presence if test_only else _make_lookup)(field, domain, name, cost)
    return None


def _make_driver(cost: int) -> Run:
    def run(frame: Frame) -> Value:
        frame.cost += cost
        return frame.facts.driver

    return run


def _domains_of(field: str) -> Callable[[Frame], DomainMap]:
    if field == "attributes":
        return lambda frame: frame.facts.attributes
    return lambda frame: frame.facts.capacity


def _make_lookup(field: str, domain: str, name: str, cost: int) -> Run:
    missing = Failure(f"no such key: {name}")

    def run_attribute(frame: Frame) -> Value:
        frame.cost += cost
        return frame.facts.attributes.get(domain, _EMPTY).get(name, missing)

    def run_capacity(frame: Frame) -> Value:
        frame.cost += cost
        return frame.facts.capacity.get(domain, _EMPTY).get(name, missing)

    return run_attribute if field == "attributes" else run_capacity


def _make_presence(field: str, domain: str, name: str, cost: int) -> Run:
    domains = _domains_of(field)

    def run(frame: Frame) -> Value:
        frame.cost += cost
        return name in domains(frame).get(domain, _EMPTY)

    return run


def _make_walk(read: Run, qualifiers: list[_Qualifier], root_cost: int, test_only: bool) -> Run:
    last = len(qualifiers) - 1 if test_only else len(qualifiers)

    def run(frame: Frame) -> Value:
        value = read(frame)
        frame.cost += root_cost
        optional = False
        for i, qualifier in enumerate(qualifiers):
            if value.__class__ is Optional:
                if not value.has:
                    return False if test_only else value
                value, optional = value.value, True
            if value.__class__ is Failure:
                return value
            key = qualifier.name if qualifier.key is None else qualifier.key(frame)
            if key.__class__ is Failure:
                return key
            optional = optional or qualifier.optional
            found = _find(value, key)
            if i == last:
                return found if _is_fatal(found) else found.__class__ is not Failure
            if optional and found.__class__ is Failure and not _is_fatal(found):
                return NONE
            frame.cost += 1
            value = found
        if not optional or value.__class__ is Optional or value.__class__ is Failure:
            return value
        return Optional(True, value)

    return run


def _is_fatal(value: Value) -> bool:
    """Return whether this is an error even where absence is not."""
    return value is NO_OVERLOAD


def _find(holder: Value, key: Value) -> Value:
    if isinstance(holder, dict):
        return find_entry(holder, key) if can_be_key(key) else NO_OVERLOAD
    if isinstance(holder, tuple):
        return _find_element(holder, key)
    fields: DomainMap | dict[str, Value] | None = getattr(holder, "fields", None)
    if fields is None:
        return NO_OVERLOAD
    return find_entry(fields, key)


def _find_element(items: tuple[Value, ...], key: Value) -> Value:
    if isinstance(key, bool) or not isinstance(key, int | float) or not math.isfinite(key) or key != int(key):
        return NO_OVERLOAD
    index = int(key)
    return items[index] if 0 <= index < len(items) else Failure(f"index out of bounds: {index}")

"""Expands macros: calls whose arguments are rewritten before they are checked.

Shapes of the expansions follow cel-go (parser/macro.go, ext/comprehensions.go, cel/library.go), since costs
are counted over them.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from apportion.cel.errors import CompileError
from apportion.cel.language.ast import (
    ACCUMULATOR,
    Bind,
    Call,
    Conditional,
    Const,
    Expr,
    Fold,
    Ident,
    ListExpr,
    Logic,
    MapExpr,
    Select,
)
from apportion.cel.values import Value

Expander: TypeAlias = Callable[["_Site"], Expr]


def expand_macro(call: Call, source: str) -> Expr | None:
    """Return what ``call`` stands for when it is a macro, else None; raises CompileError on misuse."""
    namespace = call.target.name if isinstance(call.target, Ident) else None
    arity = len(call.args)
    if call.target is None:
        expander = _GLOBAL.get((call.function, arity))
    else:
        expander = _QUALIFIED.get((f"{namespace}.{call.function}", arity)) if namespace else None
        expander = expander or _MEMBER.get((call.function, arity))
    return expander(_Site(call, source)) if expander else None


class _Site:
    """One macro call and the means to build nodes at its place."""

    def __init__(self, call: Call, source: str) -> None:
        self.call = call
        self.args = call.args
        self.source = source
        self.place = (call.pos, call.start, call.end)

    @property
    def range(self) -> Expr:
        assert self.call.target is not None
        return self.call.target

    def const(self, value: Value) -> Const:
        return Const(*self.place, value)

    def ident(self, name: str) -> Ident:
        return Ident(*self.place, name)

    def result(self) -> Ident:
        return self.ident(ACCUMULATOR)

    def function(self, name: str, *args: Expr) -> Call:
        return Call(*self.place, name, None, list(args))

    def member(self, name: str, target: Expr, *args: Expr) -> Call:
        return Call(*self.place, name, target, list(args))

    def logic(self, operator: str, *terms: Expr) -> Logic:
        return Logic(*self.place, operator, list(terms))

    def choose(self, condition: Expr, then: Expr, otherwise: Expr) -> Conditional:
        return Conditional(*self.place, condition, then, otherwise)

    def list(self, *elements: Expr) -> ListExpr:
        return ListExpr(*self.place, list(elements))

    def name_of(self, index: int) -> str:
        arg = self.args[index]
        if isinstance(arg, Ident) and arg.name != ACCUMULATOR:
            return arg.name
        raise CompileError(
            f"argument {index + 1} of {self.call.function}() must be a simple name", self.source, arg.pos
        )

    def names(self, count: int) -> tuple[str, str | None]:
        first = self.name_of(0)
        if count == 1:
            return first, None
        second = self.name_of(1)
        if first == second:
            raise CompileError(
                f"the two variables of {self.call.function}() must differ", self.source, self.args[1].pos
            )
        return first, second

    def fold(self, names: int, init: Expr, condition: Expr, step: Expr, result: Expr) -> Fold:
        variable, variable2 = self.names(names)
        return Fold(*self.place, self.range, variable, variable2, init, condition, step, result)


def _expand_has(site: _Site) -> Expr:
    operand = site.args[0]
    if not isinstance(operand, Select) or operand.test_only:
        raise CompileError("invalid argument to has() macro: name a field", site.source, operand.pos)
    return Select(*site.place, operand.operand, operand.field, test_only=True, optional=operand.optional)


def _expand_all(names: int) -> Expander:
    def expand(site: _Site) -> Expr:
        condition = site.function("@not_strictly_false", site.result())
        step = site.logic("&&", site.result(), site.args[names])
        return site.fold(names, site.const(True), condition, step, site.result())

    return expand


def _expand_exists(names: int) -> Expander:
    def expand(site: _Site) -> Expr:
        condition = site.function("@not_strictly_false", site.function("!_", site.result()))
        step = site.logic("||", site.result(), site.args[names])
        return site.fold(names, site.const(False), condition, step, site.result())

    return expand


def _expand_exists_one(names: int) -> Expander:
    def expand(site: _Site) -> Expr:
        counted = site.function("_+_", site.result(), site.const(1))
        step = site.choose(site.args[names], counted, site.result())
        is_one = site.function("_==_", site.result(), site.const(1))
        return site.fold(names, site.const(0), site.const(True), step, is_one)

    return expand


def _expand_filter(site: _Site) -> Expr:
    added = site.function("_+_", site.result(), site.list(site.args[0]))
    step = site.choose(site.args[1], added, site.result())
    return site.fold(1, site.list(), site.const(True), step, site.result())


def _expand_map(names: int, filtered: bool) -> Expander:
    def expand(site: _Site) -> Expr:
        step: Expr = site.function("_+_", site.result(), site.list(site.args[-1]))
        if filtered:
            step = site.choose(site.args[names], step, site.result())
        return site.fold(names, site.list(), site.const(True), step, site.result())

    return expand


def _expand_to_map(filtered: bool, entries: bool) -> Expander:
    def expand(site: _Site) -> Expr:
        added = [site.args[-1]] if entries else [site.ident(site.name_of(0)), site.args[-1]]
        step: Expr = site.function("cel.@mapInsert", site.result(), *added)
        if filtered:
            step = site.choose(site.args[2], step, site.result())
        return site.fold(2, MapExpr(*site.place, []), site.const(True), step, site.result())

    return expand


def _expand_bind(site: _Site) -> Expr:
    return Bind(*site.place, site.name_of(0), site.args[1], site.args[2])


def _expand_opt_map(flat: bool) -> Expander:
    def expand(site: _Site) -> Expr:
        value = site.member("value", site.range)
        bound: Expr = Bind(*site.place, site.name_of(0), value, site.args[1])
        if not flat:
            bound = site.function("optional.of", bound)
        none = site.function("optional.none")
        return site.choose(site.member("hasValue", site.range), bound, none)

    return expand


def _expand_sort_by(site: _Site) -> Expr:
    keys = site.fold(
        1,
        site.list(),
        site.const(True),
        site.function("_+_", site.result(), site.list(site.args[1])),
        site.result(),
    )
    return site.member("@sortByAssociatedKeys", site.range, keys)


_GLOBAL: Final[dict[tuple[str, int], Expander]] = {("has", 1): _expand_has}
_QUALIFIED: Final[dict[tuple[str, int], Expander]] = {("cel.bind", 3): _expand_bind}
_MEMBER: Final[dict[tuple[str, int], Expander]] = {
    ("all", 2): _expand_all(1),
    ("all", 3): _expand_all(2),
    ("exists", 2): _expand_exists(1),
    ("exists", 3): _expand_exists(2),
    ("exists_one", 2): _expand_exists_one(1),
    ("exists_one", 3): _expand_exists_one(2),
    ("existsOne", 2): _expand_exists_one(1),
    ("existsOne", 3): _expand_exists_one(2),
    ("filter", 2): _expand_filter,
    ("map", 2): _expand_map(1, filtered=False),
    ("map", 3): _expand_map(1, filtered=True),
    ("transformList", 3): _expand_map(2, filtered=False),
    ("transformList", 4): _expand_map(2, filtered=True),
    ("transformMap", 3): _expand_to_map(filtered=False, entries=False),
    ("transformMap", 4): _expand_to_map(filtered=True, entries=False),
    ("transformMapEntry", 3): _expand_to_map(filtered=False, entries=True),
    ("transformMapEntry", 4): _expand_to_map(filtered=True, entries=True),
    ("optMap", 2): _expand_opt_map(flat=False),
    ("optFlatMap", 2): _expand_opt_map(flat=True),
    ("sortBy", 2): _expand_sort_by,
}

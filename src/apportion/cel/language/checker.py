"""Checks types: fills in the ``type`` of every node and the candidate ``overloads`` of every call.

Follows cel-go's checker (checker/checker.go), with aggregate literals of one element type only, as Kubernetes
asks for. Stops at the first error.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from apportion.cel.errors import CompileError
from apportion.cel.language import types
from apportion.cel.language.ast import (
    ACCUMULATOR,
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
    list_children,
)
from apportion.cel.language.types import DYN, Type, Unifier, is_dynamic, list_of, map_of, optional_of, type_of
from apportion.cel.library.declare import Overload
from apportion.cel.library.environment import DEVICE_VARIABLE, TYPE_NAMES, Environment
from apportion.cel.values import Uint

_CONST_TYPES: Final[dict[type, Type]] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}


def check_types(root: Expr, environment: Environment, source: str) -> None:
    """Annotate the tree in place; raises CompileError with a position."""
    checker = _Checker(environment, source)
    checker.check(root)
    checker.settle(root)


class _Checker:
    def __init__(self, environment: Environment, source: str) -> None:
        self.environment = environment
        self.source = source
        self.unifier = Unifier()
        self.locals: list[tuple[str, Type]] = []

    def check(self, node: Expr) -> Type:
        match node:
            case Const():
                found = _CONST_TYPES[node.value.__class__]
            case Ident():
                found = self.check_ident(node)
            case Select():
                found = self.check_select(node)
            case Index():
                found = self.check_index(node)
            case Call():
                found = self.check_call(node)
            case Logic():
                found = self.check_logic(node)
            case Conditional():
                found = self.check_conditional(node)
            case ListExpr():
                found = list_of(self.join_all(node.elements, node.optional))
            case MapExpr():
                keys = self.join_all([k for k, _ in node.entries], frozenset())
                found = map_of(keys, self.join_all([v for _, v in node.entries], node.optional))
            case Fold():
                found = self.check_fold(node)
            case Bind():
                found = self.check_bind(node)
        node.type = found
        return found

    def settle(self, node: Expr) -> None:
        """Replace type variables by what they were bound to, and by dyn where nothing bound them."""
        node.type = self.unifier.resolve(node.type, unbound=DYN)
        for child in list_children(node):
            self.settle(child)

    def rejection(self, node: Expr, text: str) -> CompileError:
        return CompileError(text, self.source, node.pos)

    def show(self, *found: Type) -> str:
        return ", ".join(str(self.unifier.resolve(t, unbound=DYN)) for t in found)

    @contextmanager
    def scope(self, *variables: tuple[str, Type]) -> Iterator[None]:
        self.locals.extend(variables)
        yield
        del self.locals[len(self.locals) - len(variables) :]

    def find_variable(self, name: str) -> Type | None:
        for local, found in reversed(self.locals):
            if local == name:
                return found
        return types.DEVICE if name == DEVICE_VARIABLE else None

    def check_ident(self, node: Ident) -> Type:
        found = self.find_variable(node.name)
        if found is None and node.name in TYPE_NAMES:
            found = type_of(TYPE_NAMES[node.name])
        if found is None:
            raise self.rejection(node, f"undeclared reference to {node.name!r} (in container '')")
        return found

    def check_select(self, node: Select) -> Type:
        operand = self.unifier.resolve(self.check(node.operand))
        wrapped = operand.name == "optional_type"
        holder = operand.params[0] if wrapped else operand
        found = self.field_type(node, holder)
        if node.test_only:
            return types.BOOL
        return optional_of(found) if wrapped or node.optional else found

    def field_type(self, node: Select, holder: Type) -> Type:
        if holder == types.DEVICE:
            found = self.environment.device_fields.get(node.field)
            if found is None:
                raise self.rejection(node, f"undefined field {node.field!r}")
            return found
        if holder.name == "map" and self.unifier.assign_all((holder.params[0],), (types.STRING,)):
            return holder.params[1]
        if is_dynamic(holder) or holder.is_variable:
            return DYN
        raise self.rejection(node, f"type '{self.show(holder)}' does not support field selection")

    def check_index(self, node: Index) -> Type:
        operand, key = self.unifier.resolve(self.check(node.operand)), self.check(node.key)
        wrapped = operand.name == "optional_type"
        holder = self.unifier.resolve(operand.params[0]) if wrapped else operand
        found: Type | None = DYN if is_dynamic(holder) or holder.is_variable else None
        if holder.name == "list" and self.unifier.assign_all((types.INT,), (key,)):
            found = holder.params[0]
        elif holder.name == "map" and self.unifier.assign_all((holder.params[0],), (key,)):
            found = holder.params[1]
        if found is None:
            shown = self.show(operand, key)
            raise self.rejection(node, f"found no matching overload for '_[_]' applied to '({shown})'")
        return optional_of(found) if wrapped or node.optional else found

    def check_call(self, node: Call) -> Type:
        self.resolve_namespace(node)
        overloads = self.environment.functions.get(node.function)
        operands = tuple(self.check(operand) for operand in node.operands)
        if overloads is None:
            raise self.rejection(node, f"undeclared reference to {node.function!r} (in container '')")
        result = self.match_overloads(node, overloads, operands)
        if result is None:
            raise self.call_rejection(node, operands)
        return result

    def resolve_namespace(self, node: Call) -> None:
        """Turn ``sets.contains(a, b)``, parsed as a member call on ``sets``, into a call of that function."""
        if isinstance(node.target, Ident) and self.find_variable(node.target.name) is None:
            qualified = f"{node.target.name}.{node.function}"
            if qualified in self.environment.functions:
                node.function, node.target = qualified, None

    def match_overloads(self, node: Call, overloads: list[Overload], operands: tuple[Type, ...]) -> Type | None:
        result: Type | None = None
        for overload in overloads:
            is_member = node.target is not None
            if overload.member != is_member or len(overload.params) != len(operands):
                continue
            *params, returned = self.unifier.instantiate((*overload.params, overload.result))
            if not self.unifier.assign_all(tuple(params), operands):
                continue
            node.overloads.append(overload)
            found = self.unifier.resolve(returned)
            if result is None:
                result = found
            elif result != found:
                result = DYN
        return result

    def call_rejection(self, node: Call, operands: tuple[Type, ...]) -> CompileError:
        shown = f"({self.show(*operands)})"
        if node.target is not None:
            shown = f"{self.show(operands[0])}.({self.show(*operands[1:])})"
        return self.rejection(node, f"found no matching overload for '{node.function}' applied to '{shown}'")

    def expect(self, node: Expr, expected: Type) -> None:
        found = self.check(node)
        if not self.unifier.assign_all((expected,), (found,)):
            raise self.mismatch(node, self.show(expected), found)

    def mismatch(self, node: Expr, expected: str, found: Type) -> CompileError:
        return self.rejection(node, f"expected type '{expected}' but found '{self.show(found)}'")

    def check_logic(self, node: Logic) -> Type:
        for term in node.terms:
            self.expect(term, types.BOOL)
        return types.BOOL

    def check_conditional(self, node: Conditional) -> Type:
        self.expect(node.condition, types.BOOL)
        then, otherwise = self.check(node.then), self.check(node.otherwise)
        joined = self.unifier.join(then, otherwise)
        if joined is None:
            shown = f"bool, {self.show(then, otherwise)}"
            raise self.rejection(node, f"found no matching overload for '_?_:_' applied to '({shown})'")
        return joined

    def join_all(self, nodes: list[Expr], optional: frozenset[int]) -> Type:
        joined: Type | None = None
        for i, node in enumerate(nodes):
            found = self.check(node)
            if i in optional:
                inner = self.unifier.fresh()
                if not self.unifier.assign_all((optional_of(inner),), (found,)):
                    raise self.mismatch(node, "optional_type", found)
                found = self.unifier.resolve(inner)
            wider = found if joined is None else self.unifier.join(joined, found)
            if wider is None:
                raise self.mismatch(node, self.show(joined or DYN), found)
            joined = wider
        return joined or self.unifier.fresh()

    def check_fold(self, node: Fold) -> Type:
        key, value = self.iteration_types(node, self.unifier.resolve(self.check(node.iter_range)))
        accumulator = self.check(node.accu_init)
        variables = [(node.iter_var, key if node.iter_var2 else value)]
        if node.iter_var2:
            variables.append((node.iter_var2, value))
        with self.scope((ACCUMULATOR, accumulator)):
            with self.scope(*variables):
                self.expect(node.condition, types.BOOL)
                self.expect(node.step, accumulator)
            return self.check(node.result)

    def iteration_types(self, node: Fold, holder: Type) -> tuple[Type, Type]:
        """Return the types of both loop variables; a single one over a map takes the keys."""
        if holder.name == "list":
            return types.INT, holder.params[0]
        if holder.name == "map":
            return holder.params[0], holder.params[1] if node.iter_var2 else holder.params[0]
        if holder == DYN or holder.is_variable:
            return DYN, DYN
        shown = self.show(holder)
        limits = "must be list, map, or dynamic"
        text = f"expression of type '{shown}' cannot be range of a comprehension ({limits})"
        raise self.rejection(node.iter_range, text)

    def check_bind(self, node: Bind) -> Type:
        with self.scope((node.name, self.check(node.init))):
            return self.check(node.result)

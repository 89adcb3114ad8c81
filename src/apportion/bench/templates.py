"""Renders the templates of workload files.

Behaviour: Go's text/template with the functions that scheduler_perf adds (AddInt, DivideInt, Mod, Int, JSON, ...).
"""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from apportion.base import InputError
from apportion.bench.template_syntax import If, Node, Output, Range, Text, parse

_NUMBER: Final = "0123456789-+"


def _to_int(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise InputError(f"template: {value!r} is not a whole number") from None


def _on_ints(function: Callable[[int, int], int]) -> Callable[..., int]:
    return lambda a, b: function(_to_int(a), _to_int(b))


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise InputError(f"template: {a} is divided by 0")
    return int(a / b) if abs(a) < 1 << 50 else a // b  # Go cuts towards zero


def _remainder(a: int, b: int) -> int:
    return a - b * _divide(a, b)


def _compare(function: Callable[[Any, Any], bool]) -> Callable[..., bool]:
    def compare(a: Any, *others: Any) -> bool:
        try:
            return any(function(a, b) for b in others)
        except TypeError:
            raise InputError(f"template: {a!r} and {others[0]!r} cannot be compared") from None

    return compare


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "or": lambda *values: next((v for v in values if v), values[-1]),
    "and": lambda *values: next((v for v in values if not v), values[-1]),
    "not": lambda value: not value,
    "eq": _compare(operator.eq),
    "ne": _compare(operator.ne),
    "lt": _compare(operator.lt),
    "le": _compare(operator.le),
    "gt": _compare(operator.gt),
    "ge": _compare(operator.ge),
    "len": len,
    "Int": _to_int,
    "JSON": lambda value: orjson.dumps(value).decode(),
    "AddInt": _on_ints(operator.add),
    "SubtractInt": _on_ints(operator.sub),
    "MultiplyInt": _on_ints(operator.mul),
    "DivideInt": _on_ints(_divide),
    "Mod": _on_ints(_remainder),
}
_CONSTANTS: Final = {"true": True, "false": False, "nil": None}


class Template:
    """One template, parsed. ``render`` writes it out for one object."""

    def __init__(self, source: str, name: str = "template") -> None:
        """Raises InputError naming the file when something in it is not understood."""
        self.name = name
        try:
            self.nodes = parse(source)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None

    def render(self, values: Mapping[str, Any]) -> str:
        """Return the text for ``values``. Raises InputError naming the file."""
        try:
            return "".join(write(self.nodes, Scope(values)))
        except InputError as error:
            raise InputError(f"{self.name}: {error}") from None


class Scope:
    """What a pipeline may read: the root, the dot, and the variables."""

    __slots__ = ("dot", "root", "variables")

    def __init__(self, root: Any, dot: Any = None, variables: dict[str, Any] | None = None) -> None:
        self.root = root
        self.dot = root if dot is None else dot
        self.variables = {} if variables is None else variables

    def inner(self, dot: Any, variable: str) -> "Scope":
        """Return the scope of one turn of a range."""
        variables = {**self.variables, variable: dot} if variable else dict(self.variables)
        return Scope(self.root, dot, variables)


def write(nodes: Iterable[Node], scope: Scope) -> Iterable[str]:
    """Yield the text of nodes; variables set on the way are in the scope after that."""
    for node in nodes:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Output):
            value = evaluate(node.tokens, scope)
            if node.variable:
                scope.variables[node.variable] = value
            else:
                yield show(value)
        elif isinstance(node, If):
            yield from write(node.body if evaluate(node.tokens, scope) else node.other, scope)
        else:
            yield from _write_range(node, scope)


def _write_range(node: Range, scope: Scope) -> Iterable[str]:
    values = evaluate(node.tokens, scope)
    turns = range(values) if isinstance(values, int) else values or ()
    if not turns:
        yield from write(node.other, scope)
    for value in turns:
        yield from write(node.body, scope.inner(value, node.variable))


def show(value: Any) -> str:
    """Return a value as Go prints it."""
    if value is None:
        return "<no value>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def evaluate(tokens: tuple[str, ...], scope: Scope) -> Any:
    """Return the value of a pipeline. Raises InputError for a function that is not known."""
    reader = _Reader(list(tokens), scope)
    value = reader.read_pipeline()
    if reader.tokens:
        raise InputError(f"template: {' '.join(tokens)!r} is not understood")
    return value


class _Reader:
    """Reads one pipeline from the left."""

    def __init__(self, tokens: list[str], scope: Scope) -> None:
        self.tokens = tokens
        self._scope = scope

    def read_pipeline(self) -> Any:
        values = [self._read_command([])]
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            values.append(self._read_command([values[-1]]))
        return values[-1]

    def _read_command(self, last: list[Any]) -> Any:
        """Read a function and its arguments, ``last`` being what the pipe brings, or a single value."""
        function = FUNCTIONS.get(self.tokens[0]) if self.tokens else None
        if function is None and not last:
            return self._read_operand()
        if function is None:
            raise InputError(f"template: the function {self.tokens[0] if self.tokens else ''!r} is not known")
        name, arguments = self.tokens.pop(0), []
        while self.tokens and self.tokens[0] not in ("|", ")"):
            arguments.append(self._read_operand())
        try:
            return function(*arguments, *last)
        except (TypeError, IndexError):
            raise InputError(f"template: {name} cannot take {len(arguments) + len(last)} values") from None

    def _read_operand(self) -> Any:
        token = self.tokens.pop(0) if self.tokens else ""
        if token == "(":
            value = self.read_pipeline()
            if not self.tokens or self.tokens.pop(0) != ")":
                raise InputError("template: a bracket is not closed")
            return value
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token[:1] in ('"', "`"):
            return orjson.loads(token) if token[0] == '"' else token[1:-1]
        if token and token[0] in _NUMBER:
            return _to_int(token)
        return self._look_up(token)

    def _look_up(self, token: str) -> Any:
        head, *path = token.split(".")
        if head == "$":
            value: Any = self._scope.root
        elif head.startswith("$"):
            if head not in self._scope.variables:
                raise InputError(f"template: the variable {head} is not set")
            value = self._scope.variables[head]
        elif head == "":
            value = self._scope.dot
        else:
            raise InputError(f"template: the function {token!r} is not known")
        for part in path:
            if part:
                value = value.get(part) if isinstance(value, Mapping) else None
        return value

"""The syntax tree: the parser builds it, the checker fills in types and overloads, the planner reads it.

Positions are offsets into the source: ``pos`` is where an error about the node points, ``start`` and ``end``
delimit the text the user wrote for it.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from apportion.cel.language.types import DYN, Type

if TYPE_CHECKING:
    from apportion.cel.library.declare import Overload


@dataclass(slots=True, eq=False)
class Node:
    pos: int
    start: int
    end: int
    type: Type = field(init=False, default=DYN)


@dataclass(slots=True, eq=False)
class Const(Node):
    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    name: str


@dataclass(slots=True, eq=False)
class Select(Node):
    """``operand.field``; ``test_only`` inside ``has()``; ``optional`` for ``operand.?field``."""

    operand: "Expr"
    field: str
    test_only: bool = False
    optional: bool = False


@dataclass(slots=True, eq=False)
class Index(Node):
    """``operand[key]`` or ``operand[?key]``."""

    operand: "Expr"
    key: "Expr"
    optional: bool = False


@dataclass(slots=True, eq=False)
class Call(Node):
    """A function or operator; ``target`` is the receiver of a member call."""

    function: str
    target: "Expr | None"
    args: "list[Expr]"
    overloads: "list[Overload]" = field(init=False, default_factory=list)

    @property
    def operands(self) -> "list[Expr]":
        """The receiver, if there is one, and then the arguments: the order in which they are evaluated."""
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(slots=True, eq=False)
class Logic(Node):
    """``&&`` or ``||`` with two or more terms, flattened as written."""

    operator: str
    terms: "list[Expr]"


@dataclass(slots=True, eq=False)
class Conditional(Node):
    condition: "Expr"
    then: "Expr"
    otherwise: "Expr"


@dataclass(slots=True, eq=False)
class ListExpr(Node):
    """``optional`` holds the indexes of elements written ``?element``."""

    elements: "list[Expr]"
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapExpr(Node):
    """``optional`` holds the indexes of entries written ``?key: value``."""

    entries: "list[tuple[Expr, Expr]]"
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Fold(Node):
    """A comprehension: what ``all``, ``exists``, ``map`` and the like expand to."""

    iter_range: "Expr"
    iter_var: str
    iter_var2: str | None
    accu_init: "Expr"
    condition: "Expr"
    step: "Expr"
    result: "Expr"


@dataclass(slots=True, eq=False)
class Bind(Node):
    """``cel.bind(name, init, result)``; ``init`` is evaluated when it is first used."""

    name: str
    init: "Expr"
    result: "Expr"


Expr: TypeAlias = Const | Ident | Select | Index | Call | Logic | Conditional | ListExpr | MapExpr | Fold | Bind

# The accumulator of a comprehension; no identifier in a source text can have this name.
ACCUMULATOR = "@result"


def list_children(node: Expr) -> list[Expr]:
    """Return the direct sub-expressions of ``node`` in source order."""
    match node:
        case Select():
            return [node.operand]
        case Index():
            return [node.operand, node.key]
        case Call():
            return node.operands
        case Logic():
            return node.terms
        case Conditional():
            return [node.condition, node.then, node.otherwise]
        case ListExpr():
            return node.elements
        case MapExpr():
            return [part for entry in node.entries for part in entry]
        case Fold():
            return [node.iter_range, node.accu_init, node.condition, node.step, node.result]
        case Bind():
            return [node.init, node.result]
    return []

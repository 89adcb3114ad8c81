"""Parses an expression into a syntax tree; macros are expanded on the way.

The grammar is that of the CEL language definition (langdef.md), without message construction, which no type
of the device environment needs.
"""

from typing import Final

from apportion.cel.errors import CompileError
from apportion.cel.language.ast import (
    Call,
    Conditional,
    Const,
    Expr,
    Ident,
    Index,
    ListExpr,
    Logic,
    MapExpr,
    Select,
    list_children,
)
from apportion.cel.language.lexer import Token, split_tokens
from apportion.cel.language.macros import expand_macro
from apportion.cel.values import INT_MAX, Uint

# Both limits keep every later walk over the tree far from Python's own recursion limit.
NESTING_MAX: Final = 64
DEPTH_MAX: Final = 150

_LEVELS: Final = {"||": 1, "&&": 2, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5} | dict.fromkeys(
    ("==", "!=", "<", "<=", ">", ">=", "in"), 3
)
_FUNCTIONS: Final = {op: f"_{op}_" for op in _LEVELS} | {"in": "@in"}
_LITERALS: Final = {"true": True, "false": False, "null": None}
_RESERVED: Final = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)


def parse_expression(source: str) -> Expr:
    """Return the tree of ``source`` with macros expanded; raises CompileError with a position."""
    parser = _Parser(source)
    node = parser.parse_expr()
    parser.take("end")
    _check_depth(node, source)
    return node


_AT_NOTHING: Final = "ERROR: <input>:1:0: "
# What an operand may begin with, and between that what may follow an opening bracket instead.
_CLOSERS: Final = ("']'", "'}'", "')'", "','", "'?'")
_OPERAND: Final = (
    "'['", "']'", "'{'", "'}'", "'('", "')'", "'.'", "','", "'-'", "'!'", "'?'", "'true'", "'false'", "'null'",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER",
)  # fmt: skip


def _check_depth(root: Expr, source: str) -> None:
    level: list[Expr] = [root]
    for _ in range(DEPTH_MAX):
        level = [child for node in level for child in list_children(node)]
        if not level:
            return
    raise CompileError(f"expression is deeper than {DEPTH_MAX} levels; split it", source, level[0].pos)


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = split_tokens(source)
        self.at = 0
        self.nesting = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def accept(self, *kinds: str) -> Token | None:
        token = self.tokens[self.at]
        if token.kind not in kinds:
            return None
        self.at += 1
        return token

    def take(self, kind: str) -> Token:
        token = self.accept(kind)
        if token is None:
            if kind == "end":
                raise self.reject("extraneous", "<EOF>")
            raise self.reject("mismatched", repr(kind))
        return token

    def reject(self, how: str, expected: str) -> CompileError:
        text = f"Syntax error: {how} input '{self.quote()}' expecting {expected}"
        return CompileError(text, self.source, self.token.start)

    def reject_operand(self) -> CompileError:
        """Say what may begin an operand here, in the order in which the original's grammar numbers its symbols."""
        token, before = self.token, self.tokens[self.at - 1] if self.at else None
        kind = before.kind if before is not None else ""
        is_call = kind == "(" and self.at > 1 and self.tokens[self.at - 2].kind == "ident"
        more = {"(": (")",) if is_call else (), "[": ("]", ",", "?"), "{": ("}", ",", "?")}.get(kind, ())
        expected = ", ".join(s for s in _OPERAND if s not in _CLOSERS or s.strip("'") in more)
        text = f"Syntax error: mismatched input '{self.quote()}' expecting {{{expected}}}"
        # of an empty expression the original has nothing to show, and counts from 0
        return CompileError(text, self.source, token.start) if self.source else CompileError(f"{_AT_NOTHING}{text}")

    def quote(self) -> str:
        """Return the token at hand as it stands in the source."""
        token = self.token
        return "<EOF>" if token.kind == "end" else self.source[token.start : token.end]

    def end_of_last(self) -> int:
        return self.tokens[self.at - 1].end

    def parse_expr(self) -> Expr:
        self.nesting += 1
        if self.nesting > NESTING_MAX:
            raise CompileError(f"expression nests deeper than {NESTING_MAX}", self.source, self.token.start)
        start = self.token.start
        node = self.parse_binary(1)
        if question := self.accept("?"):
            then = self.parse_binary(1)
            self.take(":")
            otherwise = self.parse_expr()
            node = Conditional(question.start, start, self.end_of_last(), node, then, otherwise)
        self.nesting -= 1
        return node

    def parse_binary(self, level: int) -> Expr:
        start = self.token.start
        left = self.parse_unary()
        while (here := _LEVELS.get(self.token.kind, 0)) >= level:
            operator = self.tokens[self.at]
            if here <= 2:
                left = self.parse_logic(left, start, operator, here)
                continue
            self.at += 1
            right = self.parse_binary(here + 1)
            function = _FUNCTIONS[operator.kind]
            left = Call(operator.start, start, self.end_of_last(), function, None, [left, right])
        return left

    def parse_logic(self, first: Expr, start: int, operator: Token, level: int) -> Expr:
        terms = [first]
        while self.accept(operator.kind):
            terms.append(self.parse_binary(level + 1))
        return Logic(operator.start, start, self.end_of_last(), operator.kind, terms)

    def parse_unary(self) -> Expr:
        start = self.token.start
        sign = self.accept("!", "-")
        if sign is None:
            return self.parse_postfix()
        count = 1
        while self.accept(sign.kind):
            count += 1
        if sign.kind == "-" and count % 2 and self.is_number():
            return self.parse_postfix(negative_start=start)
        operand = self.parse_postfix()
        if count % 2 == 0:
            return operand
        return Call(sign.start, start, self.end_of_last(), f"{sign.kind}_", None, [operand])

    def is_number(self) -> bool:
        token = self.token
        return token.kind == "const" and isinstance(token.value, int | float) and not isinstance(token.value, Uint)

    def parse_postfix(self, negative_start: int | None = None) -> Expr:
        start = self.token.start if negative_start is None else negative_start
        node = self.parse_primary() if negative_start is None else self.parse_number(start, -1)
        while symbol := self.accept(".", "["):
            if symbol.kind == "[":
                optional = self.accept("?") is not None
                key = self.parse_expr()
                self.take("]")
                node = Index(symbol.start, start, self.end_of_last(), node, key, optional)
            else:
                node = self.parse_member(node, start, symbol)
        return node

    def parse_member(self, operand: Expr, start: int, dot: Token) -> Expr:
        optional = self.accept("?") is not None
        name: str = self.take("ident").value
        opening = None if optional else self.accept("(")
        if opening is None:
            return Select(dot.start, start, self.end_of_last(), operand, name, optional=optional)
        args = self.parse_list(")")
        return self.make_call(Call(opening.start, start, self.end_of_last(), name, operand, args))

    def make_call(self, call: Call) -> Expr:
        return expand_macro(call, self.source) or call

    def parse_list(self, closing: str) -> list[Expr]:
        items: list[Expr] = []
        while not self.accept(closing):
            items.append(self.parse_expr())
            if not self.accept(","):
                self.take(closing)
                break
            if closing == ")" and self.token.kind == ")":
                raise self.reject_operand()
        return items

    def parse_primary(self) -> Expr:
        token = self.token
        if token.kind == "const":
            return self.parse_number(token.start, 1)
        if self.accept("("):
            node = self.parse_expr()
            self.take(")")
            return node
        if self.accept("["):
            return self.parse_elements(token)
        if self.accept("{"):
            return self.parse_entries(token)
        self.accept(".")
        return self.parse_name(token.start)

    def parse_number(self, start: int, sign: int) -> Const:
        token = self.take("const")
        value = -token.value if sign < 0 else token.value
        if type(value) is int and value > INT_MAX:
            raise CompileError("Syntax error: invalid int literal", self.source, start)
        return Const(start, start, token.end, value)

    def parse_name(self, start: int) -> Expr:
        if self.token.kind != "ident":
            raise self.reject_operand()
        token = self.take("ident")
        name: str = token.value
        if name in _LITERALS:
            return Const(start, start, token.end, _LITERALS[name])
        if name in _RESERVED:
            raise CompileError(f"Syntax error: reserved identifier: {name}", self.source, start)
        opening = self.accept("(")
        if opening is None:
            return Ident(start, start, token.end, name)
        args = self.parse_list(")")
        return self.make_call(Call(opening.start, start, self.end_of_last(), name, None, args))

    def parse_elements(self, opening: Token) -> Expr:
        elements: list[Expr] = []
        optional: set[int] = set()
        while not self.accept("]"):
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.parse_expr())
            if not self.accept(","):
                self.take("]")
                break
        start = opening.start
        return ListExpr(start, start, self.end_of_last(), elements, frozenset(optional))

    def parse_entries(self, opening: Token) -> Expr:
        entries: list[tuple[Expr, Expr]] = []
        optional: set[int] = set()
        while not self.accept("}"):
            if self.accept("?"):
                optional.add(len(entries))
            key = self.parse_expr()
            self.take(":")
            entries.append((key, self.parse_expr()))
            if not self.accept(","):
                self.take("}")
                break
        start = opening.start
        return MapExpr(start, start, self.end_of_last(), entries, frozenset(optional))

"""Splits an expression into tokens."""

import re
from dataclasses import dataclass
from typing import Any

from apportion.cel.errors import CompileError
from apportion.cel.language.literals import read_number, read_text

_STRING_PREFIX = r"(?:[rR][bB]?|[bB][rR]?)?"
_SPEC = re.compile(
    rf"""
    (?P<space>[ \t\r\n\f]+|//[^\n]*)
  | (?P<text>{_STRING_PREFIX}(?:\"\"\"|'''|"|'))
  | (?P<number>0[xX][0-9a-fA-F]+[uU]?|\d*\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+[uU]?)
  | (?P<ident>[_a-zA-Z][_a-zA-Z0-9]*)
  | (?P<symbol>&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()\[\]{{}}])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is ``const``, ``ident``, ``end`` or the symbol itself; ``value`` the constant or the name."""

    kind: str
    value: Any
    start: int
    end: int


def split_tokens(source: str) -> list[Token]:
    """Return the tokens and an ``end`` token; raises CompileError at the first bad character."""
    tokens: list[Token] = []
    offset = 0
    while offset < len(source):
        match = _SPEC.match(source, offset)
        if match is None:
            raise CompileError(f"Syntax error: token recognition error at: {source[offset]!r}", source, offset)
        kind, text = match.lastgroup, match.group()
        end = match.end()
        if kind == "text":
            value, end = read_text(source, offset, text)
            tokens.append(Token("const", value, offset, end))
        elif kind == "number":
            tokens.append(Token("const", read_number(source, offset, text), offset, end))
        elif kind == "ident":
            tokens.append(Token("in" if text == "in" else "ident", text, offset, end))
        elif kind == "symbol":
            tokens.append(Token(text, text, offset, end))
        offset = end
    tokens.append(Token("end", None, offset, offset))
    return tokens

"""The part of Go's text/template that workload files use, as a tree: text, values, if, range and variables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from apportion.base import InputError

_ACTION: Final = re.compile(r"\{\{(-\s)?(.*?)(\s-)?\}\}", re.DOTALL)
_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|`[^`]*`|:=|[()|,=]|[^\s()|,=]+)')
_NOT_UNDERSTOOD: Final = ("with", "define", "template", "block", "break", "continue")


@dataclass(frozen=True, slots=True)
class Text:
    """What is written out as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Output:
    """A pipeline whose value is written out, or kept under ``variable``."""

    tokens: tuple[str, ...]
    variable: str = ""


@dataclass(slots=True)
class If:
    """``body`` when the pipeline is true, else ``other``."""

    tokens: tuple[str, ...]
    body: list["Node"] = field(default_factory=list)
    other: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class Range:
    """``body`` once for each value, which is the dot and, when there is a ``variable``, that too."""

    tokens: tuple[str, ...]
    variable: str = ""
    body: list["Node"] = field(default_factory=list)
    other: list["Node"] = field(default_factory=list)


Node: TypeAlias = Text | Output | If | Range


def parse(source: str) -> list[Node]:
    """Return the nodes of a template. Raises InputError naming an action that is not understood."""
    parser = _Parser(source)
    nodes, ended = parser.read_block()
    if ended:
        raise InputError(f"template: {{{{{ended}}}}} without a beginning")
    return nodes


def depends_on(tokens: tuple[str, ...], name: str) -> bool:
    """Return whether a pipeline reads the field ``name`` of the dot or of the root."""
    return any(t in (f".{name}", f"$.{name}") for t in tokens)


class _Parser:
    def __init__(self, source: str) -> None:
        self._pieces = _split(source)

    def read_block(self) -> tuple[list[Node], str]:
        """Return the nodes up to an ``end`` or ``else``, and which of them it was; "" at the end of the text."""
        nodes: list[Node] = []
        for is_action, text in self._pieces:
            if not is_action:
                nodes.append(Text(text))
                continue
            tokens = tuple(_TOKEN.findall(text))
            if not tokens:
                continue
            if tokens[0] in ("end", "else"):
                return nodes, " ".join(tokens)
            nodes.append(self._read_action(tokens))
        return nodes, ""

    def _read_action(self, tokens: tuple[str, ...]) -> Node:
        word = tokens[0]
        if word in _NOT_UNDERSTOOD:
            raise InputError(f"template: the action {word!r} is not understood")
        if word == "if":
            return self._read_rest(If(tokens[1:]))
        if word == "range":
            variable, pipeline = _split_variable(tokens[1:])
            return self._read_rest(Range(pipeline, variable))
        variable, pipeline = _split_variable(tokens)
        return Output(pipeline, variable)

    def _read_rest(self, node: If | Range) -> Node:
        node.body, ended = self.read_block()
        if ended.startswith("else if"):
            node.other = [self._read_rest(If(tuple(_TOKEN.findall(ended))[2:]))]
            return node
        if ended == "else":
            node.other, ended = self.read_block()
        if ended != "end":
            raise InputError("template: an if or range has no end")
        return node


def _split(source: str) -> Iterator[tuple[bool, str]]:
    """Yield text and actions in turn; a dash beside the braces trims the text there."""
    at, trims = 0, False
    for match in _ACTION.finditer(source):
        text = source[at : match.start()]
        text = text.lstrip() if trims else text
        yield False, text.rstrip() if match[1] else text
        if not match[2].strip().startswith("/*"):
            yield True, match[2].strip()
        at, trims = match.end(), bool(match[3])
    yield False, source[at:].lstrip() if trims else source[at:]


def _split_variable(tokens: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    if len(tokens) > 1 and tokens[0].startswith("$") and tokens[1] in (":=", "="):
        return tokens[0], tokens[2:]
    if len(tokens) > 3 and tokens[1] == "," and tokens[3] == ":=":
        raise InputError("template: a range with two variables is not understood")
    return "", tokens

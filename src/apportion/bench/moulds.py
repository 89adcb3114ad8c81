"""Objects from templates, many at a time.

Parsing YAML costs about a millisecond for each object. A template that uses its index in values only is therefore
rendered once with stand-in numbers where values that depend on the index go; after that each object is a matter of
joining pieces of JSON.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
import yaml

from apportion.base import InputError
from apportion.bench.template_syntax import If, Node, Output, Range, Text, depends_on
from apportion.bench.templates import Scope, Template, evaluate, show, write

Tree = dict[str, Any]
_INDEX: Final = "Index"
# a number that no workload file contains, with room for a position
_STAND_IN: Final = 7_341_096_500_000
_STAND_INS_MAX: Final = 1000


class Mould:
    """One template with its parameters; ``cast`` gives the object with an index as JSON."""

    def __init__(self, template: Template, values: Mapping[str, Any], count: int) -> None:
        self._template = template
        self._values = {**values, "Count": count}
        self._outputs: list[tuple[tuple[str, ...], dict[str, Any]]] = []
        self._pieces = self._prepare() if _is_regular(template.nodes) else None

    @property
    def is_constant(self) -> bool:
        """Whether all objects are the same."""
        return self._pieces is not None and not self._outputs

    def cast(self, index: int) -> bytes:
        """Return the object with ``index``, JSON. Raises InputError naming the file."""
        if self._pieces is None:
            return read_object(self._template.render({**self._values, _INDEX: index}), self._template.name)
        texts = [self._evaluate(number, index) for number in range(len(self._outputs))]
        return b"".join(p if isinstance(p, bytes) else texts[p] for p in self._pieces)

    def _evaluate(self, number: int, index: int) -> bytes:
        tokens, variables = self._outputs[number]
        return show(evaluate(tokens, Scope({**self._values, _INDEX: index}, None, variables))).encode()

    def _prepare(self) -> list[bytes | int]:
        text = "".join(self._write(self._template.nodes, Scope(self._values)))
        raw = read_object(text, self._template.name)
        parts = re.split(rb"(%d\d{%d})" % (_STAND_IN // _STAND_INS_MAX, 3), raw)
        return [int(p) - _STAND_IN if i % 2 else p for i, p in enumerate(parts)]

    def _write(self, nodes: list[Node], scope: Scope) -> Iterator[str]:
        """Like ``write``, with a stand-in for each value that depends on the index."""
        for node in nodes:
            if isinstance(node, Output) and depends_on(node.tokens, _INDEX):
                self._outputs.append((node.tokens, dict(scope.variables)))
                yield str(_STAND_IN + len(self._outputs) - 1)
            elif isinstance(node, If):
                yield from self._write(node.body if evaluate(node.tokens, scope) else node.other, scope)
            else:
                yield from write([node], scope)


def _is_regular(nodes: list[Node]) -> bool:
    """Return whether the index is only written out: it decides nothing, is kept nowhere, and is not in a range."""
    for node in nodes:
        if isinstance(node, Text):
            continue
        if isinstance(node, Output):
            if node.variable and depends_on(node.tokens, _INDEX):
                return False
        else:
            is_ranged = isinstance(node, Range) and any(map(_mentions_index, node.body))
            if is_ranged or depends_on(node.tokens, _INDEX) or not _is_regular([*node.body, *node.other]):
                return False
    return True


def _mentions_index(node: Node) -> bool:
    if isinstance(node, Text):
        return False
    inner = [] if isinstance(node, Output) else [*node.body, *node.other]
    return depends_on(node.tokens, _INDEX) or any(_mentions_index(n) for n in inner)


class _Loader(yaml.CSafeLoader):
    """Timestamps stay text, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_object(text: str, name: str) -> bytes:
    """Return the one object of a YAML text as JSON. Raises InputError naming the file."""
    try:
        tree = yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise InputError(f"{name}: not YAML: {error}") from None
    if not isinstance(tree, dict) or not tree.get("kind") or not tree.get("apiVersion"):
        raise InputError(f"{name}: is not an object with apiVersion and kind")
    return orjson.dumps(_without_nulls(tree), default=_to_text)


def _without_nulls(value: Any) -> Any:
    """Leave fields out that are null: to an API server they are not there."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


def _to_text(value: object) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    raise TypeError

"""From bytes to documents: YAML or JSON, several to a file, each bounded in size, depth and aliases.

A document that cannot be read is a reason beside the others, never the end of them. YAML is read as
Kubernetes reads it: timestamps, base-60 numbers and infinities stay text.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson
import yaml

from apportion.base import InputError

TEMPLATE_REASON: Final = "a template ({{ … }}), not a manifest; render it first (helm template, kustomize build)"
DEPTH_MAX: Final = 100
NODES_MAX: Final = 20_000_000
# Up to this nesting the parser, which is recursive, is safe from overflowing the stack.
_PARSER_DEPTH_SAFE: Final = 1000
# Larger JSON comes from programs, which do not repeat keys; checking it would cost more than all the rest.
_JSON_STRICT_BYTES_MAX: Final = 4 << 20

_SEPARATOR: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_BLOCK_PREFIX: Final = re.compile(r"^[ \-?]+", re.MULTILINE)
_BRACKETS: Final = re.compile(r"[\[{}\]]")
_INT: Final = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)\Z")
_FLOAT: Final = re.compile(r"[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?\Z")


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its content, or the reason why there is none."""

    index: int
    content: Any = None
    reason: str = ""


class _Loader(yaml.CSafeLoader):
    """PyYAML's C loader that refuses repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} stands twice in one mapping", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _set_resolvers() -> None:
    """Leave the loader the scalars of JSON: booleans, null, integers and decimals."""
    kept = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")
    _Loader.yaml_implicit_resolvers = {
        first: [(tag, regexp) for tag, regexp in resolvers if tag in kept]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    _Loader.add_implicit_resolver("tag:yaml.org,2002:int", _INT, list("-+0123456789"))
    _Loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))


_set_resolvers()


def read_documents(raw: bytes) -> Iterator[Document]:
    """Yield the documents of a file, empty ones left out; the index counts from 0 and includes empty ones.

    Whether it is JSON or YAML is seen from the content. A document with too much in it carries a reason.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Document(0, reason=f"not UTF-8 text (byte {error.start})")
        return
    start = text.lstrip()[:1]
    if start == "{":
        documents = _try_json(text)
        if documents is not None:
            yield from documents
            return
    yield from _read_yaml(text)


# ---- JSON -------------------------------------------------------------------------------------------------


def _try_json(text: str) -> list[Document] | None:
    """Return the documents when the text is JSON; None when it may still be YAML."""
    try:
        if len(text) > _JSON_STRICT_BYTES_MAX:
            return [Document(0, orjson.loads(text))]
        return list(_read_json(text))
    except InputError as error:
        return [Document(0, reason=str(error))]
    except RecursionError:
        return [Document(0, reason=f"nested deeper than {DEPTH_MAX} levels")]
    except ValueError:
        return None


def _read_json(text: str) -> Iterator[Document]:
    decoder = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_refuse_constant)
    position, index = 0, 0
    while True:
        position = len(text) - len(text[position:].lstrip())
        if position >= len(text):
            return
        content, position = decoder.raw_decode(text, position)
        yield _bounded(index, content)
        index += 1


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(pairs)
    if len(built) < len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise InputError(f"the key {twice!r} stands twice in one object")
    return built


def _refuse_constant(name: str) -> Any:
    raise InputError(f"{name} is not a JSON value")


# ---- YAML -------------------------------------------------------------------------------------------------


def _read_yaml(text: str) -> Iterator[Document]:
    starts = [0, *(m.start() for m in _SEPARATOR.finditer(text))]
    line = 0
    index = 0
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        chunk = text[start:end]
        if _has_content(chunk):
            yield _read_chunk(index, chunk, line)
        # Text before the first separator that holds comments only is no document.
        index += 1 if start or _has_content(chunk) else 0
        line += chunk.count("\n")


def _has_content(chunk: str) -> bool:
    body = chunk.removeprefix("---")
    return any(s and not s.startswith(("#", "%")) and s != "..." for s in map(str.strip, body.splitlines()))


def _read_chunk(index: int, chunk: str, line: int) -> Document:
    chunk = "\n".join("" if s.startswith("%") else s for s in chunk.split("\n")) if "%" in chunk else chunk
    if _guess_depth(chunk) > _PARSER_DEPTH_SAFE and _is_too_deep(chunk):
        return Document(index, reason=f"nested deeper than {DEPTH_MAX} levels")
    try:
        content = yaml.load(chunk, _Loader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        return Document(index, reason=_explain(error, chunk, line))
    return Document(index, content) if "&" not in chunk else _bounded(index, content)


def _explain(error: Exception, chunk: str, line: int) -> str:
    if "{{" in chunk:
        return TEMPLATE_REASON
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        at = f"line {line + error.problem_mark.line + 1}, column {error.problem_mark.column + 1}"
        return f"not valid YAML: {error.problem} ({at})"
    return f"not valid YAML: {str(error).splitlines()[0] if str(error) else type(error).__name__}"


def _guess_depth(chunk: str) -> int:
    """Return an upper bound of the nesting, cheaply: indentation and open brackets, also those inside text."""
    prefix = max((len(m.group()) for m in _BLOCK_PREFIX.finditer(chunk)), default=0)
    depth = deepest = 0
    for match in _BRACKETS.finditer(chunk):
        depth += 1 if match.group() in "[{" else -1
        deepest = max(deepest, depth)
        depth = max(depth, 0)
    return 2 * prefix + deepest


def _is_too_deep(chunk: str) -> bool:
    depth = 0
    try:
        for event in yaml.parse(chunk, _Loader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > DEPTH_MAX:
                return True
    except yaml.YAMLError as error:
        return "nesting depth" in str(error)  # of anything else the loader will say what is wrong
    return False


# ---- bounds -----------------------------------------------------------------------------------------------


def _bounded(index: int, content: Any) -> Document:
    """Return the document, or the reason why it is too large; an alias counts as often as it is used."""
    left = NODES_MAX
    stack = [(content, 1)]
    while stack:
        value, depth = stack.pop()
        if depth > DEPTH_MAX:
            return Document(index, reason=f"nested deeper than {DEPTH_MAX} levels")
        children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        left -= len(children)
        if left < 0:
            return Document(index, reason=f"more than {NODES_MAX} values, aliases counted as often as used")
        stack.extend((c, depth + 1) for c in children if isinstance(c, dict | list))
    return Document(index, content)

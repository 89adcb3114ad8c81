"""String functions of cel-go's ext/strings.go, version 2, and the standard ones."""

import re
from collections.abc import Callable
from typing import Final

from apportion.cel.library.declare import declare
from apportion.cel.library.format import format_text
from apportion.cel.library.operators import TEXT_LENGTH_MAX
from apportion.cel.values import Failure, Value

_LOWER: Final = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
_UPPER: Final = {c: c - 32 for c in range(ord("a"), ord("z") + 1)}
_QUOTED: Final = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    "\\": r"\\", '"': r"\"",
}  # fmt: skip
_TOO_LONG: Final = Failure("operation cancelled: actual cost limit exceeded")


def _out_of_range(index: int) -> Failure:
    return Failure(f"index out of range: {index}")


def _char_at(text: str, index: int) -> Value:
    if not 0 <= index <= len(text):
        return _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> Value:
    if start < 0:
        return _out_of_range(start)
    return text.find(part, start) if start < len(text) or not part else -1


def _last_index_of(text: str, part: str, start: int | None = None) -> Value:
    if start is None:
        return text.rfind(part)
    if start < 0:
        return _out_of_range(start)
    return text.rfind(part, 0, start + len(part)) if start < len(text) else -1


def _substring(text: str, start: int, end: int | None = None) -> Value:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text):
        return _out_of_range(start)
    if not 0 <= stop <= len(text):
        return _out_of_range(stop)
    if start > stop:
        return Failure(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _replace(text: str, old: str, new: str, limit: int = -1) -> Value:
    count = text.count(old)
    if len(text) + count * (len(new) - len(old)) > TEXT_LENGTH_MAX:
        return _TOO_LONG
    return text.replace(old, new, max(limit, -1))


def _split(text: str, separator: str, limit: int = -1) -> Value:
    if limit == 0:
        return ()
    if separator:
        return tuple(text.split(separator, limit - 1 if limit > 0 else -1))
    if limit < 0 or limit >= len(text):
        return tuple(text)
    return (*text[: limit - 1], text[limit - 1 :])


def _join(parts: tuple[Value, ...], separator: str = "") -> Value:
    if not all(isinstance(p, str) for p in parts):
        return Failure("no such overload")
    if sum(map(len, parts)) + len(separator) * len(parts) > TEXT_LENGTH_MAX:
        return _TOO_LONG
    return separator.join(parts)


def _quote(text: str) -> str:
    return '"' + re.sub(r'[\a\b\f\n\r\t\v\\"]', lambda m: _QUOTED[m.group()], text) + '"'


def _translate(table: dict[int, int]) -> Callable[[str], str]:
    return lambda text: text.translate(table)


OVERLOADS: Final = (
    declare("contains", "string.(string) -> bool", lambda text, part: part in text, "contains"),
    declare("startsWith", "string.(string) -> bool", str.startswith, "prefix"),
    declare("endsWith", "string.(string) -> bool", str.endswith, "prefix"),
    declare("charAt", "string.(int) -> string", _char_at),
    declare("indexOf", "string.(string) -> int", _index_of, "traverse"),
    declare("indexOf", "string.(string, int) -> int", _index_of, "traverse"),
    declare("lastIndexOf", "string.(string) -> int", _last_index_of, "traverse"),
    declare("lastIndexOf", "string.(string, int) -> int", _last_index_of, "traverse"),
    declare("lowerAscii", "string.() -> string", _translate(_LOWER), "scan_same"),
    declare("upperAscii", "string.() -> string", _translate(_UPPER), "scan_same"),
    declare("trim", "string.() -> string", str.strip, "scan_same"),
    declare("substring", "string.(int) -> string", _substring, "scan_same"),
    declare("substring", "string.(int, int) -> string", _substring, "scan_same"),
    declare("replace", "string.(string, string) -> string", _replace, "replace"),
    declare("replace", "string.(string, string, int) -> string", _replace, "replace"),
    declare("split", "string.(string) -> list<string>", _split, "split"),
    declare("split", "string.(string, int) -> list<string>", _split, "split"),
    declare("join", "list<string>.() -> string", _join, "join"),
    declare("join", "list<string>.(string) -> string", _join, "join"),
    declare("format", "string.(list<dyn>) -> string", format_text, "format"),
    declare("strings.quote", "(string) -> string", _quote, "quote"),
)

"""Reads number, string and bytes literals."""

import math
import re
from typing import Final

from apportion.cel.errors import CompileError
from apportion.cel.values import INT_MAX, UINT_MAX, Uint

_ESCAPE: Final = re.compile(
    r"\\(?:(?P<hex>[xX][0-9a-fA-F]{2})|(?P<short>u[0-9a-fA-F]{4})|(?P<long>U[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<plain>[abfnrtv\\?\"'`])|(?P<bad>.|$))",
    re.DOTALL,
)
_DIGITS_MAX: Final = 20
_PLAIN: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def read_number(source: str, offset: int, text: str) -> int | float | Uint:
    """Return the value of a number token; 2**63 is let through, since a minus sign may stand before it."""
    hexadecimal = text[:2] in ("0x", "0X")
    if not hexadecimal and re.search(r"[.eE]", text):
        value = float(text)
        if math.isinf(value):
            raise CompileError("Syntax error: invalid double literal", source, offset)
        return value
    unsigned = text[-1] in "uU"
    kind, most = ("uint", UINT_MAX) if unsigned else ("int", INT_MAX + 1)
    digits = text.rstrip("uU").lower().removeprefix("0x").lstrip("0") or "0"
    # More digits than any 64-bit number has would take Python long to convert.
    number = int(digits, 16 if hexadecimal else 10) if len(digits) <= _DIGITS_MAX else most + 1
    if number > most:
        raise CompileError(f"Syntax error: invalid {kind} literal", source, offset)
    return Uint(number) if unsigned else number


def read_text(source: str, offset: int, opening: str) -> tuple[str | bytes, int]:
    """Return the string or bytes literal that opens at ``offset``, and the offset behind it."""
    prefix = opening.rstrip("\"'").lower()
    quote = opening[len(prefix) :]
    start = offset + len(opening)
    end = _find_end(source, start, quote, raw="r" in prefix)
    if end is None:
        raise CompileError(
            f"Syntax error: token recognition error at: {source[offset : offset + 40]!r}: no closing quote",
            source,
            offset,
        )
    body = source[start:end]
    if "b" in prefix:
        return (body.encode() if "r" in prefix else _decode_bytes(source, start, body)), end + len(quote)
    return (body if "r" in prefix else _decode_text(source, start, body)), end + len(quote)


def _find_end(source: str, start: int, quote: str, raw: bool) -> int | None:
    offset = start
    while offset < len(source):
        if source.startswith(quote, offset):
            return offset
        if source[offset] == "\n" and len(quote) == 1:
            return None
        offset += 2 if source[offset] == "\\" and not raw else 1
    return None


def _code_of(match: re.Match[str]) -> int:
    digits = match.group("hex") or match.group("short") or match.group("long")
    return int(digits[1:], 16) if digits else int(match.group("octal"), 8)


def _reject_escape(source: str, offset: int, match: re.Match[str]) -> CompileError:
    return CompileError(f"Syntax error: unknown escape {match.group()!r} in a literal", source, offset)


def _decode_text(source: str, start: int, body: str) -> str:
    def decode(match: re.Match[str]) -> str:
        if plain := match.group("plain"):
            return _PLAIN.get(plain, plain)
        if match.group("bad") is not None:
            raise _reject_escape(source, start + match.start(), match)
        code = _code_of(match)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise _reject_escape(source, start + match.start(), match)
        return chr(code)

    return _ESCAPE.sub(decode, body)


def _decode_bytes(source: str, start: int, body: str) -> bytes:
    parts: list[bytes] = []
    offset = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[offset : match.start()].encode())
        offset = match.end()
        if plain := match.group("plain"):
            parts.append(_PLAIN.get(plain, plain).encode())
        elif match.group("hex") or match.group("octal"):
            parts.append(bytes([_code_of(match)]))
        else:
            raise _reject_escape(source, start + match.start(), match)
    return b"".join([*parts, body[offset:].encode()])

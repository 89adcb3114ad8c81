"""``string.format(list)``: printf-like formatting (cel-go ext/formatting.go)."""

import re
from typing import Final

from apportion.cel.library.convert import format_bool, format_double
from apportion.cel.library.declare import name_type
from apportion.cel.library.operators import TEXT_LENGTH_MAX
from apportion.cel.library.time import format_duration, format_timestamp
from apportion.cel.values import Duration, Failure, Timestamp, TypeValue, Uint, Value

_CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.(\d+))?([a-zA-Z])|)")
_PRECISION_MAX: Final = 100
_INTEGERS: Final = (int, Uint)


class _Unformattable(Exception):
    """Carries the reason out of the substitution."""


def format_text(pattern: str, args: tuple[Value, ...]) -> Value:
    """Return ``pattern`` with its clauses replaced by ``args`` in order, or a Failure."""
    rest = iter(args)

    def fill(match: re.Match[str]) -> str:
        percent, precision, verb = match.groups()
        if percent:
            return "%"
        if not verb:
            raise _Unformattable("unexpected end of string in a formatting clause")
        try:
            value = next(rest)
        except StopIteration:
            raise _Unformattable(f"index {len(args)} out of range") from None
        digits = 6 if precision is None else int(precision[:4])
        if digits > _PRECISION_MAX:
            raise _Unformattable(f"precision {precision} is above {_PRECISION_MAX}")
        return _format_clause(verb, value, digits)

    try:
        text = _CLAUSE.sub(fill, pattern)
    except _Unformattable as error:
        return Failure(f"error during formatting: {error}")
    return text if len(text) <= TEXT_LENGTH_MAX else Failure("operation cancelled: actual cost limit exceeded")


def _format_clause(verb: str, value: Value, digits: int) -> str:
    kind = value.__class__
    if verb == "s":
        return _format_plain(value)
    if verb == "d" and kind in _INTEGERS:
        return str(int(value))
    if verb == "b" and (kind in _INTEGERS or kind is bool):
        return format(int(value), "b")
    if verb == "o" and kind in _INTEGERS:
        return format(int(value), "o")
    if verb in "xX" and kind in (*_INTEGERS, str, bytes):
        return _format_hex(value, verb)
    if verb in "fe" and kind in (*_INTEGERS, float):
        return _format_fraction(float(value), verb, digits)
    if verb not in "sdboxXfe":
        raise _Unformattable(f'unrecognized formatting clause "{verb}"')
    raise _Unformattable(f"%{verb} cannot format a value of type {name_type(value)}")


def _format_hex(value: Value, verb: str) -> str:
    if isinstance(value, str):
        value = value.encode()
    text = value.hex() if isinstance(value, bytes) else format(int(value), "x")
    return text.upper() if verb == "X" else text


def _format_fraction(value: float, verb: str, digits: int) -> str:
    text = format(value, f".{digits}{verb}")
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text)


def _format_plain(value: Value) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return format_bool(value)
        case str():
            return value
        case bytes():
            return value.decode(errors="replace")
        case float():
            return format_double(value)
        case Duration():
            return format_duration(value)
        case Timestamp():
            return format_timestamp(value)
        case TypeValue():
            return value.name
        case tuple():
            return f"[{', '.join(_format_plain(v) for v in value)}]"
        case dict():
            pairs = sorted((_format_plain(k), _format_plain(v)) for k, v in value.items())
            return f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
        case int():
            return str(int(value))
    raise _Unformattable(f"%s cannot format a value of type {name_type(value)}")

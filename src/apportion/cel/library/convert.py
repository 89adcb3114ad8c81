"""Conversions between types: ``int()``, ``string()``, ``duration()`` and so on, and ``type()``.

Source of the behaviour: the CEL language definition and cel-go's ``ConvertToType`` methods.
"""

import math
import re
from typing import Final

from apportion.cel.library.declare import declare, name_type
from apportion.cel.library.operators import fit_int, fit_timestamp, fit_uint
from apportion.cel.library.time import format_duration, format_timestamp, parse_duration, parse_timestamp
from apportion.cel.values import Failure, TypeValue, Uint, Value

_SECOND: Final = 10**9
_BOOLS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}

# The conversions that are computed while compiling when their argument is a constant.
CONVERSIONS: Final = frozenset(("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"))


def _int_from_double(value: float) -> Value:
    if not math.isfinite(value) or not -(2.0**63) < value < 2.0**63:
        return Failure("integer overflow")
    return int(value)


def _uint_from_double(value: float) -> Value:
    if not math.isfinite(value) or not 0 <= value < 2.0**64:
        return Failure("unsigned integer overflow")
    return Uint(int(value))


def _int_from_text(text: str) -> Value:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return Failure(f"type conversion error from 'string' to 'int': {text!r} is not an integer")
    return fit_int(int(text)) if len(text) < 32 else Failure("integer overflow")


def _uint_from_text(text: str) -> Value:
    if not re.fullmatch(r"[0-9]+", text):
        return Failure(f"type conversion error from 'string' to 'uint': {text!r} is not an unsigned integer")
    return fit_uint(int(text)) if len(text) < 32 else Failure("unsigned integer overflow")


def _double_from_text(text: str) -> Value:
    try:
        if text != text.strip() or "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        return Failure(f"type conversion error from 'string' to 'double': {text!r} is not a number")


def _bool_from_text(text: str) -> Value:
    return _BOOLS.get(text, Failure(f"type conversion error from 'string' to 'bool': {text!r}"))


def _text_from_bytes(value: bytes) -> Value:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return Failure("invalid UTF-8 in bytes, cannot convert to string")


def format_double(value: float) -> str:
    """Return the shortest text that reads back as ``value``, in Go's notation."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e21:
        return "-0" if value == 0 and math.copysign(1, value) < 0 else str(int(value))
    return repr(value)


def format_bool(value: bool) -> str:
    """Return ``true`` or ``false``."""
    return "true" if value else "false"


def _same(value: Value) -> Value:
    return value


OVERLOADS: Final = (
    declare("int", "(int) -> int", _same),
    declare("int", "(uint) -> int", lambda v: fit_int(int(v))),
    declare("int", "(double) -> int", _int_from_double),
    declare("int", "(string) -> int", _int_from_text),
    declare("int", "(timestamp) -> int", lambda t: t.nano // _SECOND),
    declare("int", "(duration) -> int", lambda d: d.nano),
    declare("uint", "(uint) -> uint", _same),
    declare("uint", "(int) -> uint", fit_uint),
    declare("uint", "(double) -> uint", _uint_from_double),
    declare("uint", "(string) -> uint", _uint_from_text),
    declare("double", "(double) -> double", _same),
    declare("double", "(int) -> double", float),
    declare("double", "(uint) -> double", float),
    declare("double", "(string) -> double", _double_from_text),
    declare("bool", "(bool) -> bool", _same),
    declare("bool", "(string) -> bool", _bool_from_text),
    declare("string", "(string) -> string", _same),
    declare("string", "(bool) -> string", format_bool),
    declare("string", "(int) -> string", str),
    declare("string", "(uint) -> string", str),
    declare("string", "(double) -> string", format_double),
    declare("string", "(bytes) -> string", _text_from_bytes, "decode"),
    declare("string", "(timestamp) -> string", format_timestamp),
    declare("string", "(duration) -> string", format_duration),
    declare("bytes", "(bytes) -> bytes", _same),
    declare("bytes", "(string) -> bytes", str.encode, "encode"),
    declare("duration", "(duration) -> duration", _same),
    declare("duration", "(string) -> duration", parse_duration),
    declare("timestamp", "(timestamp) -> timestamp", _same),
    declare("timestamp", "(string) -> timestamp", parse_timestamp),
    declare("timestamp", "(int) -> timestamp", lambda s: fit_timestamp(s * _SECOND)),
    declare("dyn", "(A) -> dyn", _same),
    declare("type", "(A) -> type<A>", lambda v: TypeValue(name_type(v))),
)

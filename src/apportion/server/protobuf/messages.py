"""From the fields of a message to the tree that JSON would have brought, led by the shapes of the schema."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from apportion.api import Tree
from apportion.server.protobuf.wire import (
    BYTES,
    VARINT,
    Field,
    ProtobufError,
    get_float,
    get_signed,
    read_fields,
    read_packed,
)
from apportion.server.schema import Shape, find_field
from apportion.server.schema.shapes import ANY, LIST, MAP, OBJECT

_KEY, _VALUE = 1, 2
_FIRST, _SECOND, _THIRD = 1, 2, 3
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZEROS: Final[dict[str, Any]] = {"s": "", "y": "", "i": 0, "b": False, "n": 0.0, "q": "0", "x": 0, "t": None}
_UNKNOWN_MAX: Final = 100


def decode_message(raw: bytes, shape: Shape, path: str, unknown: list[str]) -> Tree:
    """Return a message as a tree; fields without a name are described in ``unknown``.

    Scalars that are zero are left out where JSON leaves them out. Raises ProtobufError.
    """
    out: Tree = {}
    _fill(out, raw, shape, shape.type_name, path, unknown)
    return out


def _fill(out: Tree, raw: bytes, shape: Shape, message: str, path: str, unknown: list[str]) -> None:
    for field in read_fields(raw):
        name, flags = find_field(message, field.number)
        child = shape.fields.get(name)
        if name.startswith("+"):  # an embedded message: its fields stand beside the others
            _fill(out, _get_bytes(field, path), shape, name[1:], path, unknown)
        elif child is not None:
            _add(out, name, field, child, flags, f"{path}.{name}", unknown)
        elif len(unknown) < _UNKNOWN_MAX:
            unknown.append(f'unknown field number {field.number} in "{path}"')


def _add(out: Tree, name: str, field: Field, shape: Shape, flags: str, path: str, unknown: list[str]) -> None:
    if shape.code == LIST:
        out.setdefault(name, []).extend(_decode_items(field, shape.item, flags, path, unknown))
    elif shape.code == MAP:
        key, value = _decode_entry(field, shape.item, flags, path, unknown)
        out.setdefault(name, {})[key] = value
    else:
        value = _decode(field, shape, flags, path, unknown)
        if value or "k" in flags or (isinstance(value, dict) and "o" not in flags) or shape.code == "x":
            out[name] = value


def _decode_items(field: Field, item: Shape | None, flags: str, path: str, unknown: list[str]) -> list[Any]:
    assert item is not None
    if item.code in ("i", "b") and field.wire == BYTES:
        numbers = read_packed(_get_bytes(field, path))
        return [_decode(Field(0, VARINT, n), item, flags, path, unknown) for n in numbers]
    return [_decode(field, item, flags, path, unknown)]


def _decode_entry(field: Field, item: Shape | None, flags: str, path: str, unknown: list[str]) -> tuple[str, Any]:
    assert item is not None
    key, value = "", _ZEROS.get(item.code)
    for part in read_fields(_get_bytes(field, path)):
        if part.number == _KEY:
            key = _get_text(part, path)
        elif part.number == _VALUE:
            value = _decode(part, item, flags, f"{path}[{key}]", unknown)
    return key, {} if value is None and item.code == OBJECT else value


def _decode(field: Field, shape: Shape, flags: str, path: str, unknown: list[str]) -> Any:
    code = shape.code
    if code == OBJECT:
        return decode_message(_get_bytes(field, path), shape, path, unknown)
    if code == "y":
        return base64.b64encode(_get_bytes(field, path)).decode()
    if code == "s":
        return _get_text(field, path)
    if code in ("i", "b"):
        value = _get_number(field, path)
        return bool(value) if code == "b" else get_signed(value)
    if code == "n":
        _get_number(field, path)
        return get_float(field)
    return _decode_special(_get_bytes(field, path), code, "m" in flags, path)


def _decode_special(raw: bytes, code: str, has_micros: bool, path: str) -> Any:
    """Decode what is a message in protobuf, but no object in JSON."""
    parts = {f.number: f for f in read_fields(raw)}
    if code == "q":
        return _get_text(parts[_FIRST], path) if _FIRST in parts else "0"
    if code == "t":
        seconds, nanos = (get_signed(_read_number(parts, n, path)) for n in (_FIRST, _SECOND))
        return _print_time(seconds, nanos, has_micros, path)
    if code == "x":
        is_text = _read_number(parts, _FIRST, path)
        if is_text:
            return _get_text(parts[_THIRD], path) if _THIRD in parts else ""
        return get_signed(_read_number(parts, _SECOND, path))
    if code == ANY:
        return _parse_json(_get_bytes(parts[_FIRST], path), path) if _FIRST in parts else {}
    raise ProtobufError(f"{path}: cannot be read from protobuf")


def _print_time(seconds: int, nanos: int, has_micros: bool, path: str) -> str | None:
    """Return a time as JSON has it; the zero time, which is no time at all, is None."""
    if not seconds and not nanos:
        return None
    try:
        time = _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise ProtobufError(f"{path}: not a time") from None
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if has_micros else "%Y-%m-%dT%H:%M:%SZ")


def _parse_json(raw: bytes, path: str) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ProtobufError(f"{path}: {error}") from None


def _read_number(parts: dict[int, Field], number: int, path: str) -> int:
    return _get_number(parts[number], path) if number in parts else 0


def _get_bytes(field: Field, path: str) -> bytes:
    if not isinstance(field.value, bytes):
        raise ProtobufError(f"proto: wrong wireType = {field.wire} for field {path}")
    return field.value


def _get_number(field: Field, path: str) -> int:
    if not isinstance(field.value, int):
        raise ProtobufError(f"proto: wrong wireType = {field.wire} for field {path}")
    return field.value


def _get_text(field: Field, path: str) -> str:
    try:
        return _get_bytes(field, path).decode()
    except UnicodeDecodeError:
        raise ProtobufError(f"proto: field {path} contains invalid UTF-8") from None

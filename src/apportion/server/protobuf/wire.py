"""The wire format of protobuf: a message as a row of numbered fields. Source: protobuf.dev, "Encoding"."""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from apportion.base import InputError

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
_VARINT_BITS_MAX: Final = 64


class ProtobufError(InputError):
    """Bytes that are not the message they should be."""


class Field(NamedTuple):
    """One field; ``value`` is bytes for BYTES, else the unsigned number."""

    number: int
    wire: int
    value: int | bytes


def read_fields(raw: bytes) -> Iterator[Field]:
    """Yield the fields of a message; raises ProtobufError."""
    at = 0
    while at < len(raw):
        key, at = _read_varint(raw, at)
        number, wire = key >> 3, key & 7
        value: int | bytes
        if wire == VARINT:
            value, at = _read_varint(raw, at)
        elif wire == BYTES:
            length, at = _read_varint(raw, at)
            value, at = _cut(raw, at, length)
        elif wire in (FIXED64, FIXED32):
            cut, at = _cut(raw, at, 8 if wire == FIXED64 else 4)
            value = int.from_bytes(cut, "little")
        else:
            raise ProtobufError(f"proto: illegal wireType {wire}")
        yield Field(number, wire, value)


def read_packed(raw: bytes) -> Iterator[int]:
    """Yield the numbers of a packed list."""
    at = 0
    while at < len(raw):
        value, at = _read_varint(raw, at)
        yield value


def get_signed(value: int) -> int:
    """Return a varint as a signed number of 64 bits, which is also how negative int32 come."""
    return value - (1 << 64) if value >> 63 else value


def get_float(field: Field) -> float:
    assert isinstance(field.value, int)
    if field.wire == FIXED64:
        return float(struct.unpack("<d", field.value.to_bytes(8, "little"))[0])
    return float(struct.unpack("<f", field.value.to_bytes(4, "little"))[0])


def _read_varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < _VARINT_BITS_MAX:
        if at >= len(raw):
            raise ProtobufError("unexpected EOF")
        byte = raw[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
    raise ProtobufError("proto: integer overflow")


def _cut(raw: bytes, at: int, length: int) -> tuple[bytes, int]:
    if at + length > len(raw):
        raise ProtobufError("unexpected EOF")
    return raw[at : at + length], at + length

"""What the wire says: pages of lists and lines of watches, read only as far as the reflector needs it."""

from collections.abc import Iterator
from sys import intern
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from apportion.base import InputError
from apportion.client.difference import Stamp

GONE: Final = 410
_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK")
_TOO_LARGE: Final = "Too large resource version"  # the server has not got there yet, or never was there


class _Meta(msgspec.Struct, rename="camel", frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta = _Meta()


class _Line(msgspec.Struct, gc=False):
    type: str
    object: _Object


class _RawLine(msgspec.Struct, gc=False):
    object: Raw


class _Status(msgspec.Struct, gc=False):
    code: int = 0
    message: str = ""


class _ErrorLine(msgspec.Struct, gc=False):
    object: _Status


class _ListMeta(msgspec.Struct, rename="camel", gc=False):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct, rename="camel", gc=False):
    metadata: _ListMeta
    items: list[Raw] | None = None
    kind: str = ""
    api_version: str = ""


_DECODE_LINE: Final = msgspec.json.Decoder(_Line).decode
_DECODE_RAW_LINE: Final = msgspec.json.Decoder(_RawLine).decode
_DECODE_ERROR: Final = msgspec.json.Decoder(_ErrorLine).decode
_DECODE_STATUS: Final = msgspec.json.Decoder(_Status).decode
_DECODE_LIST: Final = msgspec.json.Decoder(_List).decode
_DECODE_OBJECT: Final = msgspec.json.Decoder(_Object).decode


class Key(NamedTuple):
    """One object of a resource."""

    namespace: str
    name: str


class Event(NamedTuple):
    """One line of a watch. Of an error only the code and the text count."""

    type: str
    key: Key
    stamp: Stamp
    code: int = 0
    message: str = ""


class Page(NamedTuple):
    """A part of a list; ``token`` asks for the next part, "" is the end."""

    version: str
    token: str
    items: list[tuple[Key, Stamp, bytes]]


def read_event(line: bytes) -> Event:
    """Return what a line of a watch says; raises InputError for what cannot be one."""
    try:
        found = _DECODE_LINE(line)
        if found.type == "ERROR":
            status = _DECODE_ERROR(line).object
            return Event("ERROR", Key("", ""), Stamp("", ""), status.code, status.message)
    except msgspec.DecodeError as error:
        raise InputError(f"not a watch event: {error}") from None
    meta = found.object.metadata
    if found.type not in _TYPES or not meta.resource_version:
        raise InputError(f"not a watch event: type {found.type!r}, resourceVersion {meta.resource_version!r}")
    if found.type != "BOOKMARK" and not meta.name:
        raise InputError(f"not a watch event: {found.type} of an object without a name")
    return Event(found.type, Key(intern(meta.namespace), meta.name), Stamp(meta.uid, meta.resource_version))


def read_page(body: bytes) -> Page:
    """Return what a list says; raises InputError.

    Items get the kind and apiVersion that watch events have and lists leave out.
    """
    try:
        found = _DECODE_LIST(body)
        items = list(_read_items(found))
    except msgspec.DecodeError as error:
        raise InputError(f"not a list: {error}") from None
    if not found.metadata.resource_version:
        raise InputError("not a list: it has no resourceVersion")
    return Page(found.metadata.resource_version, found.metadata.continue_, items)


def _read_items(found: _List) -> Iterator[tuple[Key, Stamp, bytes]]:
    prefix = f'{{"kind":"{found.kind.removesuffix("List")}","apiVersion":"{found.api_version}",'.encode()
    for item in found.items or ():
        raw = bytes(item)
        meta = _DECODE_OBJECT(raw).metadata
        if not meta.name or not meta.resource_version:
            raise InputError("not a list: an item has no name or no resourceVersion")
        if not raw.startswith((b'{"kind":', b'{"apiVersion":')):
            raw = prefix + raw[1:]
        yield Key(intern(meta.namespace), meta.name), Stamp(meta.uid, meta.resource_version), raw


def make_frame(change: str, raw: bytes) -> bytes:
    """Return a watch event."""
    return b'{"type":"' + change.encode() + b'","object":' + raw + b"}"


def retype(line: bytes, change: str) -> bytes:
    """Return a watch event with another type."""
    return make_frame(change, bytes(_DECODE_RAW_LINE(line).object))


def read_message(body: bytes) -> str:
    """Return the message of a Status, or the beginning of what a proxy says in its place."""
    try:
        return _DECODE_STATUS(body).message
    except msgspec.DecodeError:
        return body[:200].decode(errors="replace").strip()


def make_deletion(key: Key, stamp: Stamp) -> bytes:
    """Return the watch event for the deletion of an object of which nothing else is known."""
    meta: dict[str, str] = {"name": key.name, "uid": stamp.uid, "resourceVersion": stamp.version}
    if key.namespace:
        meta["namespace"] = key.namespace
    return msgspec.json.encode({"type": "DELETED", "object": {"metadata": meta}})


def needs_list(code: int, message: str) -> bool:
    """Return whether a watch that failed like this can only go on after a new list."""
    return code == GONE or message.find(_TOO_LARGE) >= 0


def is_newer(version: str, than: str) -> bool:
    """Compare resource versions, which are numbers that rise (KEP-5504); others count as newer unless equal."""
    if version.isdigit() and than.isdigit():
        return int(version) > int(than)
    return version != than

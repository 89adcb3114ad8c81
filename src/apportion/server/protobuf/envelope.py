"""The envelope around a message: who it is, and how it is packed.

Source: apimachinery/pkg/runtime/serializer/protobuf, runtime.Unknown in apimachinery/pkg/runtime/types.go.
"""

from typing import Final

from apportion.api import Tree
from apportion.server.protobuf.messages import decode_message
from apportion.server.protobuf.wire import ProtobufError, read_fields
from apportion.server.schema import find_shape, get_type

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_TYPE, _RAW, _ENCODING, _CONTENT_TYPE = 1, 2, 3, 4
_API_VERSION, _KIND = 1, 2
# Sent under the version of whatever they act on.
_IN_EVERY_VERSION: Final = {"DeleteOptions": "meta.v1.DeleteOptions"}


def decode_body(body: bytes) -> tuple[Tree, list[str]]:
    """Return the object in a body as a tree, and what is wrong with it that a lenient server would overlook.

    Raises ProtobufError for what cannot be read at all, a kind without a known message included.
    """
    if not body.startswith(_MAGIC):
        text = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        raise ProtobufError(text)
    parts = _read(body[len(_MAGIC) :])
    for number in (_ENCODING, _CONTENT_TYPE):
        if parts.get(number, MEDIA_TYPE.encode()) not in (b"", MEDIA_TYPE.encode()):
            raise ProtobufError(f"the object is packed as {_text(parts[number])}, which is not supported")
    kind_of = _read(parts.get(_TYPE, b""))
    version, kind = _text(kind_of.get(_API_VERSION, b"")), _text(kind_of.get(_KIND, b""))
    shape = find_shape(version, kind)
    if kind in _IN_EVERY_VERSION:
        shape = get_type(_IN_EVERY_VERSION[kind])
    if shape is None:
        raise ProtobufError(f'no protobuf message is known for kind "{kind}" in version "{version}"')
    unknown: list[str] = []
    tree = decode_message(parts.get(_RAW, b""), shape, kind, unknown)
    return {"kind": kind, "apiVersion": version, **tree}, unknown


def _read(raw: bytes) -> dict[int, bytes]:
    return {f.number: f.value for f in read_fields(raw) if isinstance(f.value, bytes)}


def _text(raw: bytes) -> str:
    return raw[:256].decode("utf-8", "replace")

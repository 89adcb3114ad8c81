"""In which form a client wants objects: whole, as a table, or their metadata alone."""

from enum import Enum
from functools import lru_cache
from typing import Final

import orjson

from apportion.api import Tree
from apportion.server import errors
from apportion.server.resources import Resource
from apportion.server.tables import Printer
from apportion.server.versions import serve_bytes

_MEDIA: Final = (
    "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)
_ANY: Final = ("application/json", "application/*", "*/*", "")


class Form(Enum):
    """The three forms of an object."""

    WHOLE = "whole"
    TABLE = "table"
    METADATA = "metadata"


_FORMS: Final = {
    "": Form.WHOLE,
    "Table": Form.TABLE,
    "PartialObjectMetadata": Form.METADATA,
    "PartialObjectMetadataList": Form.METADATA,
}


@lru_cache(maxsize=256)
def parse_accept(accept: str) -> Form:
    """Return the first form in an Accept header that is served; raises ApiError 406."""
    for part in accept.split(","):
        media, *rest = (p.strip() for p in part.split(";"))
        options = dict(p.partition("=")[::2] for p in rest)
        if media in _ANY and options.get("as", "") in _FORMS and options.get("v", "v1") == "v1":
            return _FORMS[options.get("as", "")]
    raise errors.ApiError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {_MEDIA}", {})


def get_metadata_only(tree: Tree) -> Tree:
    """Return the object with its metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": tree["metadata"]}


def render_object(raw: bytes, resource: Resource, form: Form, printer: Printer) -> bytes:
    """Return one stored object in a form; the whole object in its stored version costs nothing."""
    if form is Form.WHOLE:
        return serve_bytes(raw, resource)
    tree = orjson.loads(raw)
    if form is Form.METADATA:
        return orjson.dumps(get_metadata_only(tree))
    return orjson.dumps(printer.print_table(resource, [tree], {"resourceVersion": tree["metadata"]["resourceVersion"]}))


def render_list(raws: list[bytes], metadata: Tree, resource: Resource, form: Form, printer: Printer) -> bytes:
    """Return a list of stored objects in a form."""
    if form is Form.TABLE:
        return orjson.dumps(printer.print_table(resource, [orjson.loads(r) for r in raws], metadata))
    if form is Form.METADATA:
        items = [get_metadata_only(orjson.loads(r)) for r in raws]
        head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
        return orjson.dumps({**head, "metadata": metadata, "items": items or None})
    kind = orjson.dumps({"kind": f"{resource.kind.name}List", "apiVersion": resource.api_version, "metadata": metadata})
    # an item of a list says neither kind nor version; both stand first in the stored bytes
    prefix = orjson.dumps({"kind": resource.kind.name, "apiVersion": resource.api_version})[:-1] + b","
    joined = b",".join(b"{" + serve_bytes(r, resource).removeprefix(prefix) for r in raws)
    return kind[:-1] + b',"items":[' + joined + b"]}"

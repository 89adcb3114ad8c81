"""What objects look like: the table of fields, and bringing an object into its canonical form.

``table.json`` is written by ``scripts/generate_schema.py`` and names its source, ``protobuf.json`` by
``scripts/generate_protobuf.py``.
"""

from apportion.server.schema.canonical import DecodeError, canonicalize
from apportion.server.schema.shapes import Shape, find_field, find_shape, get_document, get_type, list_versions

__all__ = [
    "DecodeError",
    "Shape",
    "canonicalize",
    "find_field",
    "find_shape",
    "get_document",
    "get_type",
    "list_versions",
]

"""OpenAPI v2 as far as kubectl still asks for it: for a List, whether the server validates fields itself.

kubectl reads this document as protobuf only. The few messages of it that are needed are encoded by hand; field numbers
as in google/gnostic-models, openapiv2/OpenAPIv2.proto.
"""

from functools import cache
from typing import Final

from apportion.server.resources import RESOURCES, Resource

CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation", "force")
# Field numbers, by message.
_DOCUMENT_SWAGGER, _DOCUMENT_INFO, _DOCUMENT_PATHS = 1, 2, 8
_INFO_TITLE, _INFO_VERSION = 1, 2
_PATHS_PATH = 2
_NAMED_NAME, _NAMED_VALUE = 1, 2
_PATH_PATCH = 8
_OPERATION_PARAMETERS, _OPERATION_EXTENSION = 8, 13
_ITEM_PARAMETER, _PARAMETER_PLAIN, _PLAIN_QUERY = 1, 2, 3
_QUERY_IN, _QUERY_NAME = 2, 4
_ANY_YAML = 2


@cache
def get_openapi_v2() -> bytes:
    """Return the document."""
    paths = b"".join(_encode(_PATHS_PATH, _describe(r)) for r in RESOURCES)
    info = _encode(_INFO_TITLE, b"apportion") + _encode(_INFO_VERSION, b"v1.37")
    head = _encode(_DOCUMENT_SWAGGER, b"2.0") + _encode(_DOCUMENT_INFO, info)
    return head + _encode(_DOCUMENT_PATHS, paths)


def _describe(resource: Resource) -> bytes:
    root = "apis" if resource.group else "api"
    scope = "/namespaces/{namespace}" if resource.kind.namespaced else ""
    path = f"/{root}/{resource.api_version}{scope}/{resource.plural}/{{name}}"
    item = _encode(_PATH_PATCH, _describe_patch(resource))
    return _encode(_NAMED_NAME, path.encode()) + _encode(_NAMED_VALUE, item)


def _describe_patch(resource: Resource) -> bytes:
    parameters = b"".join(_encode(_OPERATION_PARAMETERS, _describe_parameter(n)) for n in _PARAMETERS)
    identity = f'group: "{resource.group}"\nkind: {resource.kind.name}\nversion: {resource.version}\n'
    value = _encode(_ANY_YAML, identity.encode())
    extension = _encode(_NAMED_NAME, b"x-kubernetes-group-version-kind") + _encode(_NAMED_VALUE, value)
    return parameters + _encode(_OPERATION_EXTENSION, extension)


def _describe_parameter(name: str) -> bytes:
    query = _encode(_QUERY_IN, b"query") + _encode(_QUERY_NAME, name.encode())
    return _encode(_ITEM_PARAMETER, _encode(_PARAMETER_PLAIN, _encode(_PLAIN_QUERY, query)))


def _encode(number: int, content: bytes) -> bytes:
    """Return a length-delimited field."""
    return _encode_varint(number << 3 | 2) + _encode_varint(len(content)) + content


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)

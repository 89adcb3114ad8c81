"""OpenAPI v3 as far as kubectl reads it: the fields of each kind, and that the server validates them itself."""

from functools import cache
from hashlib import sha256
from typing import Any, Final

import orjson

from apportion.api import Tree
from apportion.server.resources import RESOURCES, Resource
from apportion.server.schema import Shape
from apportion.server.schema.shapes import ANY

_ROOT: Final = "openapi/v3"
_OBJECT: Final[Tree] = {"type": "object"}
_SCALARS: Final[dict[str, Tree]] = {
    "s": {"type": "string"},
    "t": {"type": "string", "format": "date-time"},
    "y": {"type": "string", "format": "byte"},
    "i": {"type": "integer"},
    "n": {"type": "number"},
    "b": {"type": "boolean"},
    "q": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "x": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
}
_PREFIXES: Final = (("meta.", "io.k8s.apimachinery.pkg.apis."), ("runtime.", "io.k8s.apimachinery.pkg."))
_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation", "force", "pretty")


def find_openapi(path: str) -> bytes | None:
    """Return the index, or the document of one group and version; None for other paths."""
    path = path.strip("/")
    if path == _ROOT:
        return _get_index()
    if not path.startswith(_ROOT + "/"):
        return None
    return _get_documents().get(path.removeprefix(_ROOT + "/"))


@cache
def _get_index() -> bytes:
    paths = {
        name: {"serverRelativeURL": f"/{_ROOT}/{name}?hash={sha256(document).hexdigest()}"}
        for name, document in _get_documents().items()
    }
    return orjson.dumps({"paths": paths})


@cache
def _get_documents() -> dict[str, bytes]:
    by_path: dict[str, list[Resource]] = {}
    for resource in RESOURCES:
        prefix = "apis" if resource.group else "api"
        by_path.setdefault(f"{prefix}/{resource.api_version}", []).append(resource)
    return {path: orjson.dumps(_describe(path, found)) for path, found in by_path.items()}


def _describe(path: str, found: list[Resource]) -> Tree:
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for resource in found:
        identity = _identify(resource)
        _add_schema(resource.shape, schemas)
        schemas[_name(resource.shape)]["x-kubernetes-group-version-kind"] = [identity]
        scope = "/namespaces/{namespace}" if resource.kind.namespaced else ""
        item = f"/{path}{scope}/{resource.plural}/{{name}}"
        paths[item] = {m: _describe_operation(identity) for m in ("get", "put", "patch", "delete")}
        paths[f"/{path}{scope}/{resource.plural}"] = {m: _describe_operation(identity) for m in ("get", "post")}
    info = {"title": "apportion", "version": "v1.37"}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": schemas}}


def _identify(resource: Resource) -> Tree:
    return {"group": resource.group, "kind": resource.kind.name, "version": resource.version}


def _describe_operation(identity: Tree) -> Tree:
    parameters = [{"name": n, "in": "query", "schema": {"type": "string"}} for n in _PARAMETERS]
    responses = {"200": {"description": "OK"}}
    return {"parameters": parameters, "responses": responses, "x-kubernetes-group-version-kind": identity}


def _name(shape: Shape) -> str:
    return next((p for start, p in _PREFIXES if shape.type_name.startswith(start)), "io.k8s.api.") + shape.type_name


def _add_schema(shape: Shape, schemas: dict[str, Any]) -> None:
    name = _name(shape)
    if name in schemas:
        return
    schema: Tree = {"type": "object"}
    schemas[name] = schema
    schema["properties"] = {n: _describe_shape(s, schemas) for n, s in shape.fields.items()}
    if shape.required:
        schema["required"] = sorted(shape.required)


def _describe_shape(shape: Shape, schemas: dict[str, Any]) -> Tree:
    if shape.code == "object":
        _add_schema(shape, schemas)
        return {"allOf": [{"$ref": f"#/components/schemas/{_name(shape)}"}], "default": {}}
    if shape.code == "map" and shape.item is not None:
        return {"type": "object", "additionalProperties": _describe_shape(shape.item, schemas)}
    if shape.code == "list" and shape.item is not None:
        return _describe_list(shape, _describe_shape(shape.item, schemas))
    if shape.code == ANY and shape.type_name:
        schemas[_name(shape)] = _OBJECT
        return {"allOf": [{"$ref": f"#/components/schemas/{_name(shape)}"}], "default": {}}
    return _SCALARS.get(shape.code, _OBJECT)


def _describe_list(shape: Shape, item: Tree) -> Tree:
    described: Tree = {"type": "array", "items": item}
    if shape.merge_key is not None:
        described["x-kubernetes-patch-strategy"] = "merge"
    if shape.merge_key:
        described["x-kubernetes-patch-merge-key"] = shape.merge_key
    return described

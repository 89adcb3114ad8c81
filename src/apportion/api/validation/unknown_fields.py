"""Names fields that Kubernetes does not know, by walking an object along the fields of its view."""

from functools import lru_cache
from types import UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

import msgspec

from apportion.api.view import View

# Field name -> what is below it; None stands for anything. "*" is the only member for maps with free keys.
_Schema: TypeAlias = dict[str, Any]

# Fields that exist but that no view reads, by view.
_UNREAD: Final = {
    "ObjectMeta": ("generateName", "selfLink", "managedFields", "deletionGracePeriodSeconds"),
    "OwnerReference": ("blockOwnerDeletion",),
    "AllocatedDeviceStatus": ("data", "networkData"),
    "ResourcePoolStatus": ("pools", "conditions"),
    "DeviceTaintRule": ("status",),
}
_ANY_KEY: Final = "*"


def find_unknown_fields(view: type[View], tree: Any, known: tuple[str, ...] = ()) -> list[str]:
    """Return the paths of fields that neither the view nor ``known`` (names at the top) has."""
    found: list[str] = []
    schema = {**_get_schema(view), **dict.fromkeys(known)}
    _walk(schema, tree, "", found)
    return found


def _walk(schema: _Schema | None, value: Any, path: str, found: list[str]) -> None:
    if schema is None:
        return
    if isinstance(value, list):
        for i, item in enumerate(value):
            _walk(schema, item, f"{path}[{i}]", found)
    elif isinstance(value, dict):
        free = _ANY_KEY in schema
        for name, child in value.items():
            if free:
                _walk(schema[_ANY_KEY], child, f"{path}[{name}]", found)
            elif name in schema:
                _walk(schema[name], child, f"{path}.{name}" if path else name, found)
            else:
                found.append(f"{path}.{name}" if path else name)


@lru_cache(maxsize=256)
def _get_schema(view: type[View]) -> _Schema:
    hints = get_type_hints(view)
    schema = {f.encode_name: _get_part(hints[f.name]) for f in msgspec.structs.fields(view)}
    return {**schema, **dict.fromkeys(_UNREAD.get(view.__name__, ()))}


def _get_part(hint: Any) -> _Schema | None:
    """Return the schema of a field's type: of the view inside unions and tuples, of a map's values, else
    None.
    """
    origin = get_origin(hint)
    if isinstance(hint, type) and origin is None and issubclass(hint, View):
        return _get_schema(hint)
    if origin is dict:
        return {_ANY_KEY: _get_part(get_args(hint)[1])}
    if origin in (tuple, Union, UnionType):
        parts = (_get_part(a) for a in get_args(hint) if a is not Ellipsis)
        return next((p for p in parts if p is not None), None)
    return None

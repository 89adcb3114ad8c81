"""JSON patch (RFC 6902) with the limits of the API server."""

import copy
from typing import Any, Final

from apportion.base import InputError

OPERATIONS_MAX: Final = 10_000
_NEEDS: Final = {
    "add": ("value",), "replace": ("value",), "test": ("value",), "remove": (), "move": ("from",), "copy": ("from",),
}  # fmt: skip
_COPIES_BYTES_MAX: Final = 3 * 1024 * 1024


class JsonPatchError(InputError):
    """An operation cannot be carried out, or a test failed; nothing of the patch takes effect."""


def apply_json_patch(target: Any, operations: list[Any]) -> Any:
    """Return the patched copy; raises JsonPatchError and changes nothing when one operation fails."""
    if len(operations) > OPERATIONS_MAX:
        raise JsonPatchError(f"at most {OPERATIONS_MAX} operations are accepted, got {len(operations)}")
    root = {"": copy.deepcopy(target)}  # so that the whole document is a member like any other
    copied = 0
    for operation in operations:
        copied += _apply(root, operation)
        if copied > _COPIES_BYTES_MAX:
            raise JsonPatchError("the copies that the patch makes are too large")
    return root[""]


def _apply(root: dict[str, Any], operation: Any) -> int:
    """Carry out one operation; returns how much it copied."""
    name = operation.get("op") if isinstance(operation, dict) else None
    if not isinstance(name, str) or name not in _NEEDS:
        raise JsonPatchError(f"unknown operation {name!r}")
    missing = [n for n in ("path", *_NEEDS[name]) if n not in operation]
    if missing:
        raise JsonPatchError(f"{name} lacks {', '.join(missing)}")
    path = _split(operation["path"])
    if name == "test":
        if not _equal(_get(root, path), operation["value"]):
            raise JsonPatchError(f"testing path {operation['path']} failed")
    elif name == "remove":
        _remove(root, path)
    elif name == "replace":
        _get(root, path)
        _set(root, path, operation["value"], insert=False)
    elif name == "add":
        _set(root, path, copy.deepcopy(operation["value"]), insert=True)
    else:
        return _move_or_copy(root, name, _split(operation["from"]), path)
    return 0


def _move_or_copy(root: dict[str, Any], name: str, source: list[str], path: list[str]) -> int:
    value = _get(root, source)
    if name == "move":
        if path[: len(source)] == source and path != source:
            raise JsonPatchError("a value cannot be moved into itself")
        _remove(root, source)
        _set(root, path, value, insert=True)
        return 0
    _set(root, path, copy.deepcopy(value), insert=True)
    return len(repr(value))


def _split(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and pointer[0] != "/"):
        raise JsonPatchError(f"{pointer!r} is not a JSON pointer")
    return [p.replace("~1", "/").replace("~0", "~") for p in ("" + pointer).split("/")]


def _get(root: dict[str, Any], path: list[str]) -> Any:
    value: Any = root
    for part in path:
        if isinstance(value, dict):
            if part not in value:
                raise JsonPatchError(f"the path {'/'.join(path)} does not exist")
            value = value[part]
        elif isinstance(value, list):
            value = value[_get_index(part, len(value) - 1)]
        else:
            raise JsonPatchError(f"the path {'/'.join(path)} does not exist")
    return value


def _get_index(part: str, index_max: int) -> int:
    if not part.isascii() or not part.isdecimal() or (part[0] == "0" and part != "0") or len(part) > 9:
        raise JsonPatchError(f"{part!r} is not an index")
    if int(part) > index_max:
        raise JsonPatchError(f"index {part} is out of bounds")
    return int(part)


def _remove(root: dict[str, Any], path: list[str]) -> None:
    parent = _get(root, path[:-1])
    _get(root, path)
    del parent[_get_index(path[-1], len(parent) - 1) if isinstance(parent, list) else path[-1]]


def _set(root: dict[str, Any], path: list[str], value: Any, insert: bool) -> None:
    parent = _get(root, path[:-1])
    if isinstance(parent, list) and insert:
        parent.insert(len(parent) if path[-1] == "-" else _get_index(path[-1], len(parent)), value)
    elif isinstance(parent, list):
        parent[_get_index(path[-1], len(parent) - 1)] = value
    elif isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        raise JsonPatchError(f"the parent of {'/'.join(path)} is neither an object nor a list")


def _equal(one: Any, other: Any) -> bool:
    """Compare as JSON does, where true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)

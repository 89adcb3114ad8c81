"""Strategic merge patch: a merge patch that knows which lists are sets and which field identifies an item.

Behaviour of apimachinery/pkg/util/strategicpatch, its flaws included: ports are merged by number alone.
"""

from typing import Any, Final

from apportion.base import InputError
from apportion.server.patches.ordering import order_merged
from apportion.server.schema import Shape

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_ORDER: Final = "$setElementOrder/"
_DELETE: Final = "$deleteFromPrimitiveList/"
_ANY: Final = Shape("*")


class StrategicMergeError(InputError):
    """The patch is malformed."""


def apply_strategic_merge(target: dict[str, Any], patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return the patched object; raises StrategicMergeError, in the original's words."""
    return _merge_object(target, patch, shape)


def _merge_object(target: dict[str, Any], patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    directive = patch.get(_PATCH)
    if directive == "replace":
        return {k: _strip(v) for k, v in patch.items() if k != _PATCH}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise StrategicMergeError(f"Unknown patch type: {directive} in map: {print_go(patch)}")
    merged = dict(target)
    if _RETAIN in patch:
        merged = {k: v for k, v in merged.items() if k in patch[_RETAIN]}
    for name in {n.partition("/")[2] for n in patch if n.startswith((_ORDER, _DELETE))} - patch.keys():
        if name in merged:
            merged[name] = _merge_list(merged[name], [], _get_part(shape, name), patch, name)
    for name, value in patch.items():
        if not name.startswith("$"):
            _merge_field(merged, name, value, _get_part(shape, name), patch)
    return merged


def _merge_field(merged: dict[str, Any], name: str, value: Any, part: Shape, patch: dict[str, Any]) -> None:
    old = merged.get(name)
    if value is None:
        merged.pop(name, None)
    elif isinstance(value, dict):
        merged[name] = _merge_object(old if isinstance(old, dict) else {}, value, part)
    elif isinstance(value, list) and part.merge_key is not None:
        merged[name] = _merge_list(old if isinstance(old, list) else [], value, part, patch, name)
    else:
        _check_scalar(value, part)
        merged[name] = _strip(value)


def _check_scalar(value: Any, part: Shape) -> None:
    if part.code == "i" and isinstance(value, str):
        raise StrategicMergeError("unrecognized type: int32")


def _get_part(shape: Shape, name: str) -> Shape:
    found = shape.fields.get(name) if shape.fields else shape.item
    return found or _ANY


# ---- lists ------------------------------------------------------------------------------------------------


def _merge_list(old: list[Any], new: list[Any], part: Shape, patch: dict[str, Any], name: str) -> list[Any]:
    order = patch.get(_ORDER + name)
    if not part.merge_key:
        gone = patch.get(_DELETE + name) or []
        kept = [v for v in old if v not in gone]
        return order_merged(kept + [v for v in new if v not in kept], old, order or new, "")
    if any(_is_replace(v) for v in new):
        return [_strip(v) for v in new if not _is_replace(v)]
    key = part.merge_key
    merged = list(old)
    for item in new:
        identity = _get_identity(item, key)
        places = [i for i, v in enumerate(merged) if _get_identity(v, key) == identity]
        if item.get(_PATCH) == "delete":
            merged = [v for i, v in enumerate(merged) if i not in places]
        elif places:  # of items with one key, which ports may be, the first is merged
            merged[places[0]] = _merge_object(merged[places[0]], item, part.item or _ANY)
        else:
            merged.append(_merge_object({}, item, part.item or _ANY))
    return order_merged(merged, old, order or new, key)


def _is_replace(item: Any) -> bool:
    return isinstance(item, dict) and item.get(_PATCH) == "replace" and len(item) == 1


def _get_identity(item: Any, key: str) -> Any:
    if not isinstance(item, dict) or item.get(key) is None:
        raise StrategicMergeError(f"map: {print_go(item)} does not contain declared merge key: {key}")
    identity = item[key]
    if isinstance(identity, dict | list):
        raise StrategicMergeError(f"merge key {key} must be a plain value, got {print_go(identity)}")
    return identity


def _strip(value: Any) -> Any:
    """Return a value without directives and without what a directive deletes."""
    if isinstance(value, dict):
        return {k: _strip(v) for k, v in value.items() if not k.startswith("$") and v is not None}
    if isinstance(value, list):
        return [_strip(v) for v in value if not (isinstance(v, dict) and v.get(_PATCH) in ("delete", "replace"))]
    return value


def print_go(value: Any) -> str:
    """Return a value as Go prints maps and slices; messages of the original quote patches in this form."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{print_go(v)}' for k, v in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(print_go(v) for v in value)}]"
    if value is None or isinstance(value, bool):
        return "<nil>" if value is None else str(value).lower()
    return str(value)

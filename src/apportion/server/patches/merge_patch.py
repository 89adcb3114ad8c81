"""JSON merge patch (RFC 7386)."""

from typing import Any


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """Return the patched value; what did not change is shared with ``target``."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = apply_merge_patch(merged.get(name), value)
    return merged

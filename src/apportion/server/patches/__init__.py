"""The patch formats: JSON patch, JSON merge patch and strategic merge patch. Trees in, new trees out."""

from apportion.server.patches.json_patch import JsonPatchError, apply_json_patch
from apportion.server.patches.merge_patch import apply_merge_patch
from apportion.server.patches.strategic import StrategicMergeError, apply_strategic_merge

__all__ = [
    "JsonPatchError",
    "StrategicMergeError",
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_merge",
]

"""Applying a patch to a stored object. Source: apiserver/pkg/endpoints/handlers/patch.go upstream."""

from typing import Any, Final

import orjson

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server import errors
from apportion.server.bodies import Strictness, canonicalize_object, check_depth, may_be_deep
from apportion.server.patches import (
    JsonPatchError,
    StrategicMergeError,
    apply_json_patch,
    apply_merge_patch,
    apply_strategic_merge,
)
from apportion.server.patches.strategic import print_go
from apportion.server.resources import Resource
from apportion.server.schema import DecodeError, Shape

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH)


def apply_patch(tree: Tree, body: bytes, content_type: str, shape: Shape) -> Tree:
    """Return the patched object, not yet canonical; raises ApiError 400, 415 and 422."""
    media = content_type.split(";", maxsplit=1)[0].strip()
    if media not in _TYPES:
        raise errors.ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    patch = _parse(body, media)
    try:
        if media == JSON_PATCH:
            patched = apply_json_patch(tree, patch)
        elif media == MERGE_PATCH:
            patched = apply_merge_patch(tree, patch)
        else:
            return apply_strategic_merge(tree, patch, shape)
    except JsonPatchError:
        text = "the server rejected our request due to an error in our request"
        raise errors.ApiError(422, "Invalid", text, {}) from None
    except StrategicMergeError as error:
        raise _explain_strategic(error, patch) from None
    if not isinstance(patched, dict):
        raise errors.bad_request("the patch does not leave an object")
    return patched


def _parse(body: bytes, media: str) -> Any:
    try:
        patch = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise errors.bad_request("invalid JSON patch" if media == MERGE_PATCH else "error decoding patch") from None
    if media == JSON_PATCH and not isinstance(patch, list):
        what = "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        raise errors.bad_request(f"error decoding patch: {what}")
    if media != JSON_PATCH and not isinstance(patch, dict):
        raise errors.bad_request("the patch must be an object")
    if may_be_deep(body):
        check_depth(patch)
    return patch


def _explain_strategic(error: StrategicMergeError, patch: Tree) -> errors.ApiError:
    text = str(error)
    if text.startswith("unrecognized type"):
        return errors.invalid("", "", "", [ValidationError("patch", f'Invalid value: "{print_go(patch)}": {text}')])
    return errors.bad_request(text)


def canonicalize_patched(patched: Tree, before: Tree, resource: Resource, strictness: Strictness) -> Tree:
    """Return the patched object in its canonical form; raises ApiError 400 and 422."""
    try:
        return canonicalize_object(patched, resource, strictness, [], "", before)
    except DecodeError as error:
        quoted = orjson.dumps(orjson.dumps(patched).decode()).decode()
        problem = ValidationError("patch", f"Invalid value: {quoted}: {error}")
        raise errors.invalid("", "", "", [problem]) from None

"""The API's own errors: what is raised here becomes a ``Status`` object with the words kube-apiserver uses.

Source of the texts: apimachinery/pkg/api/errors/errors.go and apiserver/pkg/registry.
"""

from collections.abc import Sequence
from typing import Any, Final

import orjson

from apportion.api import Tree
from apportion.base import ApportionError, ValidationError

MODIFIED_TEXT: Final = "the object has been modified; please apply your changes to the latest version and try again"
# How the detail of a field error begins -> the reason of its cause.
_CAUSES: Final = (
    ("Required value", "FieldValueRequired"),
    ("Invalid value", "FieldValueInvalid"),
    ("Forbidden", "FieldValueForbidden"),
    ("Duplicate value", "FieldValueDuplicate"),
    ("Unsupported value", "FieldValueNotSupported"),
    ("Not found", "FieldValueNotFound"),
    ("Too long", "FieldValueTooLong"),
    ("Too many", "FieldValueTooMany"),
)


class ApiError(ApportionError):
    """An answer other than success. ``details`` is what ``Status.details`` holds, None for none at all."""

    def __init__(
        self, code: int, reason: str, message: str, details: Tree | None = None, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = tuple(headers)

    def to_status(self) -> Tree:
        """Return the ``Status`` object."""
        status: Tree = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return {**status, "code": self.code}


def encode_status(error: ApiError) -> bytes:
    return orjson.dumps(error.to_status())


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def not_found(group: str, resource: str, name: str) -> ApiError:
    title = f"{resource}.{group}" if group else resource
    return ApiError(404, "NotFound", f'{title} "{name}" not found', _describe(name, group, resource))


def unknown_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> ApiError:
    text = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", text, {})


def already_exists(group: str, resource: str, name: str) -> ApiError:
    title = f"{resource}.{group}" if group else resource
    return ApiError(409, "AlreadyExists", f'{title} "{name}" already exists', _describe(name, group, resource))


def conflict(group: str, resource: str, name: str, why: str = MODIFIED_TEXT) -> ApiError:
    title = f"{resource}.{group}" if group else resource
    message = f'Operation cannot be fulfilled on {title} "{name}": {why}'
    return ApiError(409, "Conflict", message, _describe(name, group, resource))


def wrong_uid(group: str, resource: str, namespace: str, name: str, expected: str, found: str) -> ApiError:
    """A uid precondition failed. The text quotes the storage layer of the original, which clients search."""
    key = "/".join(("/registry", resource, *((namespace,) if namespace else ()), name))
    return conflict(
        group,
        resource,
        name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {expected}, UID in object meta: {found}",
    )


def forbidden(group: str, resource: str, name: str, why: str, causes: list[Tree] | None = None) -> ApiError:
    title = f"{resource}.{group}" if group else resource
    details = _describe(name, group, resource)
    if causes:
        details["causes"] = causes
    return ApiError(403, "Forbidden", f'{title} "{name}" is forbidden: {why}', details)


def invalid(group: str, kind: str, name: str, errors: Sequence[ValidationError]) -> ApiError:
    """Fields are wrong; the message lists them, the causes name them one by one."""
    title = f"{kind}.{group}" if group else kind
    texts = [f"{e.field}: {e.detail}" if e.field else e.detail for e in errors]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": _get_cause(e.detail), "message": e.detail, "field": e.field} for e in errors]
    details = {**_describe(name, group, kind), "causes": causes}
    return ApiError(422, "Invalid", f'{title} "{name}" is invalid: {text}', details)


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def not_kept(why: str) -> ApiError:
    """The disk refuses writes."""
    return ApiError(503, "ServiceUnavailable", why, {})


def version_too_large(revision: int, current: int) -> ApiError:
    message = f"Timeout: Too large resource version: {revision}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1}, (("Retry-After", "1"),))


def _get_cause(detail: str) -> str:
    return next((reason for start, reason in _CAUSES if detail.startswith(start)), "FieldValueInvalid")


def _describe(name: str, group: str, kind: str) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return details

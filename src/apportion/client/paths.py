"""Where a request goes: verbs to methods, resources to paths."""

from functools import cache
from typing import Final
from urllib.parse import quote

from apportion.api import KINDS, Kind
from apportion.client.transport import Request

METHODS: Final = {
    "get": "GET", "list": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE",
}  # fmt: skip


@cache
def _find_kind(resource: str) -> Kind | None:
    plural, _, group = resource.partition(".")
    return next((k for k in KINDS if k.plural == plural and (not group or k.group == group)), None)


def find_path(resource: str, namespace: str = "", name: str = "", subresource: str = "") -> str | None:
    """Return the path of an object or a list, in the preferred version; None for a resource that is unknown."""
    kind = _find_kind(resource)
    if kind is None:
        return None
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.api_version}"
    scope = f"namespaces/{quote(namespace, safe='')}" if namespace else ""
    return "/".join(filter(None, (root, scope, kind.plural, quote(name, safe=""), subresource)))


def find_request_path(request: Request) -> str | None:
    """Return the path of a request; what is created is named in the body, not in the path."""
    name = request.name if request.verb not in ("create", "list") or request.subresource else ""
    return find_path(request.resource, request.namespace, name, request.subresource)

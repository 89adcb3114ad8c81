"""Parts of a controller's work: generators that yield requests, like ``client.Task``, and return what they found."""

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

import orjson

from apportion.base import ApportionError
from apportion.client import Request, Response

R = TypeVar("R")
Steps: TypeAlias = Generator[Request, Response, R]


class Refused(ApportionError):
    """The API refused a request; ends the work on the key, which comes back later."""

    def __init__(self, request: Request, response: Response) -> None:
        super().__init__(response.message or f"{request.verb} {request.resource} {request.name}: {response.code}")
        self.code = response.code
        self.is_namespace_ending = b'"NamespaceTerminating"' in response.body


def send(request: Request, *accepted: int) -> Steps[Response]:
    """Send one request; raises Refused for an error whose code is not ``accepted``."""
    response = yield request
    if response.code >= 300 and response.code not in accepted:
        raise Refused(request, response)
    return response


def change(request: Request, uid: str) -> Steps[Response | None]:
    """Send a request about one object; None when it is gone or another one has its name. Raises Refused.

    A conflict says neither: the API is asked what there is, since who takes an object for gone stops looking after it.
    """
    response = yield request
    if response.code < 300:
        return response
    if response.code == 404:
        return None
    if response.code in (409, 422):
        found = yield Request("get", request.resource, request.namespace, request.name)
        if found.code == 404 or (found.code < 300 and orjson.loads(found.body)["metadata"]["uid"] != uid):
            return None
    raise Refused(request, response)


def make_merge_patch(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch (RFC 7386) that makes ``new`` of ``old``; empty when they are equal."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            value = make_merge_patch(before, value)
            if value:
                patch[name] = value
        elif name not in old or before != value:
            patch[name] = value
    return patch

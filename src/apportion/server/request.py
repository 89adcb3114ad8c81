"""One request as bytes in, one answer as bytes out, and what the path of a request means."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from urllib.parse import parse_qsl, unquote

from msgspec import Struct

from apportion.server import errors
from apportion.server.resources import Resource, find_resource, has_group_version

BODY_BYTES_MAX: Final = 3 * 1024 * 1024
PATH_BYTES_MAX: Final = 8192
# Doors to the containers of a pod, which only a kubelet can open.
CONTAINER_DOORS: Final = ("attach", "exec", "log", "portforward", "proxy")
JSON_TYPE: Final = "application/json"


class ApiRequest(Struct, frozen=True):
    """What a client sent. ``path`` is still percent-encoded and has no query; ``query`` is the raw query."""

    method: str
    path: str
    query: str = ""
    body: bytes = b""
    content_type: str = ""
    accept: str = JSON_TYPE
    user_agent: str = ""


class ApiResponse(Struct, frozen=True):
    """What the client gets. The answer may leave the process once ``revision`` is durable.

    It must not when the store says that the revision was lost since it had seen ``losses``.
    """

    code: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()
    revision: int = 0
    losses: int = 0


class Target(Struct, frozen=True):
    """What a path below /api or /apis points to."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


@dataclass(slots=True)
class Parameters:
    """The query of a request; of a parameter that comes twice the first counts, as in Go."""

    pairs: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def parse(cls, query: str) -> "Parameters":
        return cls(parse_qsl(query, keep_blank_values=True, max_num_fields=200) if query else [])

    def get(self, name: str) -> str:
        return next((v for n, v in self.pairs if n == name), "")

    def get_all(self, name: str) -> list[str]:
        return [v for n, v in self.pairs if n == name]

    def get_bool(self, name: str) -> bool:
        """Return whether a flag is set; as upstream reads it, everything but "", "0" and "false" sets it."""
        return self.get(name).lower() not in ("", "0", "false")

    def get_int(self, name: str) -> int | None:
        """Return a number, None when it is absent; raises ApiError 400 when it is none."""
        text = self.get(name)
        if not text:
            return None
        if not text.lstrip("+-").isdecimal() or len(text) > 19:
            raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        return int(text)


def _find_unserved(resource: Resource) -> tuple[str, ...]:
    """Return the subresources that are known, and answered by the reason why they are not served."""
    return CONTAINER_DOORS if resource.plural == "pods" else ()


@lru_cache(maxsize=4096)  # the same few objects are asked for again and again
def find_target(path: str) -> Target | None:
    """Return what a path points to, None when it is not below a served group and version.

    Raises ApiError 404 for a resource that the group does not have. Parts are split before they are decoded, so
    that an encoded slash separates nothing.
    """
    parts = path.strip("/").split("/")
    if "%" in path:
        parts = [unquote(p) for p in parts]
    if len(parts) >= 2 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 3 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if not rest or not has_group_version(group, version):
        return None
    namespace = ""
    in_namespace = rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize")
    if in_namespace:
        namespace, rest = rest[1], rest[2:]
    return _check_target(find_resource(group, version, rest[0]), namespace, rest)


def _check_target(resource: Resource | None, namespace: str, rest: list[str]) -> Target:
    name, subresource = [*rest[1:], "", ""][:2]
    if resource is None or len(rest) > 3 or bool(namespace) > resource.kind.namespaced:
        raise errors.unknown_resource()
    if resource.kind.namespaced and name and not namespace:
        raise errors.unknown_resource()
    if subresource and subresource not in (*resource.subresources, *_find_unserved(resource)):
        raise errors.unknown_resource()
    if any("/" in p or p in (".", "..") for p in (namespace, name)):
        raise errors.bad_request(f'invalid name "{name}" in the path')
    return Target(resource, namespace, name, subresource)

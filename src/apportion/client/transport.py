"""The one road to the API: requests and answers as bytes, watch events as bytes. HTTP, in-process and in-memory
transports implement the same interface, and the scheduler knows nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"


@dataclass(frozen=True, slots=True)
class Request:
    """One call. ``resource`` is the plural, or ``plural.group``.

    An empty ``namespace`` means cluster scope or all namespaces.
    """

    verb: str  # get, list, create, update, patch, delete
    resource: str
    namespace: str
    name: str
    body: bytes = b""
    subresource: str = ""
    content_type: str = JSON


@dataclass(frozen=True, slots=True)
class Response:
    """The answer: an HTTP status code, and the object or the Status that the API answered with."""

    code: int
    body: bytes = b""
    message: str = ""


OnDone: TypeAlias = Callable[[Response], None]
# Receives ``{"type": "ADDED", "object": {...}}`` in the order of the resource versions.
WatchSink: TypeAlias = Callable[[bytes], None]


class Transport(Protocol):
    """How requests reach the API.

    ``submit`` never blocks and never calls ``on_done`` before it returns; ``on_done`` is called exactly once. A
    watch first delivers what exists, then what changes; no event is delivered inside ``submit``.
    """

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request."""
        ...

    def watch(self, resource: str, sink: WatchSink) -> None:
        """Deliver all objects of a resource to ``sink``, and every change after that."""
        ...

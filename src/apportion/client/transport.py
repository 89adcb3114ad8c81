"""The one road to the API: requests and answers as bytes, watch events as bytes. HTTP, in-process and in-memory
transports implement the same interface, and the scheduler knows nothing else."""

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from msgspec import Struct

JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"


class Request(Struct, frozen=True):
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


class Response(Struct, frozen=True):
    """The answer: an HTTP status code, and the object or the Status that the API answered with."""

    code: int
    body: bytes = b""
    message: str = ""


OnDone: TypeAlias = Callable[[Response], None]
# Receives ``{"type": "ADDED", "object": {...}}`` in the order of the resource versions.
WatchSink: TypeAlias = Callable[[bytes], None]
OnSynced: TypeAlias = Callable[[], None]


class WatchHandle(Protocol):
    """One watch, as the one who asked for it sees it."""

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the start was delivered; once true it stays true."""
        ...

    def close(self) -> None:
        """Deliver nothing any more."""
        ...


class Transport(Protocol):
    """How requests reach the API.

    ``submit`` never blocks and never calls ``on_done`` before it returns; ``on_done`` is called exactly once.
    Requests about one object are carried out in the order of the calls; those about different objects in any order.
    An answer with a code from 500 up says that nobody knows whether the request took effect, see `is_unknown`.

    A watch first delivers what exists, then what changes, each change once; no event is delivered inside
    ``submit``. It goes on for ever: one that was cut resumes, and one that missed too much delivers the difference,
    in which a deletion has the last object known, or of that no more than name, namespace, uid and version.
    """

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request."""
        ...

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Deliver all objects of a resource to ``sink``, call ``on_synced``, and deliver every change after that."""
        ...

    def close(self) -> None:
        """Answer nothing and deliver nothing any more."""
        ...


def is_unknown(code: int) -> bool:
    """Return whether an answer leaves open if the request took effect: a lost one is a 503 or 504 here."""
    return code >= 500

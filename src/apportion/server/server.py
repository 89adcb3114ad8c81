"""The API server without a network: a request in, an answer out, decided at once."""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

import orjson
from msgspec.structs import replace

from apportion.api import CheckCEL, Tree
from apportion.base import Clock, Rng
from apportion.server import errors
from apportion.server.bootstrap import create_system_objects
from apportion.server.discovery import VERSION, find_discovery
from apportion.server.event_expiry import TTL_S
from apportion.server.formats import Form, parse_accept
from apportion.server.objects import Objects
from apportion.server.openapi import find_openapi
from apportion.server.openapi_v2 import CONTENT_TYPE as OPENAPI_V2_TYPE
from apportion.server.openapi_v2 import get_openapi_v2
from apportion.server.request import BODY_BYTES_MAX, PATH_BYTES_MAX, ApiRequest, ApiResponse, Parameters, find_target
from apportion.server.resources import Resource
from apportion.server.schema import DecodeError
from apportion.server.tables import Printer
from apportion.server.verbs import Verbs
from apportion.server.watching import Watch
from apportion.store import Store, StoreFailedError

_LOG: Final = logging.getLogger(__name__)
_HEALTH: Final = ("/healthz", "/livez", "/readyz")
Document: TypeAlias = Callable[[], tuple[bytes, str]]  # the bytes and their content type
TEXT_TYPE: Final = "text/plain; charset=utf-8"


class Server:
    """Serves the Kubernetes API over a store. One thread calls it; nothing in it waits.

    Uids and generated names come from ``rng``, times from ``clock``. ``check_cel`` judges the CEL expressions of
    device selectors; without it only their length is checked. Events go ``event_ttl_s`` seconds after they were
    written last.
    """

    def __init__(
        self, store: Store, clock: Clock, rng: Rng, check_cel: CheckCEL | None = None, event_ttl_s: float = TTL_S
    ) -> None:
        self.store = store
        self._printer = Printer(clock)
        self._objects = Objects(store, clock, rng, check_cel, event_ttl_s)
        self._verbs = Verbs(self._objects, self._printer)
        self._documents: dict[str, Document] = {}
        self._frames: dict[tuple[str, str], dict[int, bytes]] = {}  # by served version and plural
        self._losses = store.recover()
        create_system_objects(self._objects)

    def add_document(self, path: str, read: Document) -> None:
        """Serve what ``read`` returns at a path beside the objects."""
        self._documents[path] = read

    def handle(self, request: ApiRequest) -> ApiResponse:
        """Carry one request out. Never raises for what a client sent.

        What the answer tells may not be on disk yet: it may leave the process once the store's
        ``durable_revision`` has reached the answer's ``revision``.
        """
        losses = self.store.recover()
        if losses != self._losses:
            self._losses = losses
            self._objects.admission.forget_all()
        try:
            response = self._answer(request)
        except errors.ApiError as error:
            response = ApiResponse(error.code, errors.encode_status(error), headers=error.headers)
        except StoreFailedError as error:
            response = ApiResponse(503, errors.encode_status(errors.not_kept(str(error))))
        except Exception:  # a fault of ours must not take the server down with it
            _LOG.exception("%s %s failed", request.method, request.path)
            failure = errors.ApiError(500, "InternalError", "Internal error occurred: see the log", {})
            response = ApiResponse(500, errors.encode_status(failure))
        return replace(response, revision=self.store.revision, losses=losses)

    def find_loss(self, response: ApiResponse) -> ApiResponse | None:
        """Return the answer to give instead when the disk has refused what an answer tells; None when it has not."""
        why = self.store.find_loss(response.revision, response.losses)
        return None if why is None else ApiResponse(503, errors.encode_status(errors.not_kept(why)))

    def restore(self, tree: Tree, resource: Resource) -> None:
        """Store an object of another cluster as it was there: uid, times, owners and status stay.

        Raises ApiError: 409 when there is one of that name already, 422 when it is not valid, 400 when a field has
        the wrong type.
        """
        try:
            self._objects.restore(tree, resource)
        except DecodeError as error:
            raise errors.bad_request(str(error)) from None

    def watch(self, request: ApiRequest) -> Watch:
        """Open a watch on a list (``watch=1`` in the query); raises ApiError."""
        target = find_target(request.path)
        if target is None:
            raise errors.unknown_resource()
        if target.subresource:
            raise errors.method_not_allowed()
        form = parse_accept(request.accept)
        frames = self._frames.setdefault(target.resource.path, {}) if form is Form.WHOLE else None
        return Watch(self.store, target, Parameters.parse(request.query), form, self._printer, frames)

    def _answer(self, request: ApiRequest) -> ApiResponse:
        if len(request.body) > BODY_BYTES_MAX:
            text = f"Request entity too large: limit is {BODY_BYTES_MAX}"
            raise errors.ApiError(413, "RequestEntityTooLarge", text, {})
        if len(request.path) > PATH_BYTES_MAX or len(request.query) > PATH_BYTES_MAX:
            raise errors.ApiError(414, "", "the request line is too long")
        target = find_target(request.path)
        if target is not None:
            return self._verbs.answer(request, target)
        if request.method != "GET":
            return ApiResponse(404, b"404 page not found\n", TEXT_TYPE)
        return self._serve_document(request)

    def _serve_document(self, request: ApiRequest) -> ApiResponse:
        """Answer the paths beside the objects."""
        if request.path.rstrip("/") in _HEALTH:
            return _print_health(request)
        document = self._documents.get(request.path)
        if document is not None:
            body, content_type = document()
            return ApiResponse(200, body, content_type)
        if request.path == "/openapi/v2":
            return ApiResponse(200, get_openapi_v2(), OPENAPI_V2_TYPE)
        if request.path == "/version":
            return ApiResponse(200, orjson.dumps(VERSION))
        found = find_discovery(request.path, request.accept)
        if found is not None:
            return ApiResponse(200, *found)
        schema = find_openapi(request.path)
        if schema is not None:
            return ApiResponse(200, schema)
        return ApiResponse(404, b"404 page not found\n", TEXT_TYPE)


def _print_health(request: ApiRequest) -> ApiResponse:
    """Answer "ok", or with ``verbose`` the checks one by one: there is only the one that somebody answers."""
    name = request.path.strip("/")
    is_verbose = any(n == "verbose" for n, _ in Parameters.parse(request.query).pairs)
    text = f"[+]ping ok\n{name} check passed\n" if is_verbose else "ok"
    return ApiResponse(200, text.encode(), TEXT_TYPE)


def is_watch(request: ApiRequest) -> bool:
    """Return whether a request opens a watch."""
    return request.method == "GET" and "watch=" in request.query and Parameters.parse(request.query).get_bool("watch")

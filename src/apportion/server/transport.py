"""The API for parts of the same process: the requests of ``client``, without a network.

Not a short cut: bytes go in and come out, every request passes the same doors as over HTTP, an answer comes after
``submit`` has returned and once it is durable, and a watch hears of a change after the commit, not inside it.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

import orjson

from apportion.client import OnDone, OnSynced, Request, Response, Transport, WatchHandle, WatchSink
from apportion.server.errors import encode_status, unknown_resource
from apportion.server.request import JSON_TYPE, ApiRequest, ApiResponse
from apportion.server.resources import Resource, get_resource
from apportion.server.server import Server
from apportion.server.watching import Watch
from apportion.store import Key

# Calls a function later, from the loop; may be used from any thread (``loop.call_soon_threadsafe``).
CallSoon: TypeAlias = Callable[[Callable[[], None]], object]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

_METHODS: Final = {
    "get": "GET", "list": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE",
}  # fmt: skip


class _Feed:
    """One watch. When it falls behind the history it starts anew with the difference."""

    def __init__(
        self, resource: str, open_watch: Callable[[], Watch], sink: WatchSink, on_synced: OnSynced | None
    ) -> None:
        self.resource = resource  # by its name in the store
        self._open = open_watch
        self._sink = sink
        self._on_synced = on_synced
        self._watch = open_watch()
        self._watch.remember()
        self._told: dict[Key, bytes] = {}  # by the watches before this one
        self.has_synced = False
        self.is_closed = False

    def skip_to(self, revision: int) -> None:
        """Take note that nothing happened up to a revision."""
        self._watch.skip_to(revision)

    def deliver(self) -> bool:
        """Deliver what is new; returns whether there may be more."""
        frames = self._watch.read()
        if self._watch.ended:
            frames.pop()  # says that the history is gone
            self.reopen()
            self._pass_on(frames)
            return True
        self._pass_on(frames)
        if not self.has_synced and self._watch.has_opened:
            self.has_synced = True
            if self._on_synced is not None:
                self._on_synced()
        return False

    def reopen(self) -> None:
        """Begin anew with the difference to what was told last."""
        if self._watch.has_opened:
            self._told = self._watch.known or {}
        self._watch = self._open()
        self._watch.remember(self._told)

    def _pass_on(self, frames: list[bytes]) -> None:
        for frame in frames:
            if not self.is_closed:
                _call(self._sink, frame)

    def close(self) -> None:
        """Deliver nothing any more."""
        self.is_closed = True


class InProcessTransport(Transport):
    """Requests and watches on a ``Server`` in the same process, carried out by the loop behind ``call_soon``."""

    def __init__(self, server: Server, call_soon: CallSoon) -> None:
        self._server = server
        self._call_soon = call_soon
        self._waiting: deque[tuple[ApiResponse, OnDone]] = deque()
        self._feeds: dict[str, list[_Feed]] = {}  # by resource
        self._heads: dict[str, int] = {}  # by resource: the newest change that every feed has delivered
        self._told = 0  # everything up to here is delivered
        self._is_awake = False
        self._is_closed = False
        self._leave = server.store.subscribe(self._wake)

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request; it is carried out by the loop, in the order of the calls."""
        self._call_soon(lambda: self._execute(request, on_done))

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Deliver what exists, then what changes. One that falls behind the history delivers the difference."""
        found = get_resource(resource)
        path = _get_path(found, "", "", "")
        feed = _Feed(found.storage, lambda: self._server.watch(ApiRequest("GET", path, "watch=1")), sink, on_synced)
        self._feeds.setdefault(found.storage, []).append(feed)
        self._heads.pop(found.storage, None)
        self._wake()
        return feed

    def reconnect(self, server: Server) -> None:
        """Go on with a server that was started again over the same store.

        Watches resume; whether requests took effect whose answers are on their way is not known any more.
        """
        self._server = server
        lost, self._waiting = self._waiting, deque()
        for _, on_done in lost:
            _call(on_done, Response(503, message="the server was started again before it answered"))
        self._heads.clear()
        for feed in self._list_feeds():
            feed.reopen()
        self._wake()

    def close(self) -> None:
        """Stop listening to the store; requests that were sent are carried out, and not answered."""
        self._is_closed = True
        self._leave()
        for feed in self._list_feeds():
            feed.close()
        self._waiting.clear()

    def _list_feeds(self) -> list[_Feed]:
        return [feed for feeds in self._feeds.values() for feed in feeds]

    # ---- in the loop --------------------------------------------------------------------------------------

    def _execute(self, request: Request, on_done: OnDone) -> None:
        try:
            response = self._server.handle(_translate(request))
        except KeyError:
            error = unknown_resource()
            response = ApiResponse(error.code, encode_status(error))
        if not self._is_closed:
            self._waiting.append((response, on_done))
            self._wake()

    def _wake(self) -> None:
        """Have the loop look at the store; once is enough, however many commits there are."""
        if not self._is_awake:
            self._is_awake = True
            self._call_soon(self._deliver)

    def _deliver(self) -> None:
        self._is_awake = False  # first, so that a commit during the delivery brings the next one
        store = self._server.store
        durable = store.durable_revision
        while self._waiting:
            response, on_done = self._waiting[0]
            lost = self._server.find_loss(response)
            if lost is None and response.revision > durable:
                break
            self._waiting.popleft()
            _call(on_done, _to_response(lost or response))
        heads = store.heads
        for resource, feeds in tuple(self._feeds.items()):
            head = heads.get(resource, 0)
            if self._heads.get(resource) != head and self._deliver_to(feeds) and head <= durable:
                self._heads[resource] = head
        self._told = durable

    def _deliver_to(self, feeds: list[_Feed]) -> bool:
        """Deliver what is new of a resource; returns whether every feed has it by now."""
        is_done = True
        for feed in tuple(feeds):
            if feed.is_closed:
                feeds.remove(feed)
                continue
            feed.skip_to(self._told)
            if feed.deliver():
                self._wake()
                is_done = False
            is_done = is_done and feed.has_synced
        return is_done


def _call(listener: Callable[[_T], None], what: _T) -> None:
    """Tell a listener; its fault costs this one call and nothing else."""
    try:
        listener(what)
    except Exception as fault:
        _log.error("a listener of the API failed: %r", fault, exc_info=True)


def _get_path(resource: Resource, namespace: str, name: str, subresource: str) -> str:
    path = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
    if namespace:
        path = f"{path}/namespaces/{namespace}"
    path = f"{path}/{resource.plural}"
    if name:
        path = f"{path}/{name}"
    return f"{path}/{subresource}" if subresource else path


def _translate(request: Request) -> ApiRequest:
    resource = get_resource(request.resource)
    name = request.name if request.verb not in ("create", "list") or request.subresource else ""
    path = _get_path(resource, request.namespace, name, request.subresource)
    return ApiRequest(_METHODS[request.verb], path, "", request.body, request.content_type, JSON_TYPE)


def _to_response(response: ApiResponse) -> Response:
    if response.code < 400:
        return Response(response.code, response.body)
    return Response(response.code, response.body, orjson.loads(response.body).get("message", ""))

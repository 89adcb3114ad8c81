"""The API over HTTP: one handler for all paths, answers held back until they are durable, watches as streams."""

import asyncio
import contextlib
from typing import Final

from aiohttp import web

from apportion.base import InputError
from apportion.server import errors
from apportion.server.request import BODY_BYTES_MAX, ApiRequest, ApiResponse, Parameters
from apportion.server.server import Server, is_watch
from apportion.server.watching import Watch
from apportion.store import Store

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
BOOKMARK_EVERY_S: Final = 60.0
WATCH_TIMEOUT_S: Final = 1800.0
FUTURE_WAIT_S: Final = 3.0  # how long a watch may wait for a revision that does not exist yet
WATCHES_MAX: Final = 1000
_READS_MAX: Final = 3


class Durability:
    """Wakes the coroutines that wait for the store, whichever thread the store speaks from."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._is_told = False
        self._leave = store.subscribe(self._announce)

    def _announce(self) -> None:
        # once for many commits: each call writes to a pipe that also carries Ctrl-C, and that must not be full
        if not self._is_told:
            self._is_told = True
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._is_told = False  # first, so that a commit from now on is announced again
        self._changed.set()
        self._changed = asyncio.Event()

    def next_change(self) -> asyncio.Event:
        """Return what is set at the next announcement; take it before looking at the store."""
        return self._changed

    async def wait_for(self, response: ApiResponse, server: Server) -> ApiResponse | None:
        """Wait until an answer is durable; returns the one to give instead when that will not happen."""
        while True:
            changed = self.next_change()
            if (lost := server.find_loss(response)) is not None:
                return lost
            if self._store.durable_revision >= response.revision:
                return None
            await changed.wait()

    def close(self) -> None:
        self._leave()


class HttpServer:
    """Serves a ``Server`` on a loopback address.

    There is no authentication yet, so other addresses are refused.
    """

    def __init__(self, server: Server, host: str = "127.0.0.1", port: int = 0) -> None:
        if host not in _LOOPBACK:
            raise InputError(f"{host} is not a loopback address; without authentication only {_LOOPBACK} are served")
        self._server = server
        self._host = host
        self._port = port
        self._watches = 0
        self._runner: web.AppRunner | None = None
        self._durability: Durability | None = None

    @property
    def url(self) -> str:
        """The address, once started."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def start(self) -> None:
        """Listen; port 0 becomes a free port."""
        self._durability = Durability(self._server.store)
        app = web.Application(client_max_size=BODY_BYTES_MAX + 1)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening and cut the watches."""
        if self._durability is not None:
            self._durability.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        try:
            body = await http.read() if http.can_read_body else b""
        except web.HTTPRequestEntityTooLarge:
            body = bytes(BODY_BYTES_MAX + 1)  # the server words the refusal
        headers = http.headers
        if any(name.lower().startswith("impersonate-") for name in headers):
            return _to_http(_refuse_impersonation())
        request = ApiRequest(
            http.method,
            http.rel_url.raw_path,
            http.rel_url.raw_query_string,
            body,
            headers.get("Content-Type", ""),
            headers.get("Accept", ""),
            headers.get("User-Agent", ""),
        )
        if is_watch(request):
            return await self._stream(http, request)
        return _to_http(await self._answer(request))

    async def _answer(self, request: ApiRequest) -> ApiResponse:
        """Return an answer that is durable; a read that has seen what was lost since is made again."""
        assert self._durability is not None
        tries = _READS_MAX if request.method == "GET" else 1
        while True:
            response = self._server.handle(request)
            tries -= 1
            lost = await self._durability.wait_for(response, self._server)
            if lost is None or not tries:
                return lost or response

    # ---- watches ------------------------------------------------------------------------------------------

    async def _stream(self, http: web.Request, request: ApiRequest) -> web.StreamResponse:
        try:
            if self._watches >= WATCHES_MAX:
                text = f"this server keeps at most {WATCHES_MAX} watches open"
                raise errors.ApiError(429, "TooManyRequests", text, {"retryAfterSeconds": 1}, (("Retry-After", "1"),))
            watch = self._server.watch(request)
            timeout_s = Parameters.parse(request.query).get_int("timeoutSeconds")
        except errors.ApiError as error:
            return _to_http(ApiResponse(error.code, errors.encode_status(error), headers=error.headers))
        response = web.StreamResponse(headers=[("Content-Type", "application/json"), *watch.headers])
        self._watches += 1
        try:
            await response.prepare(http)
            await self._feed(watch, response, float(timeout_s or WATCH_TIMEOUT_S))
        except ConnectionError:
            pass  # the client has left
        finally:
            self._watches -= 1
        return response

    async def _feed(self, watch: Watch, response: web.StreamResponse, timeout_s: float) -> None:
        """Write frames as they come. A client that does not read blocks only this coroutine; what it misses in the
        meantime it is given from the history, or a 410."""
        assert self._durability is not None
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        next_bookmark_s = start_s + BOOKMARK_EVERY_S
        while True:
            changed = self._durability.next_change()
            frames = watch.read()
            now_s = loop.time()
            if watch.is_from_the_future and now_s - start_s >= FUTURE_WAIT_S:
                frames = [watch.end(errors.version_too_large(watch.told, self._server.store.revision))]
            if watch.wants_bookmarks and now_s >= next_bookmark_s and not watch.ended:
                frames.append(watch.bookmark())
                next_bookmark_s = now_s + BOOKMARK_EVERY_S
            if frames:
                await response.write(b"".join(frames))
            left_s = start_s + timeout_s - loop.time()
            if watch.ended or left_s <= 0:
                return
            wait_s = FUTURE_WAIT_S if watch.is_from_the_future else max(next_bookmark_s - now_s, 0.0)
            await _wait(changed, min(left_s, wait_s))


async def _wait(changed: asyncio.Event, timeout_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(changed.wait(), timeout_s)


def _refuse_impersonation() -> ApiResponse:
    """Nobody may believe that a request had only the rights of another user."""
    text = "users cannot be impersonated: this server knows no users, whoever reaches it may do everything"
    return ApiResponse(403, errors.encode_status(errors.ApiError(403, "Forbidden", text, {})))


def _to_http(response: ApiResponse) -> web.Response:
    answer = web.Response(status=response.code, body=response.body, headers={"Content-Type": response.content_type})
    for name, value in response.headers:
        answer.headers.add(name, value)
    return answer

"""The API over HTTP: requests in flight up to a limit, and one watch for each resource, on the running loop."""

import asyncio
import logging
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Final

from apportion.base import Clock, InputError, Rng
from apportion.client.address import ServerAddress
from apportion.client.backoff import FIRST_S, LONGEST_S, Backoff
from apportion.client.http.lanes import Lanes
from apportion.client.http.shared_watch import SharedWatch, tell
from apportion.client.http.source import HttpSource
from apportion.client.http.wire import Wire
from apportion.client.paths import METHODS, find_path, find_request_path
from apportion.client.reflector import Reflector
from apportion.client.source import Reply
from apportion.client.transport import OnDone, OnSynced, Request, Response, Transport, WatchHandle, WatchSink

_READS: Final = ("get", "list")
_TOO_MANY: Final = 429
_MAY_PASS: Final = (502, 503, 504)
_NOT_FOUND: Final = Response(404, message="the server could not find the requested resource")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How hard to try."""

    in_flight_max: int = 64
    waiting_max: int = 50_000  # beyond that a request is refused at once, with 429
    timeout_s: float = 60.0  # of one attempt
    attempts_max: int = 6
    first_delay_s: float = FIRST_S
    longest_delay_s: float = LONGEST_S


class HttpTransport(Transport):
    """Requests and watches on an API server. Must be made and used on a running asyncio loop.

    What is tried again is only what cannot have taken effect: reads, what was refused with 429, what never left.
    A write whose answer is lost ends with 503, or 504 after too long a time, and nobody knows whether it took
    effect (`is_unknown`): whoever sent it has to look.
    """

    def __init__(self, address: ServerAddress, clock: Clock, rng: Rng, options: HttpOptions | None = None) -> None:
        """Raises InputError for unusable credentials."""
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._rng = rng
        self._options = options or HttpOptions()
        self._wire = Wire(address)
        self._lanes: Lanes[tuple[Request, OnDone]] = Lanes(self._options.in_flight_max)
        self._calls: set[asyncio.Task[None]] = set()
        self._watches: list[SharedWatch] = []
        self._is_closed = False
        self._closing: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Answer nothing and deliver nothing any more; ``wait_closed`` waits until the connections are gone."""
        if self._is_closed:
            return
        self._is_closed = True
        for watch in self._watches:
            watch.reflector.close()
        for call in self._calls:
            call.cancel()
        self._closing = self._loop.create_task(self._wire.close())

    async def wait_closed(self) -> None:
        """Close, and wait for it."""
        self.close()
        assert self._closing is not None
        await asyncio.gather(self._closing, *self._calls, return_exceptions=True)

    # ---- requests -----------------------------------------------------------------------------------------

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request as soon as those about the same object are done."""
        if len(self._lanes) >= self._options.waiting_max:
            text = f"{self._options.waiting_max} requests wait for the API server already"
            self._loop.call_soon(self._answer, on_done, Response(_TOO_MANY, message=text))
            return
        lane: Hashable = (request.resource, request.namespace, request.name) if request.name else None
        self._lanes.add(lane, (request, on_done))
        self._send()

    def _send(self) -> None:
        while not self._is_closed and (taken := self._lanes.take()) is not None:
            lane, (request, on_done) = taken
            call = self._loop.create_task(self._carry_out(lane, request, on_done))
            self._calls.add(call)
            call.add_done_callback(self._calls.discard)

    async def _carry_out(self, lane: Hashable, request: Request, on_done: OnDone) -> None:
        try:
            response = await self._call(request)
        except Exception as fault:  # a fault of ours must not leave the caller without an answer
            _log.error("%s %s failed: %r", request.verb, request.resource, fault, exc_info=True)
            response = Response(500, message=f"{type(fault).__name__}: {fault}")
        self._lanes.finish(lane)
        self._send()
        self._answer(on_done, response)

    async def _call(self, request: Request) -> Response:
        path = find_request_path(request)
        if path is None:
            return _NOT_FOUND
        options, method = self._options, METHODS[request.verb]
        backoff = Backoff(self._rng, options.first_delay_s, options.longest_delay_s)
        for _ in range(options.attempts_max - 1):
            reply = await self._wire.call(method, path, options.timeout_s, request.body, request.content_type)
            if not _can_repeat(request.verb, reply):
                return _to_response(reply)
            await asyncio.sleep(max(backoff.next_s(), reply.retry_after_s))
        return _to_response(await self._wire.call(method, path, options.timeout_s, request.body, request.content_type))

    def _answer(self, on_done: OnDone, response: Response) -> None:
        if not self._is_closed:
            tell(on_done, response)

    # ---- watches ------------------------------------------------------------------------------------------

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Deliver what exists, then what changes. Watches of a resource that are asked for in a row share one stream.

        Raises InputError for a resource that is unknown.
        """
        path = find_path(resource)
        if path is None:
            raise InputError(f"{resource}: not a resource that is known here")
        shared = next((w for w in self._watches if w.resource == resource and w.is_open), None)
        if shared is None:
            shared = SharedWatch(resource, partial(self._make_reflector, resource, path))
            self._watches = [w for w in self._watches if w.listeners or w.is_open]
            self._watches.append(shared)
            self._loop.call_soon(shared.start)
        return shared.add(sink, on_synced)

    def _make_reflector(self, resource: str, path: str, sink: WatchSink, on_synced: OnSynced) -> Reflector:
        rng = self._rng.fork(f"watch {resource}")
        backoff = Backoff(rng.fork("backoff"), self._options.first_delay_s, self._options.longest_delay_s)
        source = HttpSource(self._wire, path)
        return Reflector(resource, source, self._loop, self._clock, rng, sink, on_synced, backoff)


def _can_repeat(verb: str, reply: Reply) -> bool:
    """Return whether to try again: what failed may pass, and has not taken effect."""
    if reply.code == _TOO_MANY or not reply.was_sent:
        return True
    return verb in _READS and (reply.code in _MAY_PASS or (reply.code >= 500 and reply.retry_after_s > 0))


def _to_response(reply: Reply) -> Response:
    return Response(reply.code, reply.body, reply.message)

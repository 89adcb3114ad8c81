"""Transports that hold back what passes through them, so that somebody's work can be kept out of a measurement."""

from collections import deque
from functools import partial

from apportion.client import OnDone, OnSynced, Request, Response, Transport, WatchHandle, WatchSink


class DeferredTransport(Transport):
    """Passes requests on at once; answers and watch events wait for ``flush``.

    All watches of a resource share one of the inner transport, so they must begin before there is anything to see.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._events: deque[tuple[list[WatchSink], bytes]] = deque()
        self._answers: deque[tuple[OnDone, Response]] = deque()
        self._watches: dict[str, tuple[list[WatchSink], WatchHandle]] = {}

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request."""
        self._inner.submit(request, lambda response: self._answers.append((on_done, response)))

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Watch through the inner transport."""
        if resource in self._watches:
            sinks, handle = self._watches[resource]
            sinks.append(sink)
            if on_synced is not None:
                on_synced()
            return handle
        sinks = [sink]
        handle = self._inner.watch(resource, partial(self._hold, sinks), on_synced)
        self._watches[resource] = (sinks, handle)
        return handle

    def _hold(self, sinks: list[WatchSink], frame: bytes) -> None:
        self._events.append((sinks, frame))

    def close(self) -> None:
        """Hand out nothing any more."""
        self._events.clear()
        self._answers.clear()
        self._inner.close()

    def flush(self) -> bool:
        """Hand out what waits, answers first; returns whether there was anything."""
        events, answers = self._events, self._answers
        had_any = bool(events or answers)
        while answers:
            on_done, response = answers.popleft()
            on_done(response)
        while events:
            sinks, frame = events.popleft()
            for sink in sinks:
                sink(frame)
        return had_any


class HeldTransport(DeferredTransport):
    """Holds requests back as well, until ``carry_out``: the work of the API is kept apart from that of its client."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self._requests: deque[tuple[Request, OnDone]] = deque()

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Keep a request for ``carry_out``."""
        self._requests.append((request, on_done))

    def carry_out(self) -> bool:
        """Pass on the requests that wait, in the order of the calls; returns whether there were any."""
        had_any = bool(self._requests)
        while self._requests:
            super().submit(*self._requests.popleft())
        return had_any

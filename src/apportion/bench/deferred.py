"""A transport that holds back what comes in, so that somebody's work can be kept out of a measurement."""

from collections import deque
from collections.abc import Callable

from apportion.client import OnDone, OnSynced, Request, Response, Transport, WatchHandle, WatchSink


class DeferredTransport(Transport):
    """Passes requests on at once; answers and watch events wait for ``flush``."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._held: deque[Callable[[], None]] = deque()

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request."""

        def answered(response: Response) -> None:
            self._held.append(lambda: on_done(response))

        self._inner.submit(request, answered)

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Watch through the inner transport."""
        return self._inner.watch(resource, lambda frame: self._held.append(lambda: sink(frame)), on_synced)

    def close(self) -> None:
        """Hand out nothing any more."""
        self._held.clear()
        self._inner.close()

    def flush(self) -> bool:
        """Hand out what waits; returns whether there was anything."""
        had_any = bool(self._held)
        while self._held:
            self._held.popleft()()
        return had_any

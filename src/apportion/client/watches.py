"""What a component watches, as one: it may act once all of it was delivered."""

from apportion.client.transport import OnDone, OnSynced, Request, Transport, WatchHandle, WatchSink


class Watches(Transport):
    """Passes everything on to a transport, and remembers the watches. Behaviour: client-go's WaitForCacheSync.

    Lists arrive at different times: who acts before all are there takes what is merely late for missing.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._handles: list[WatchHandle] = []
        self._waiting: list[WatchHandle] = []

    @property
    def has_synced(self) -> bool:
        """Whether every watch has delivered what existed when it was opened."""
        if self._waiting:
            self._waiting = [h for h in self._waiting if not h.has_synced]
        return not self._waiting

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request."""
        self._inner.submit(request, on_done)

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Watch a resource."""
        handle = self._inner.watch(resource, sink, on_synced)
        self._handles.append(handle)
        self._waiting.append(handle)
        return handle

    def close(self) -> None:
        """Close the watches; the transport stays open for others."""
        for handle in self._handles:
            handle.close()

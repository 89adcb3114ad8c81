"""Waking the loop of a control plane whenever something arrives for one of its components."""

from collections.abc import Callable

from apportion.client import OnDone, OnSynced, Request, Response, Transport, WatchHandle, WatchSink
from apportion.sched.framework import CallExtender
from apportion.sched.shell import ExtenderCalls, OnAnswer


class Bell:
    """Has ``work`` called later by the loop, once, however often it is rung until then."""

    __slots__ = ("_call_soon", "_work", "is_rung")

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], work: Callable[[], None]) -> None:
        self._call_soon = call_soon
        self._work = work
        self.is_rung = False  # whoever works sets it back first, so that what arrives meanwhile is looked at

    def ring(self) -> None:
        """Have the loop look for work."""
        if not self.is_rung:
            self.is_rung = True
            self._call_soon(self._work)


class NudgingTransport(Transport):
    """Passes everything on, and rings whenever something arrived. Once closed it passes nothing on."""

    def __init__(self, inner: Transport, bell: Bell) -> None:
        self._inner = inner
        self._bell = bell
        self._is_closed = False

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request."""
        bell = self._bell

        def answered(response: Response) -> None:
            if not self._is_closed:
                on_done(response)
                if not bell.is_rung:
                    bell.ring()

        self._inner.submit(request, answered)

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Watch a resource."""
        bell = self._bell

        def arrived(frame: bytes) -> None:
            if not self._is_closed:
                sink(frame)
                if not bell.is_rung:
                    bell.ring()

        def synced() -> None:
            if on_synced is not None:
                on_synced()
            bell.ring()

        return self._inner.watch(resource, arrived, synced)

    def close(self) -> None:
        """Pass nothing on any more."""
        self._is_closed = True
        self._inner.close()


class NudgingCalls:
    """Rings whenever an extender has answered."""

    def __init__(self, inner: ExtenderCalls, bell: Bell) -> None:
        self._inner = inner
        self._bell = bell

    def call(self, command: CallExtender, body: bytes, on_answer: OnAnswer) -> None:
        """Carry a call out."""

        def answered(response: Response) -> None:
            on_answer(response)
            self._bell.ring()

        self._inner.call(command, body, answered)

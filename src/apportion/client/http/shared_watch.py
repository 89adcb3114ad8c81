"""One stream from the API for all in this process who want to hear of a resource."""

import logging
from collections.abc import Callable
from typing import TypeVar

from apportion.client.reflector import Reflector
from apportion.client.transport import OnSynced, WatchHandle, WatchSink

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class _Listener:
    """One who asked for a watch."""

    def __init__(self, shared: "SharedWatch", sink: WatchSink, on_synced: OnSynced | None) -> None:
        self._shared = shared
        self.sink = sink
        self.on_synced = on_synced

    @property
    def has_synced(self) -> bool:
        return self._shared.reflector.has_synced

    def close(self) -> None:
        self._shared.remove(self)


class SharedWatch:
    """A reflector and who listens to it. Open to others until it starts: later they would miss the beginning."""

    def __init__(self, resource: str, make: Callable[[WatchSink, OnSynced], Reflector]) -> None:
        self.resource = resource
        self.is_open = True
        self.listeners: list[_Listener] = []
        self.reflector = make(self._deliver, self._sync)

    def start(self) -> None:
        self.is_open = False
        if self.listeners:
            self.reflector.start()

    def add(self, sink: WatchSink, on_synced: OnSynced | None) -> WatchHandle:
        listener = _Listener(self, sink, on_synced)
        self.listeners.append(listener)
        return listener

    def remove(self, listener: _Listener) -> None:
        if listener in self.listeners:
            self.listeners.remove(listener)
            if not self.listeners and not self.is_open:
                self.reflector.close()

    def _deliver(self, frame: bytes) -> None:
        for listener in tuple(self.listeners):
            tell(listener.sink, frame)

    def _sync(self) -> None:
        for listener in tuple(self.listeners):
            if listener.on_synced is not None:
                listener.on_synced()


def tell(listener: Callable[[_T], None], what: _T) -> None:
    """Tell a listener; its fault costs this one call and nothing else."""
    try:
        listener(what)
    except Exception as fault:
        _log.error("a listener of the API failed: %r", fault, exc_info=True)

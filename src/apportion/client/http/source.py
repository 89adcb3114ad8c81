"""Lists and watches of one resource over HTTP."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final
from urllib.parse import urlencode

from apportion.client.http.wire import Wire
from apportion.client.source import Reply, Source, Stop

LIST_TIMEOUT_S: Final = 120.0


class HttpSource(Source):
    """Asks for the pages and changes of the resource under ``path``."""

    def __init__(self, wire: Wire, path: str) -> None:
        self._wire = wire
        self._path = path

    def list_page(self, limit: int, token: str, on_done: Callable[[Reply], None]) -> Stop:
        """Ask for a page."""
        query = urlencode({k: v for k, v in (("limit", str(limit)), ("continue", token)) if v not in ("", "0")})
        path = f"{self._path}?{query}" if query else self._path
        call = _Call(on_done)
        call.start(self._wire.call("GET", path, LIST_TIMEOUT_S))
        return call.stop

    def open_watch(
        self, version: str, timeout_s: int, on_line: Callable[[bytes], None], on_end: Callable[[Reply], None]
    ) -> Stop:
        """Ask for what changes."""
        query = {"watch": "1", "allowWatchBookmarks": "true", "resourceVersion": version, "timeoutSeconds": timeout_s}
        call = _Call(on_end)

        def arrived(line: bytes) -> None:
            if not call.is_over:
                on_line(line)

        call.start(self._wire.stream(f"{self._path}?{urlencode(query)}", arrived))
        return call.stop


class _Call:
    """Something under way. Stopped, it calls nothing back; what it calls may stop it."""

    def __init__(self, on_end: Callable[[Reply], None]) -> None:
        self.is_over = False
        self._on_end = on_end
        self._task: asyncio.Task[Reply] | None = None

    def start(self, work: Coroutine[Any, Any, Reply]) -> None:
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[Reply]") -> None:
        if not self.is_over and not task.cancelled():
            self.is_over = True
            self._on_end(task.result())

    def stop(self) -> None:
        self.is_over = True
        if self._task is not None:
            self._task.cancel()

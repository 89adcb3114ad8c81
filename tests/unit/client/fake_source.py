"""An API server of one resource that breaks on demand, on a loop with virtual time."""

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from apportion.base import LimitError, VirtualClock
from apportion.client.lines import Lines
from apportion.client.source import Reply, Stop
from apportion.sim.virtual_loop import VirtualLoop

Tree = dict[str, Any]


class FakeApi:
    """Objects with versions and a history; what is asked of it is kept in ``calls``.

    ``list_faults`` are answers to the next lists, ``watch_faults`` to the next watches. ``chunk`` cuts the stream.
    """

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.loop = VirtualLoop(self.clock)
        self.version = 100
        self.objects: dict[str, Tree] = {}
        self.history: list[tuple[int, bytes]] = []
        self.compacted = 0
        self.calls: list[str] = []
        self.list_faults: list[Reply] = []
        self.watch_faults: list[Reply] = []
        self.streams: list[Stream] = []
        self.chunk = 1 << 20
        self.page_max = 0
        self._listed: list[Tree] = []  # as of the first page

    def run(self, seconds: float = 0.0) -> None:
        self.loop.drain(self.clock.now() + seconds)

    # ---- changes ------------------------------------------------------------------------------------------

    def put(self, name: str, uid: str = "", **more: Any) -> None:
        known = self.objects.get(name)
        tree = {"metadata": {"name": name, "namespace": "d", "uid": uid or f"u-{name}"}, **more}
        self._commit("ADDED" if known is None else "MODIFIED", name, tree)

    def delete(self, name: str) -> None:
        self._commit("DELETED", name, self.objects[name])
        del self.objects[name]

    def _commit(self, change: str, name: str, tree: Tree) -> None:
        self.version += 1
        tree = {**tree, "metadata": {**tree["metadata"], "resourceVersion": str(self.version)}}
        self.objects[name] = tree
        line = orjson.dumps({"type": change, "object": {"kind": "Pod", "apiVersion": "v1", **tree}}) + b"\n"
        self.history.append((self.version, line))
        for stream in self.streams:
            stream.send(line)

    def compact(self) -> None:
        """Forget the history."""
        self.compacted = self.version
        self.history.clear()

    # ---- Source -------------------------------------------------------------------------------------------

    def list_page(self, limit: int, token: str, on_done: Callable[[Reply], None]) -> Stop:
        self.calls.append(f"list {limit} {token}".strip())
        call = Stream(self, lambda line: None, on_done)
        self.loop.call_soon(
            partial(call.end, self.list_faults.pop(0) if self.list_faults else self._page(limit, token))
        )
        return call.stop

    def _page(self, limit: int, token: str) -> Reply:
        start, version = (int(part) for part in token.split("@")) if token else (0, self.version)
        if version < self.compacted:
            return Reply(410, message="The provided continue parameter is too old")
        if not token:
            self._listed = [self.objects[n] for n in sorted(self.objects)]
        size = min(limit, self.page_max or limit) or len(self._listed)
        meta = {"resourceVersion": str(version)}
        if start + size < len(self._listed):
            meta["continue"] = f"{start + size}@{version}"
        items = self._listed[start : start + size]
        return Reply(200, orjson.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items}))

    def open_watch(
        self, version: str, timeout_s: int, on_line: Callable[[bytes], None], on_end: Callable[[Reply], None]
    ) -> Stop:
        self.calls.append(f"watch {version}")
        stream = Stream(self, on_line, on_end)
        if self.watch_faults:
            self.loop.call_soon(partial(stream.end, self.watch_faults.pop(0)))
        elif int(version) < self.compacted:
            stream.send(error_line(410, f"too old resource version: {version} ({self.compacted})"))
            stream.cut()
        else:
            self.streams.append(stream)
            stream.send(b"".join(line for v, line in self.history if v > int(version)))
        return stream.stop


class Stream:
    """The way from the server to the client; what is sent arrives later, whole or in part."""

    def __init__(self, api: FakeApi, on_line: Callable[[bytes], None], on_end: Callable[[Reply], None]) -> None:
        self._api = api
        self._lines = Lines()
        self._on_line: Callable[[bytes], None] | None = on_line
        self._on_end = on_end

    def send(self, data: bytes) -> None:
        for i in range(0, len(data), self._api.chunk):
            self._api.loop.call_soon(partial(self._arrive, data[i : i + self._api.chunk]))

    def _arrive(self, data: bytes) -> None:
        try:
            lines = self._lines.feed(data)
        except LimitError as error:
            self.end(Reply(500, message=str(error)))
            return
        for line in lines:
            if self._on_line is not None:
                self._on_line(line)

    def bookmark(self) -> None:
        meta = {"resourceVersion": str(self._api.version)}
        self.send(orjson.dumps({"type": "BOOKMARK", "object": {"metadata": meta}}) + b"\n")

    def cut(self) -> None:
        """End the stream after what was sent."""
        if self in self._api.streams:
            self._api.streams.remove(self)
        self._api.loop.call_soon(lambda: self.end(Reply(200)))

    def end(self, reply: Reply) -> None:
        if self._on_line is not None:
            self.stop()
            self._on_end(reply)

    def stop(self) -> None:
        self._on_line = None
        if self in self._api.streams:
            self._api.streams.remove(self)


def error_line(code: int, message: str) -> bytes:
    status = {"kind": "Status", "metadata": {}, "code": code, "message": message}
    return orjson.dumps({"type": "ERROR", "object": status}) + b"\n"

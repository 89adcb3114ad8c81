"""The transports under test, each with an API behind it."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import orjson

from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport, Request, Response, Transport
from apportion.client.http import HttpOptions, HttpTransport, ServerAddress
from apportion.client.paths import METHODS, find_request_path
from apportion.server import ApiRequest, HttpServer, InProcessTransport, Server
from apportion.store import MemoryStore
from unit.client.proxy import Proxy

Tree = dict[str, Any]
# delays of milliseconds: what is tested is that there is another attempt, see test_reflector for how late
OPTIONS = HttpOptions(first_delay_s=0.01, longest_delay_s=0.05, timeout_s=5.0)


class Backend(Protocol):
    """A transport, and its other side."""

    transport: Transport
    raises_faults: bool  # whether a fault of a listener is the caller's

    async def until(self, is_done: Callable[[], bool]) -> None:
        """Let things happen until something holds."""
        ...

    async def idle(self) -> None:
        """Let things happen until nothing does."""
        ...

    async def call(self, request: Request, code: int = 0) -> Response:
        """Send a request; the answer must have the code, by default one of success."""
        ...

    async def change(self, request: Request) -> None:
        """Carry a request out behind the back of the transport."""
        ...

    def history_lost(self) -> "contextlib.AbstractAsyncContextManager[None]":
        """Lose the history of what happens meanwhile, if the transport has one to lose."""
        ...

    async def stamps(self) -> dict[str, tuple[str, str]]:
        """Return (uid, version) of the config maps by name."""
        ...

    async def stop(self) -> None: ...


class _Base:
    transport: Transport
    raises_faults = False

    async def until(self, is_done: Callable[[], bool]) -> None:
        while not is_done():
            await self.step()

    async def step(self) -> None:
        await asyncio.sleep(0)

    async def idle(self) -> None:
        for _ in range(20):
            await self.step()

    async def call(self, request: Request, code: int = 0) -> Response:
        answers: list[Response] = []
        self.transport.submit(request, answers.append)
        await self.until(lambda: bool(answers))
        assert answers[0].code == code if code else answers[0].code < 300, answers[0]
        return answers[0]

    async def stop(self) -> None:
        self.transport.close()


class MemoryBackend(_Base):
    """`MemoryTransport`; it has no history to lose."""

    raises_faults = True

    def __init__(self) -> None:
        self.transport = self.memory = MemoryTransport()

    @classmethod
    async def make(cls) -> Backend:
        return cls()

    async def step(self) -> None:
        self.memory.deliver()

    async def change(self, request: Request) -> None:
        await self.call(request)

    @contextlib.asynccontextmanager
    async def history_lost(self) -> AsyncIterator[None]:
        yield

    async def stamps(self) -> dict[str, tuple[str, str]]:
        return stamps(list(self.memory.trees("configmaps")))


class ServerBackend(_Base):
    """A real server behind the transport."""

    def __init__(self) -> None:
        # a new cluster has no config maps; its other objects must not fill the history
        self.store = MemoryStore(changes_max=1000)
        self.server = Server(self.store, VirtualClock(), Rng(1))

    def ask(self, request: Request) -> Tree:
        path = find_request_path(request)
        assert path is not None
        api = ApiRequest(METHODS[request.verb], path, "", request.body, request.content_type)
        response = self.server.handle(api)
        assert response.code < 300, response.body
        parsed: Tree = orjson.loads(response.body)
        return parsed

    async def change(self, request: Request) -> None:
        self.ask(request)

    async def stamps(self) -> dict[str, tuple[str, str]]:
        return stamps(self.ask(Request("list", "configmaps", "", ""))["items"])


class InProcessBackend(ServerBackend):
    """`InProcessTransport` on a loop that is run by hand."""

    def __init__(self) -> None:
        super().__init__()
        self._ready: deque[Callable[[], None]] = deque()
        self.transport = InProcessTransport(self.server, self._ready.append)

    @classmethod
    async def make(cls) -> Backend:
        return cls()

    async def step(self) -> None:
        if self._ready:
            self._ready.popleft()()

    @contextlib.asynccontextmanager
    async def history_lost(self) -> AsyncIterator[None]:
        yield
        self.store.compact(self.store.revision)


class HttpBackend(ServerBackend):
    """`HttpTransport` against `HttpServer`, with a proxy in between."""

    http: HttpServer
    proxy: Proxy
    transport: HttpTransport

    @classmethod
    async def make(cls, options: HttpOptions = OPTIONS) -> "HttpBackend":
        made = cls()
        made.http = HttpServer(made.server)
        await made.http.start()
        made.proxy = Proxy(int(made.http.url.rsplit(":", 1)[1]))
        await made.proxy.start()
        made.transport = made.connect(options)
        return made

    def connect(self, options: HttpOptions = OPTIONS) -> HttpTransport:
        return HttpTransport(ServerAddress(f"http://127.0.0.1:{self.proxy.port}"), VirtualClock(), Rng(0), options)

    async def idle(self) -> None:
        await asyncio.sleep(0.05)

    @contextlib.asynccontextmanager
    async def history_lost(self) -> AsyncIterator[None]:
        await self.proxy.refuse()
        yield
        self.store.compact(self.store.revision)
        await self.proxy.start()

    async def stop(self) -> None:
        await self.transport.wait_closed()
        await self.proxy.refuse()
        await self.http.stop()


def stamps(trees: list[Tree]) -> dict[str, tuple[str, str]]:
    metas = [t["metadata"] for t in trees]
    return {m["name"]: (m["uid"], m["resourceVersion"]) for m in metas}


BACKENDS = [MemoryBackend, InProcessBackend, HttpBackend]

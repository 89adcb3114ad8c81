"""`HttpTransport` on a network that breaks, and against servers that answer badly."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest
from aiohttp import web

import apportion.server.http
from apportion.base import InputError, Rng, VirtualClock
from apportion.client import Request, Response, is_unknown
from apportion.client.http import HttpOptions, HttpTransport, ServerAddress
from unit.client.backends import OPTIONS, HttpBackend
from unit.client.cache_checker import Cache
from unit.client.test_transport_contract import MAPS, create, delete, patch

GET = Request("get", MAPS, "default", "a")


def run(test: Callable[[HttpBackend], Awaitable[None]], options: HttpOptions = OPTIONS) -> None:
    async def body() -> None:
        api = await HttpBackend.make(options)
        try:
            await asyncio.wait_for(test(api), 30)
        finally:
            await api.stop()

    asyncio.run(body())


async def watch(api: HttpBackend) -> Cache:
    cache = Cache()
    handle = api.transport.watch(MAPS, cache)
    await api.until(lambda: handle.has_synced)
    return cache


# ---- watches ----------------------------------------------------------------------------------------------


def test_a_cut_watch_resumes_and_nothing_is_told_twice() -> None:
    async def test(api: HttpBackend) -> None:
        cache = await watch(api)
        for i in range(100):
            await api.change(create(f"m{i:02}"))
            if i % 7 == 0:
                api.proxy.cut()
            await asyncio.sleep(0)
        await api.until(lambda: len(cache.told) >= 100)
        await api.idle()
        assert cache.take() == [("ADDED", f"m{i:02}") for i in range(100)]

    run(test)


@pytest.mark.parametrize("size", [1, 40, 150, 333, 700])
def test_a_line_cut_anywhere_is_not_told_before_it_is_whole(size: int) -> None:
    async def test(api: HttpBackend) -> None:
        cache = await watch(api)
        await asyncio.sleep(0.02)  # the watch is open
        api.proxy.cut_after(size)
        for name in ("a", "b", "c"):
            await api.change(create(name))
        await api.until(lambda: len(cache.told) >= 3)
        assert cache.take() == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]

    run(test)


def test_a_server_that_is_away_is_waited_for() -> None:
    async def test(api: HttpBackend) -> None:
        await api.proxy.refuse()
        cache = Cache()
        handle = api.transport.watch(MAPS, cache)
        await api.change(create("a"))
        await api.idle()
        assert not handle.has_synced
        await api.proxy.start()
        await api.until(lambda: handle.has_synced)
        assert cache.take() == [("ADDED", "a")]

    run(test)


def test_a_bookmark_saves_a_list_when_the_history_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apportion.server.http, "BOOKMARK_EVERY_S", 0.02)

    async def test(api: HttpBackend) -> None:
        await api.change(create("a"))
        cache = await watch(api)
        lists = _count_lists(api)
        for i in range(20):  # changes of another resource: they only move the version
            await api.change(Request("create", "secrets", "default", f"s{i}", _tree("v1", "Secret", f"s{i}")))
        reflector = api.transport._watches[0].reflector
        await api.until(lambda: reflector.version == str(api.store.revision))
        api.store.compact(api.store.revision)
        api.proxy.cut()
        await api.idle()
        await api.change(create("b"))
        await api.until(lambda: ("ADDED", "b") in cache.told)
        assert lists == [] and cache.told == [("ADDED", "a"), ("ADDED", "b")]

    run(test)


def test_a_slow_reader_is_brought_up_to_date() -> None:
    async def test(api: HttpBackend) -> None:
        api.store._state._changes_max = 50
        await api.change(create("gone"))
        cache = await watch(api)
        lists = _count_lists(api)
        await asyncio.sleep(0.02)  # the watch is open
        api.proxy.stall()
        await api.change(delete("gone"))
        big = {"a": "x" * 20_000}
        for i in range(300):  # more than lies in all buffers on the way, and more than the history holds
            await api.change(Request("create", MAPS, "default", f"m{i}", _tree("v1", "ConfigMap", f"m{i}", data=big)))
            await asyncio.sleep(0)
        api.proxy.flow()
        await api.until(lambda: len(cache.objects) == 300)
        await api.idle()
        assert lists and cache.stamps() == await api.stamps()

    run(test)


def test_watches_asked_for_together_share_a_stream() -> None:
    async def test(api: HttpBackend) -> None:
        caches = [Cache(), Cache(), Cache()]
        handles = [api.transport.watch(MAPS, cache) for cache in caches]
        lists = _count_lists(api)
        await api.until(lambda: all(h.has_synced for h in handles))
        await api.change(create("a"))
        await api.until(lambda: all(c.told == [("ADDED", "a")] for c in caches))
        assert len(lists) == 1

    run(test)


def test_an_unknown_resource_is_named() -> None:
    async def test(api: HttpBackend) -> None:
        with pytest.raises(InputError, match="nosuch"):
            api.transport.watch("nosuch", Cache())
        assert (await api.call(Request("get", "nosuch", "", "a"), 404)).message

    run(test)


def _count_lists(api: HttpBackend) -> list[str]:
    seen: list[str] = []
    handle = api.server.handle

    def spy(request: Any) -> Any:
        if request.method == "GET" and request.path.endswith("/configmaps"):
            seen.append(request.query)
        return handle(request)

    api.server.handle = spy  # type: ignore[method-assign]
    return seen


def _tree(version: str, kind: str, name: str, **more: Any) -> bytes:
    return orjson.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more})


# ---- requests ---------------------------------------------------------------------------------------------


class Answers:
    """A server that answers as it is told to, and counts."""

    def __init__(self) -> None:
        self.queue: list[web.Response | float] = []
        self.requests: list[str] = []
        self.headers: list[str] = []
        self.in_flight = self.in_flight_max = 0

    async def handle(self, request: web.Request) -> web.Response:
        self.requests.append(f"{request.method} {request.path}")
        self.headers.append(request.headers.get("Authorization", ""))
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            await asyncio.sleep(0)
            answer = self.queue.pop(0) if self.queue else web.json_response({})
            if isinstance(answer, float):
                await asyncio.sleep(answer)
                return web.json_response({})
            return answer
        finally:
            self.in_flight -= 1


@contextlib.asynccontextmanager
async def serve(options: HttpOptions = OPTIONS, **address: str) -> AsyncIterator[tuple[Answers, HttpTransport]]:
    answers = Answers()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answers.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    transport = HttpTransport(ServerAddress(url, **address), VirtualClock(), Rng(0), options)
    try:
        yield answers, transport
    finally:
        await transport.wait_closed()
        await runner.cleanup()


async def ask(transport: HttpTransport, request: Request) -> Response:
    answers: asyncio.Queue[Response] = asyncio.Queue()
    transport.submit(request, answers.put_nowait)
    return await asyncio.wait_for(answers.get(), 20)


def refuse(code: int, **headers: str) -> web.Response:
    return web.json_response({"kind": "Status", "message": "as told", "code": code}, status=code, headers=headers)


@pytest.mark.parametrize(
    ("request_", "codes", "asked", "code"),
    [
        (GET, [503, 502, 504], 4, 200),
        (GET, [500], 1, 500),
        (GET, [404], 1, 404),
        (create("a"), [503], 1, 503),
        (create("a"), [429, 429], 3, 200),
        (delete("a"), [504], 1, 504),
        (patch("a", 1), [500], 1, 500),
        (patch("a", 1), [429] * 6, 6, 429),
    ],
)
def test_only_what_cannot_have_happened_is_tried_again(
    request_: Request, codes: list[int], asked: int, code: int
) -> None:
    async def test() -> None:
        async with serve() as (server, transport):
            server.queue += [refuse(c) for c in codes]
            answer = await ask(transport, request_)
            assert (answer.code, len(server.requests)) == (code, asked)
            assert code == 200 or answer.message == "as told"

    asyncio.run(test())


def test_retry_after_is_honoured() -> None:
    async def test() -> None:
        async with serve() as (server, transport):
            server.queue.append(refuse(429, **{"Retry-After": "1"}))
            start_s = asyncio.get_running_loop().time()
            assert (await ask(transport, create("a"))).code == 200
            assert asyncio.get_running_loop().time() - start_s >= 1.0

    asyncio.run(test())


def test_what_gets_no_answer_is_unknown_and_says_so() -> None:
    async def test() -> None:
        async with serve(HttpOptions(timeout_s=0.05, first_delay_s=0.01, attempts_max=2)) as (server, transport):
            server.queue.append(1.0)
            answer = await ask(transport, create("a"))
            assert answer.code == 504 and "no answer from http://127.0.0.1" in answer.message
            assert is_unknown(answer.code) and len(server.requests) == 1

    asyncio.run(test())


def test_a_cut_connection_is_unknown_and_the_write_is_not_repeated() -> None:
    async def test(api: HttpBackend) -> None:
        api.proxy.stall()
        answers: list[Response] = []
        api.transport.submit(create("a"), answers.append)
        while not await api.stamps():
            await asyncio.sleep(0.01)
        api.proxy.cut()
        await api.until(lambda: bool(answers))
        api.proxy.flow()
        await api.idle()
        assert [a.code for a in answers] == [503] and "no answer" in answers[0].message

    run(test)


def test_a_refused_connection_is_tried_again_and_named_in_the_end() -> None:
    async def test(api: HttpBackend) -> None:
        await api.proxy.refuse()
        answer = await api.call(create("a"), 503)
        assert "Cannot connect" in answer.message
        answers: list[Response] = []
        api.transport.submit(create("a"), answers.append)
        await api.idle()
        await api.proxy.start()
        await api.until(lambda: bool(answers))
        assert answers[0].code == 201

    run(test)


def test_requests_in_flight_are_limited_and_those_beyond_the_queue_refused() -> None:
    async def test() -> None:
        async with serve(HttpOptions(in_flight_max=3, waiting_max=20)) as (server, transport):
            codes: list[int] = []
            for i in range(30):
                transport.submit(create(f"m{i}"), lambda r: codes.append(r.code))
            while len(codes) < 30:
                await asyncio.sleep(0.01)
            assert (codes.count(200), codes.count(429)) == (23, 7)
            assert server.in_flight_max == 3

    asyncio.run(test())


def test_a_redirect_is_not_followed() -> None:
    async def test() -> None:
        async with serve(token="secret") as (server, transport):
            server.queue.append(web.Response(status=302, headers={"Location": "http://elsewhere.example/"}))
            answer = await ask(transport, delete("a"))
            assert answer.code == 503 and "elsewhere.example" in answer.message
            assert server.headers == ["Bearer secret"]

    asyncio.run(test())

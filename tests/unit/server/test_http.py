"""The server behind a socket: streams, time limits, bookmarks, and who may listen."""

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import orjson
import pytest

from apportion.base import InputError
from apportion.server import HttpServer
from apportion.server import http as http_module
from apportion.store import MemoryStore
from unit.server.api_driver import MAPS, Api, config_map

Talk = Callable[[aiohttp.ClientSession, str], Awaitable[None]]


def hold(api: Api, talk: Talk) -> None:
    """Serve ``api`` while a conversation is held."""

    async def run() -> None:
        server = HttpServer(api.server)
        await server.start()
        try:
            async with aiohttp.ClientSession() as session, asyncio.timeout(20):
                await talk(session, server.url)
        finally:
            await server.stop()

    asyncio.run(run())


def test_only_loopback_is_served() -> None:
    with pytest.raises(InputError, match="loopback"):
        HttpServer(Api().server, host="0.0.0.0")


def test_a_watch_streams_what_is_created_meanwhile() -> None:
    api = Api()

    async def talk(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{MAPS}?watch=1") as watch:
            async with session.post(url + MAPS, json=config_map("a")) as answer:
                assert answer.status == 201
            event = orjson.loads(await watch.content.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")

    hold(api, talk)


def test_a_watch_ends_at_its_time_limit() -> None:
    async def talk(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{MAPS}?watch=1&timeoutSeconds=1") as watch:
            assert await watch.read() == b""

    hold(Api(), talk)


def test_bookmarks_come_on_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "BOOKMARK_EVERY_S", 0.01)
    api = Api()

    async def talk(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{MAPS}?watch=1&allowWatchBookmarks=true") as watch:
            event = orjson.loads(await watch.content.readline())
            assert event["type"] == "BOOKMARK"
            assert event["object"]["metadata"]["resourceVersion"] == str(api.store.revision)

    hold(api, talk)


def test_a_watch_from_a_version_that_never_comes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "FUTURE_WAIT_S", 0.01)

    async def talk(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{MAPS}?watch=1&resourceVersion=99999999") as watch:
            event = orjson.loads(await watch.content.readline())
            assert (event["type"], event["object"]["reason"]) == ("ERROR", "Timeout")
            assert await watch.read() == b""

    hold(Api(), talk)


def test_a_client_that_does_not_read_is_cut_and_harms_nobody() -> None:
    api = Api(MemoryStore(changes_max=50))

    async def talk(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{MAPS}?watch=1", read_bufsize=1024) as slow:
            for i in range(300):
                api.create(MAPS, config_map(f"m{i}", k="x" * 100_000))
                if i % 20 == 0:
                    await asyncio.sleep(0)
            async with session.get(f"{url}{MAPS}/m299") as other:
                assert other.status == 200
            lines = (await slow.read()).splitlines()
            assert orjson.loads(lines[-1])["object"]["code"] == 410

    hold(api, talk)


def test_a_body_that_is_too_large_is_refused() -> None:
    async def talk(session: aiohttp.ClientSession, url: str) -> None:
        async with session.post(url + MAPS, data=b"x" * (4 << 20)) as answer:
            assert (answer.status, (await answer.json())["reason"]) == (413, "RequestEntityTooLarge")

    hold(Api(), talk)


def test_watches_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_module, "WATCHES_MAX", 1)

    async def talk(session: aiohttp.ClientSession, url: str) -> None:
        async with session.get(f"{url}{MAPS}?watch=1"), session.get(f"{url}{MAPS}?watch=1") as second:
            assert (second.status, second.headers["Retry-After"]) == (429, "1")

    hold(Api(), talk)

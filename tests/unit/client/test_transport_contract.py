"""What `client.Transport` promises, checked on every transport: in memory, in process, over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from apportion.client import MERGE_PATCH, Request, Response
from unit.client.backends import BACKENDS, Backend
from unit.client.cache_checker import Cache

MAPS = "configmaps"
Test = Callable[[Backend], Awaitable[None]]


@pytest.fixture(params=BACKENDS)
def run(request: pytest.FixtureRequest) -> Callable[[Test], None]:
    """Run a test on one of the transports."""

    @asynccontextmanager
    async def backend() -> AsyncIterator[Backend]:
        made: Backend = await request.param.make()
        try:
            yield made
        finally:
            await made.stop()

    async def run_test(test: Test) -> None:
        async with backend() as made:
            await asyncio.wait_for(test(made), 30)

    return lambda test: asyncio.run(run_test(test))


def create(name: str) -> Request:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
    return Request("create", MAPS, "default", name, orjson.dumps(tree))


def patch(name: str, value: int, **meta: Any) -> Request:
    body = orjson.dumps({"metadata": meta, "data": {"value": str(value)}})
    return Request("patch", MAPS, "default", name, body, content_type=MERGE_PATCH)


def delete(name: str) -> Request:
    return Request("delete", MAPS, "default", name)


def test_a_watch_tells_what_exists_then_that_it_did_then_what_changes(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        for name in ("a", "b"):
            await api.call(create(name))
        cache, synced = Cache(), list[int]()
        handle = api.transport.watch(MAPS, cache, lambda: synced.append(len(cache.objects)))
        await api.until(lambda: handle.has_synced)
        assert cache.take() == [("ADDED", "a"), ("ADDED", "b")] and synced == [2]
        await api.call(patch("b", 1))
        await api.call(create("c"))
        await api.call(delete("a"))
        await api.until(lambda: len(cache.told) >= 3)
        assert cache.take() == [("MODIFIED", "b"), ("ADDED", "c"), ("DELETED", "a")]
        assert cache.stamps() == await api.stamps() and synced == [2]

    run(test)


def test_a_watch_of_nothing_says_so(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        cache = Cache()
        handle = api.transport.watch("leases", cache)
        await api.until(lambda: handle.has_synced)
        assert cache.told == []

    run(test)


def test_what_is_made_anew_under_a_name_is_told_as_gone_first(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        await api.call(create("a"))
        cache = Cache()
        api.transport.watch(MAPS, cache)
        await api.until(lambda: len(cache.told) >= 1)
        await api.call(delete("a"))
        await api.call(create("a"))
        await api.until(lambda: len(cache.told) >= 3)
        assert cache.take() == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]

    run(test)


def test_an_answer_comes_once_and_not_inside_the_call(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        answers: list[Response] = []
        for request in (create("a"), create("b"), Request("get", MAPS, "default", "none")):
            before = len(answers)
            api.transport.submit(request, answers.append)
            assert len(answers) == before
        await api.until(lambda: len(answers) >= 3)
        await api.idle()
        assert sorted(r.code for r in answers) == [201, 201, 404]
        (missing,) = (r for r in answers if r.code == 404)
        assert missing.message == 'configmaps "none" not found'

    run(test)


def test_requests_about_one_object_keep_their_order(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        names = [f"m{i}" for i in range(10)]
        cache, codes, seen = Cache(), list[int](), dict[str, list[str]]()

        def sink(frame: bytes) -> None:
            cache(frame)
            tree = orjson.loads(frame)["object"]
            seen.setdefault(tree["metadata"]["name"], []).append(tree.get("data", {}).get("value", ""))

        api.transport.watch(MAPS, sink)
        for name in names:
            api.transport.submit(create(name), lambda r: codes.append(r.code))
        for value in range(20):
            for name in names:
                api.transport.submit(patch(name, value), lambda r: codes.append(r.code))
        await api.until(lambda: len(codes) == 210 and len(cache.told) >= 210)
        assert set(codes) == {200, 201}
        assert seen == {name: ["", *map(str, range(20))] for name in names}

    run(test)


def test_a_stale_version_changes_nothing(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        await api.call(create("a"))
        before = await api.stamps()
        await api.call(patch("a", 1))
        assert (await api.call(patch("a", 2, resourceVersion=before["a"][1]), 409)).message
        assert (await api.stamps())["a"] != before["a"]

    run(test)


def test_a_closed_watch_is_silent_and_others_go_on(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        first, second = Cache(), Cache()
        handles = [api.transport.watch(MAPS, cache) for cache in (first, second)]
        await api.until(lambda: all(h.has_synced for h in handles))
        handles[0].close()
        await api.call(create("a"))
        await api.until(lambda: second.told == [("ADDED", "a")])
        assert first.told == []
        late = Cache()
        handle = api.transport.watch(MAPS, late)
        await api.until(lambda: handle.has_synced)
        assert late.told == [("ADDED", "a")]

    run(test)


def test_a_fault_of_a_listener_costs_one_call(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        if api.raises_faults:
            return
        cache = Cache()

        def fail(what: object) -> None:
            raise ValueError(what)

        api.transport.watch(MAPS, fail)
        api.transport.watch(MAPS, cache)
        api.transport.submit(create("a"), fail)
        await api.until(lambda: cache.told == [("ADDED", "a")])

    run(test)


def test_closed_is_closed(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        cache, answers = Cache(), list[Response]()
        handle = api.transport.watch(MAPS, cache)
        await api.until(lambda: handle.has_synced)
        api.transport.submit(create("a"), answers.append)
        api.transport.close()
        api.transport.close()
        await api.idle()
        assert answers == [] and cache.told == []

    run(test)


def test_what_was_missed_is_told_as_a_difference(run: Callable[[Test], None]) -> None:
    async def test(api: Backend) -> None:
        for name in ("changed", "gone", "kept", "anew"):
            await api.call(create(name))
        cache = Cache()
        handle = api.transport.watch(MAPS, cache)
        await api.until(lambda: handle.has_synced)
        cache.take()
        async with api.history_lost():
            await api.change(patch("changed", 1))
            await api.change(delete("gone"))
            await api.change(delete("anew"))
            await api.change(create("anew"))
            await api.change(create("new"))
        await api.until(lambda: len(cache.told) >= 5)
        await api.idle()
        told = cache.take()
        # without a lost history everything is told one by one, which comes to the same
        assert sorted(told) == sorted(
            [("ADDED", "anew"), ("ADDED", "new"), ("DELETED", "anew"), ("DELETED", "gone"), ("MODIFIED", "changed")]
        )
        assert told.index(("DELETED", "anew")) < told.index(("ADDED", "anew"))
        assert cache.stamps() == await api.stamps()

    run(test)

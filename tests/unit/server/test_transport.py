"""The transport inside a process keeps the contract of the client's transports."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from apportion.client import JSON_PATCH, Request, Response
from apportion.server import InProcessTransport, Server
from apportion.store import MemoryStore, SqliteStore, Store
from unit.server.api_driver import Api, config_map


class Loop:
    """Runs what was asked for, one call at a time."""

    def __init__(self) -> None:
        self.calls: deque[Callable[[], None]] = deque()

    def run(self) -> None:
        while self.calls:
            self.calls.popleft()()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s.db")


def create(name: str) -> Request:
    return Request("create", "configmaps", "default", name, orjson.dumps(config_map(name)))


def run_until_durable(loop: Loop, store: Store) -> None:
    loop.run()
    if isinstance(store, SqliteStore):
        assert store.wait_durable(store.revision, 10)
        while not loop.calls:  # the writer announces right after it has woken this thread
            pass
    loop.run()


def test_no_answer_and_no_event_inside_a_call(store: Store) -> None:
    loop, answers, events = Loop(), list[Response](), list[bytes]()
    transport = InProcessTransport(Api(store).server, loop.calls.append)
    transport.watch("configmaps", events.append)
    transport.submit(create("a"), answers.append)
    before = store.revision
    assert (answers, events) == ([], [])
    run_until_durable(loop, store)
    assert store.revision == before + 1
    assert [r.code for r in answers] == [201]
    assert [orjson.loads(e)["type"] for e in events] == ["ADDED"]
    transport.close()
    store.close()


def test_a_watch_opens_with_what_exists_and_an_answer_comes_once() -> None:
    api, loop, events, codes = Api(), Loop(), list[bytes](), list[int]()
    api.create("/api/v1/namespaces/default/configmaps", config_map("a"))
    transport = InProcessTransport(api.server, loop.calls.append)
    transport.watch("configmaps", events.append)
    loop.run()
    transport.submit(create("a"), lambda r: codes.append(r.code))
    transport.submit(Request("get", "configmaps", "default", "a"), lambda r: codes.append(r.code))
    transport.submit(Request("list", "configmaps", "", ""), lambda r: codes.append(r.code))
    patch = orjson.dumps([{"op": "add", "path": "/data", "value": {"k": "v"}}])
    transport.submit(
        Request("patch", "configmaps", "default", "a", patch, "", JSON_PATCH), lambda r: codes.append(r.code)
    )
    transport.submit(Request("delete", "configmaps", "default", "a"), lambda r: codes.append(r.code))
    transport.submit(Request("get", "nosuch", "default", "a"), lambda r: codes.append(r.code))
    loop.run()
    assert codes == [409, 200, 200, 200, 200, 404]
    assert [orjson.loads(e)["type"] for e in events] == ["ADDED", "MODIFIED", "DELETED"]


def test_an_error_brings_its_message() -> None:
    loop, answers = Loop(), list[Response]()
    transport = InProcessTransport(Api().server, loop.calls.append)
    transport.submit(Request("get", "pods", "default", "none"), answers.append)
    loop.run()
    assert (answers[0].code, answers[0].message) == (404, 'pods "none" not found')


def test_a_watch_that_fell_behind_starts_anew() -> None:
    api, loop, events = Api(MemoryStore(changes_max=5)), Loop(), list[bytes]()
    transport = InProcessTransport(api.server, loop.calls.append)
    transport.watch("configmaps", events.append)
    loop.run()
    for i in range(20):
        api.create("/api/v1/namespaces/default/configmaps", config_map(f"m{i:02}"))
    loop.run()
    names = [orjson.loads(e)["object"]["metadata"]["name"] for e in events]
    assert names == [f"m{i:02}" for i in range(20)]


def test_a_watch_on_what_never_changes_does_not_fall_behind_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    store, loop, events, codes = MemoryStore(changes_max=10), Loop(), list[bytes](), list[int]()
    transport = InProcessTransport(Api(store).server, loop.calls.append)
    transport.watch("secrets", events.append)
    loop.run()
    for i in range(30):
        transport.submit(create(f"c{i}"), lambda r: codes.append(r.code))
        loop.run()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    transport.submit(Request("create", "secrets", "default", "s", orjson.dumps(secret)), lambda r: codes.append(r.code))
    monkeypatch.setattr(Server, "watch", lambda self, request: pytest.fail("the watch was opened anew"))
    loop.run()
    assert set(codes) == {201}
    assert [orjson.loads(e)["type"] for e in events] == ["ADDED"]


def test_watches_of_one_resource_hear_the_same_bytes() -> None:
    api, loop = Api(), Loop()
    heard: list[list[bytes]] = [[], [], []]
    first, second = (InProcessTransport(api.server, loop.calls.append) for _ in range(2))
    first.watch("configmaps", heard[0].append)
    first.watch("configmaps", heard[1].append)
    second.watch("configmaps", heard[2].append)
    loop.run()
    first.submit(create("a"), lambda r: None)
    loop.run()
    assert [len(h) for h in heard] == [1, 1, 1]
    assert heard[0][0] is heard[1][0] is heard[2][0]

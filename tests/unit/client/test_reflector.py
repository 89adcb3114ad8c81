"""The reflector against an API server that breaks in every way a real one does. Time is virtual."""

from itertools import pairwise

import orjson
import pytest

from apportion.base import Rng
from apportion.client.reflector import Reflector
from apportion.client.source import Reply
from unit.client.cache_checker import Cache
from unit.client.fake_source import FakeApi, Stream, error_line


class Rig:
    """A reflector of a fake server."""

    def __init__(self, *names: str, seed: int = 0) -> None:
        self.api = FakeApi()
        for name in names:
            self.api.put(name)
        self.cache = Cache()
        self.synced: list[int] = []
        self.reflector = Reflector(
            "pods",
            self.api,
            self.api.loop,
            self.api.clock,
            Rng(seed),
            self.cache,
            lambda: self.synced.append(len(self.cache.objects)),
        )
        self.api.loop.call_soon(self.reflector.start)

    def run(self, seconds: float = 0.0) -> list[tuple[str, str]]:
        self.api.run(seconds)
        return self.cache.take()

    @property
    def stream(self) -> Stream:
        (stream,) = self.api.streams
        return stream

    def is_equal(self) -> bool:
        metas = {n: t["metadata"] for n, t in self.api.objects.items()}
        return self.cache.stamps() == {n: (m["uid"], m["resourceVersion"]) for n, m in metas.items()}


def test_the_list_comes_in_pages_and_the_watch_goes_on_from_it() -> None:
    rig = Rig("a", "b", "c")
    rig.api.page_max = 2
    assert rig.run() == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert rig.api.calls == ["list 500", "list 500 2@103", "watch 103"]
    assert rig.synced == [3]
    rig.api.put("b")
    rig.api.delete("a")
    assert rig.run() == [("MODIFIED", "b"), ("DELETED", "a")]


def test_items_of_a_list_look_like_objects_of_a_watch() -> None:
    rig = Rig("a")
    rig.run()
    (tree,) = rig.cache.objects.values()
    assert list(tree)[:2] == ["kind", "apiVersion"] and tree["kind"] == "Pod"


def test_a_cut_watch_goes_on_at_once_and_tells_nothing_twice() -> None:
    rig = Rig("a")
    rig.run()
    rig.api.put("b")
    rig.run()
    rig.stream.cut()
    rig.api.put("c")
    assert rig.run() == [("ADDED", "c")]
    assert rig.api.calls[-1] == "watch 102"


def test_a_bookmark_counts_as_seen() -> None:
    rig = Rig("a")
    rig.run()
    rig.api.version = 500
    rig.stream.bookmark()
    rig.run()
    rig.stream.cut()
    rig.run()
    assert rig.api.calls[-1] == "watch 500"


def test_what_was_seen_already_is_dropped() -> None:
    rig = Rig("a")
    rig.run()
    rig.api.put("b")
    rig.api.delete("b")
    rig.run()
    for _, line in rig.api.history:
        rig.stream.send(line)
    assert rig.run() == []


@pytest.mark.parametrize("how", ["code", "event", "from another life"])
def test_a_lost_history_becomes_a_difference(how: str) -> None:
    rig = Rig("gone", "kept", "changed", "anew")
    rig.run()
    stream = rig.stream
    rig.api.streams.clear()  # what follows is not told
    rig.api.delete("gone")
    rig.api.put("changed")
    rig.api.delete("anew")
    rig.api.put("anew", uid="another")
    rig.api.put("new")
    rig.api.compact()
    if how == "code":
        rig.api.watch_faults.append(Reply(410, message="Gone"))
        stream.cut()
    elif how == "event":
        stream.send(error_line(410, "too old resource version"))
    else:
        rig.api.watch_faults.append(Reply(504, message="Timeout: Too large resource version: 9, current: 3"))
        stream.cut()
    assert rig.run(5) == [
        ("DELETED", "anew"),
        ("DELETED", "gone"),
        ("ADDED", "anew"),
        ("MODIFIED", "changed"),
        ("ADDED", "new"),
    ]
    assert rig.is_equal() and rig.synced == [4]


def test_a_deletion_that_was_missed_has_what_is_needed_to_know_the_object() -> None:
    rig = Rig("a")
    frames: list[bytes] = []
    rig.reflector._sink = frames.append
    rig.run()
    stream = rig.stream
    rig.api.streams.clear()
    rig.api.delete("a")
    rig.api.compact()
    stream.cut()
    rig.run(5)
    meta = {"name": "a", "uid": "u-a", "resourceVersion": "101", "namespace": "d"}
    assert orjson.loads(frames[-1]) == {"type": "DELETED", "object": {"metadata": meta}}


def test_lists_that_fail_are_tried_again_ever_later_and_what_is_known_stays() -> None:
    rig = Rig("a")
    rig.run()
    rig.api.compact()
    rig.api.version += 1
    rig.api.compact()
    rig.api.list_faults += [Reply(500, message="no leader")] * 20
    rig.stream.cut()
    assert rig.run(3600) == []
    assert rig.is_equal()
    times = [i for i, call in enumerate(rig.api.calls) if call.startswith("list")]
    assert len(times) == 22  # the first one, twenty failures, and the one that worked
    rig.api.put("b")
    assert rig.run() == [("ADDED", "b")]


def test_delays_grow_from_less_than_two_seconds_to_at_most_a_minute() -> None:
    rig = Rig()
    rig.api.list_faults += [Reply(503)] * 40
    started: list[float] = []
    for _ in range(40 * 60 * 10):
        before = len(rig.api.calls)
        rig.run(0.1)
        if len(rig.api.calls) > before:
            started.append(rig.api.clock.now())
        if not rig.api.list_faults:
            break
    delays = [b - a for a, b in pairwise(started)]
    assert 0.7 < delays[0] < 1.8 and all(29 < d < 61 for d in delays[8:])
    assert len({round(d) for d in delays[8:]}) > 5  # by chance, so that many clients do not come at once


def test_retry_after_is_honoured() -> None:
    rig = Rig("a")
    rig.api.list_faults.append(Reply(429, retry_after_s=20))
    assert rig.run(19.9) == []
    assert rig.run(0.2) == [("ADDED", "a")]


def test_a_list_whose_pages_took_too_long_is_asked_for_in_one_go() -> None:
    rig = Rig("a", "b", "c")
    rig.api.page_max = 1

    def lose_history() -> None:
        rig.api.put("b", uid="another")
        rig.api.compact()

    rig.api.loop.call_soon(lose_history)  # after the first page was made, before the second is asked for
    rig.run(5)
    assert [c for c in rig.api.calls if c.startswith("list")] == ["list 500", "list 500 1@103", "list 0"]
    assert rig.is_equal() and rig.synced == [3]


def test_a_list_older_than_what_was_seen_is_refused_until_the_server_insists() -> None:
    rig = Rig("a", "b")
    rig.run()
    rig.api.objects.pop("b")
    rig.api.history.clear()
    rig.api.version = rig.api.compacted = 50
    rig.api.watch_faults.append(Reply(410))
    rig.stream.cut()
    assert rig.run(4) == []
    assert rig.run(60) == [("DELETED", "b")]
    assert rig.reflector.version == "50"


def test_a_resource_that_is_not_served_is_empty() -> None:
    rig = Rig("a")
    rig.api.list_faults += [Reply(404)] * 3
    assert rig.run() == [] and rig.synced == [0]
    assert rig.run(60) == [("ADDED", "a")]
    assert rig.synced == [0]


def test_a_watch_that_does_not_end_is_ended() -> None:
    rig = Rig("a")
    rig.run()
    rig.run(700)
    assert rig.api.calls[1:] == ["watch 101", "watch 101"] and len(rig.api.streams) == 1


@pytest.mark.parametrize(
    "line", [b"{\n", b"\xff\xfe\n", b'{"type":"ADDED","object":{}}\n', b'{"type":"NEW","object":{"metadata":{}}}\n']
)
def test_a_line_that_means_nothing_ends_the_watch_and_nothing_is_lost(line: bytes) -> None:
    rig = Rig("a")
    rig.run()
    rig.api.put("b")
    rig.run()
    rig.stream.send(line)
    rig.api.put("c")
    assert rig.run(5) == [("ADDED", "c")]
    assert rig.api.calls[-1] == "watch 102"
    rig.stream.send(line)  # and once more, before anything else came
    rig.run()
    rig.stream.send(line)
    rig.run(5)
    assert rig.api.calls[-2:] == ["list 500", "watch 103"]


def test_half_a_line_is_never_told() -> None:
    rig = Rig("a")
    rig.run()
    rig.api.chunk = 7
    rig.stream.send(b'{"type":"ADDED","object":{"metadata":{"name":"x","uid":"u","resourceVersion":"999"}}}')
    rig.stream.cut()
    assert rig.run(5) == []
    rig.api.put("b")
    assert rig.run() == [("ADDED", "b")]


def test_closed_is_closed() -> None:
    rig = Rig("a")
    rig.run()
    rig.reflector.close()
    rig.api.put("b")
    assert rig.run(1000) == [] and rig.api.streams == []
    early = Rig("a")
    early.api.loop.call_soon(early.reflector.close)
    assert early.run(10) == [] and early.api.calls == ["list 500"]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_breaks_the_picture_is_right_in_the_end(seed: int) -> None:
    """Over all seeds 3,500 cuts, 700 half lines and 700 lost histories; `Cache` checks every event."""
    rng = Rng(seed)
    rig = Rig("a", "b", "c", seed=seed)
    api = rig.api
    for step in range(400):
        name = f"n{rng.below(12)}"
        if name in api.objects and rng.below(3) == 0:
            api.delete(name)
        else:
            api.put(name, uid=api.objects.get(name, {}).get("metadata", {}).get("uid", f"u{step}"))
        _break(rng, rig)
        api.run(rng.below(4) * 1.5)
    api.list_faults.clear()
    api.watch_faults.clear()
    api.run(200)
    assert rig.is_equal() and api.streams and rig.reflector.version == str(api.version)


def _break(rng: Rng, rig: Rig) -> None:
    api, dice = rig.api, rng.below(16)
    api.chunk = 1 + rng.below(300)
    api.page_max = 1 + rng.below(5)
    if dice == 0 and api.streams:
        api.streams[0].send(api.history[-1][1][: 1 + rng.below(40)] if api.history else b"{")
    if dice < 5 and api.streams:
        api.streams[0].cut()
    elif dice == 5:
        api.compact()
    elif dice == 6 and not api.watch_faults:
        api.watch_faults.append(Reply((410, 429, 500, 503)[rng.below(4)], message="fault"))
    elif dice == 7 and not api.list_faults:
        api.list_faults.append(Reply((410, 429, 500, 504)[rng.below(4)], message="fault"))
    elif dice == 8 and api.streams:
        api.streams[0].bookmark()
    elif dice == 9 and api.streams:
        for _, line in api.history[-5:]:
            api.streams[0].send(line)  # a proxy that repeats itself

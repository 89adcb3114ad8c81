"""The small parts: lines, lanes, paths, differences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion.base import InputError, LimitError
from apportion.client.difference import list_difference
from apportion.client.frames import read_event, read_page
from apportion.client.http.lanes import Lanes
from apportion.client.lines import Lines
from apportion.client.paths import find_path


@given(st.lists(st.binary(max_size=12)), st.lists(st.integers(0, 200), max_size=8))
def test_lines_are_the_same_however_the_stream_is_cut(chunks: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(chunks)
    lines = Lines()
    found, start = [], 0
    for cut in [*sorted(c for c in cuts if c < len(stream)), len(stream)]:
        found += lines.feed(stream[start:cut])
        start = cut
    assert found == [line for line in stream.split(b"\n")[:-1] if line.strip()]


def test_a_line_without_end_is_refused() -> None:
    lines = Lines(bytes_max=10)
    lines.feed(b"12345\n123456789")
    with pytest.raises(LimitError):
        lines.feed(b"ab")


def test_lanes_keep_the_order_of_one_lane_and_the_limit_of_all() -> None:
    lanes: Lanes[int] = Lanes(2)
    for lane, item in (("a", 1), ("a", 2), ("b", 3), (None, 4), (None, 5)):
        lanes.add(lane, item)
    assert [lanes.take(), lanes.take(), lanes.take()] == [("a", 1), ("b", 3), None]
    lanes.finish("b")
    assert lanes.take() == (None, 4) and len(lanes) == 2
    lanes.finish("a")
    assert lanes.take() == (None, 5)
    lanes.finish(None)
    lanes.finish(None)
    assert lanes.take() == ("a", 2)
    lanes.finish("a")
    assert lanes.take() is None and len(lanes) == 0 and not lanes._behind


def test_paths_have_the_group_and_the_version_that_is_preferred() -> None:
    assert find_path("pods", "d", "a/b", "status") == "/api/v1/namespaces/d/pods/a%2Fb/status"
    assert find_path("resourceclaims") == "/apis/resource.k8s.io/v1/resourceclaims"
    assert find_path("events", "d") == "/api/v1/namespaces/d/events"
    assert find_path("events.events.k8s.io", "d") == "/apis/events.k8s.io/v1/namespaces/d/events"
    assert find_path("nosuch") is None


def _object(uid: str, version: int) -> bytes:
    return b'{"metadata":{"uid":"%s","resourceVersion":"%d"}}' % (uid.encode(), version)


def test_a_difference_tells_deletions_first_and_a_new_object_under_an_old_name_as_both() -> None:
    before = {"kept": _object("k", 1), "gone": _object("g", 2), "changed": _object("c", 3), "anew": _object("o", 4)}
    now = {**before, "changed": _object("c", 5), "anew": _object("n", 6), "new": _object("x", 7)}
    del now["gone"]
    assert list(list_difference(before, now)) == [
        ("DELETED", before["gone"]),
        ("MODIFIED", now["changed"]),
        ("DELETED", before["anew"]),
        ("ADDED", now["anew"]),
        ("ADDED", now["new"]),
    ]


@given(st.binary(max_size=60))
def test_whatever_arrives_is_read_or_refused(data: bytes) -> None:
    for read in (read_event, read_page):
        with pytest.raises(InputError):
            read(data)

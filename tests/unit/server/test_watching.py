"""Watches as cursors: order, seams, selectors, and honest ends."""

import orjson

from apportion.store import MemoryStore
from unit.server.api_driver import MAPS, MERGE, Api, config_map, read_watch


def test_a_list_and_a_watch_from_it_show_each_change_once() -> None:
    api = Api()
    api.create(MAPS, config_map("a"))
    version = api.get(MAPS)["metadata"]["resourceVersion"]
    watch = api.watch(MAPS, f"resourceVersion={version}")
    api.create(MAPS, config_map("b"))
    api.call("DELETE", f"{MAPS}/a")
    assert read_watch(watch) == [("ADDED", "b"), ("DELETED", "a")]
    assert read_watch(watch) == []


def test_without_a_version_a_watch_opens_with_what_exists() -> None:
    api = Api()
    api.create(MAPS, config_map("a"))
    watch = api.watch(MAPS)
    assert read_watch(watch) == [("ADDED", "a")]
    api.create(MAPS, config_map("b"))
    assert read_watch(watch) == [("ADDED", "b")]


def test_leaving_and_entering_a_selection() -> None:
    api = Api()
    api.create(MAPS, config_map("a", {"x": "1"}))
    watch = api.watch(MAPS, "labelSelector=x%3D1")
    assert read_watch(watch) == [("ADDED", "a")]
    for value in ("2", "3", "1"):
        api.call("PATCH", f"{MAPS}/a", {"metadata": {"labels": {"x": value}}}, MERGE)
    assert read_watch(watch) == [("DELETED", "a"), ("ADDED", "a")]


def test_an_object_that_lost_its_only_label_is_a_deletion() -> None:
    api = Api()
    api.create(MAPS, config_map("a", {"foo": "bar"}))
    watch = api.watch(MAPS, "labelSelector=foo%3Dbar")
    watch.read()
    api.call("PATCH", f"{MAPS}/a", {"metadata": {"labels": None}}, MERGE)
    (event,) = (orjson.loads(f) for f in watch.read())
    assert event["type"] == "DELETED"
    assert event["object"]["metadata"]["resourceVersion"] == str(api.store.revision)


def test_one_namespace_does_not_see_another() -> None:
    api = Api()
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    watch = api.watch("/api/v1/namespaces/n/configmaps")
    everywhere = api.watch("/api/v1/configmaps")
    api.create(MAPS, config_map("a"))
    api.create("/api/v1/namespaces/n/configmaps", config_map("b"))
    assert read_watch(watch) == [("ADDED", "b")]
    assert read_watch(everywhere) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_deletion_carries_the_final_version() -> None:
    api = Api()
    api.create(MAPS, config_map("a", k="v"))
    watch = api.watch(MAPS)
    watch.read()
    api.call("DELETE", f"{MAPS}/a")
    (event,) = (orjson.loads(f) for f in watch.read())
    assert event["object"]["data"] == {"k": "v"}
    assert event["object"]["metadata"]["resourceVersion"] == str(api.store.revision)


def test_a_slow_watcher_is_told_that_it_missed_something() -> None:
    api = Api(MemoryStore(changes_max=20))
    watch = api.watch(MAPS)
    for i in range(101):
        api.create(MAPS, config_map(f"m{i}"))
    (event,) = (orjson.loads(f) for f in watch.read())
    assert (event["type"], event["object"]["code"], event["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.ended
    assert watch.read() == []
    assert len(api.get(MAPS)["items"]) == 101


def test_a_version_of_an_earlier_life_is_gone() -> None:
    api = Api(MemoryStore(first_revision=1_000_000))
    (event,) = (orjson.loads(f) for f in api.watch(MAPS, "resourceVersion=900000").read())
    assert event["object"]["code"] == 410
    code, status = api.call("GET", f"{MAPS}?resourceVersion=900000&resourceVersionMatch=Exact")
    assert (code, status["reason"]) == (410, "Expired")


def test_a_bookmark_says_up_to_where_all_was_delivered() -> None:
    api = Api()
    watch = api.watch(MAPS, "allowWatchBookmarks=true")
    api.create(MAPS, config_map("a"))
    watch.read()
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    watch.read()
    bookmark = orjson.loads(watch.bookmark())
    assert (bookmark["type"], bookmark["object"]["metadata"]) == (
        "BOOKMARK",
        {"resourceVersion": str(api.store.revision)},
    )


def test_pages_show_one_world_whatever_happens_between_them() -> None:
    api = Api()
    for name in "abcd":
        api.create(MAPS, config_map(name))
    first = api.get(f"{MAPS}?limit=2")
    api.call("DELETE", f"{MAPS}/c")
    api.create(MAPS, config_map("bb"))
    second = api.get(f"{MAPS}?limit=2&continue={first['metadata']['continue']}")
    names = [o["metadata"]["name"] for o in first["items"] + second["items"]]
    assert names == ["a", "b", "c", "d"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]

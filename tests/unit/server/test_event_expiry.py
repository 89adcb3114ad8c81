"""Events go after an hour without news; a watch hears of it."""

import pytest

from apportion.server import event_expiry
from unit.server.api_driver import MERGE, Api, Tree, config_map, read_watch

EVENTS = "/api/v1/namespaces/default/events"


def event(name: str) -> Tree:
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "p"}
    body = {"involvedObject": about, "reason": "Tested", "message": "m", "type": "Normal"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, **body}


def wait(api: Api, seconds: float) -> None:
    api.clock.advance_to(api.clock.now() + seconds)


def names(api: Api) -> list[str]:
    return [e["metadata"]["name"] for e in api.get(EVENTS)["items"]]


def test_what_was_not_written_for_an_hour_goes_with_the_next_write() -> None:
    api = Api()
    api.create("/api/v1/namespaces/default/configmaps", config_map("stays"))
    watch = api.watch(EVENTS)
    for name in ("old", "renewed"):
        api.create(EVENTS, event(name))
    wait(api, 1800)
    assert api.call("PATCH", f"{EVENTS}/renewed", {"count": 2}, MERGE)[0] == 200
    wait(api, 1801)
    api.create(EVENTS, event("new"))
    assert names(api) == ["new", "renewed"]
    assert ("DELETED", "old") in read_watch(watch)
    assert api.call("GET", "/api/v1/namespaces/default/configmaps/stays")[0] == 200


def test_one_that_was_deleted_or_belongs_to_an_earlier_life_does_no_harm() -> None:
    api = Api()
    for name in ("deleted", "left"):
        api.create(EVENTS, event(name))
    assert api.call("DELETE", f"{EVENTS}/deleted")[0] == 200
    wait(api, 3599)
    again = Api(api.store)
    wait(again, 3599)
    again.create(EVENTS, event("new"))
    assert names(again) == ["left", "new"]
    wait(again, 2)
    again.create(EVENTS, event("last"))
    assert names(again) == ["last", "new"]


def test_the_oldest_go_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_expiry, "EVENTS_MAX", 3)
    api = Api()
    for i in range(5):
        api.create(EVENTS, event(f"e{i}"))
    assert names(api) == ["e2", "e3", "e4"]

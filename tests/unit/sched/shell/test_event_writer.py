"""Events that happen again and again are few objects and few requests."""

from typing import Any

import orjson
import pytest

from apportion.base import VirtualClock
from apportion.client import OnDone, OnSynced, Request, Response, Transport, WatchHandle, WatchSink
from apportion.sched.framework import EmitEvent, PodRef
from apportion.sched.shell import event_writer
from apportion.sched.shell.event_writer import FINISH_S, EventWriter

START_S = 1_767_225_600.0


class Api(Transport):
    """Keeps requests, and answers each at once."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, Any]] = []
        self.codes: list[int] = []  # of the next answers; after them all is well

    def submit(self, request: Request, on_done: OnDone) -> None:
        body = orjson.loads(request.body)
        self.sent.append((request.verb, request.name or body["metadata"]["name"], body))
        on_done(Response(self.codes.pop(0) if self.codes else 200))

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class Rig:
    def __init__(self) -> None:
        self.clock = VirtualClock(START_S)
        self.api = Api()
        self.writer = EventWriter(self.api, self.clock)
        self.answers: list[int] = []

    def fail(self, pod: str = "p", version: str = "1", note: str = "no room") -> None:
        self.emit(EmitEvent(PodRef("ns", pod, f"uid-{pod}", version), "s", "Warning", "Failed", "Scheduling", note))

    def emit(self, command: EmitEvent) -> None:
        self.writer.write(command, lambda response: self.answers.append(response.code))

    def wait(self, seconds: float) -> None:
        self.clock.advance_to(self.clock.now() + seconds)
        self.writer.work()

    def verbs(self) -> list[str]:
        return [verb for verb, _, _ in self.api.sent]


def test_an_event_names_its_pod_its_scheduler_and_why() -> None:
    rig = Rig()
    pod, other = PodRef("ns", "victim", "uid-v", "7"), PodRef("ns", "p", "uid-p", "9")
    rig.emit(EmitEvent(pod, "mine", "Normal", "Preempted", "Preempting", "gone", other))
    ((_, name, body),) = rig.api.sent
    assert name == f"victim.{int(START_S) * 10**9:x}"
    assert (body["reportingController"], body["note"], body["eventTime"]) == (
        "mine", "gone", "2026-01-01T00:00:00.000000Z",
    )  # fmt: skip
    assert body["regarding"] == {
        "kind": "Pod", "namespace": "ns", "name": "victim", "uid": "uid-v", "apiVersion": "v1", "resourceVersion": "7",
    }  # fmt: skip
    assert body["related"]["name"] == "p" and "series" not in body


def test_the_second_time_makes_a_series_and_later_ones_are_counted() -> None:
    rig = Rig()
    for note in ("one", "two", "three", "four"):
        rig.fail(note=note)
    assert rig.verbs() == ["create", "patch"]
    assert rig.api.sent[1][1] == rig.api.sent[0][1]
    assert rig.api.sent[1][2] == {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}
    assert rig.answers == [200] * 4


def test_another_version_of_the_pod_and_another_pod_are_other_events() -> None:
    rig = Rig()
    rig.fail()
    rig.fail(version="2")
    rig.fail("q")
    assert rig.verbs() == ["create"] * 3
    assert len({name for _, name, _ in rig.api.sent}) == 3


def test_a_series_that_has_ended_is_written_a_last_time() -> None:
    rig = Rig()
    assert rig.writer.next_wakeup_s() is None
    for _ in range(5):
        rig.fail()
    assert rig.writer.next_wakeup_s() == START_S + FINISH_S
    rig.wait(FINISH_S)  # it happened less than six minutes ago
    assert rig.verbs() == ["create", "patch"]
    rig.wait(FINISH_S)
    assert rig.verbs() == ["create", "patch", "patch"]
    assert rig.api.sent[2][2]["series"]["count"] == 5
    assert rig.writer.next_wakeup_s() is None
    rig.fail()
    assert rig.verbs()[3:] == ["create"]


def test_a_series_that_goes_on_is_written_every_half_hour() -> None:
    rig = Rig()
    for _ in range(20):
        rig.fail()
        rig.wait(100)
    counts = [body["series"]["count"] for verb, _, body in rig.api.sent if verb == "patch"]
    assert counts == [2, 18]


def test_a_series_whose_event_has_expired_is_made_again() -> None:
    rig = Rig()
    rig.fail()
    rig.api.codes = [404]
    rig.fail()
    assert rig.verbs() == ["create", "patch", "create"]
    assert rig.api.sent[2][2]["series"]["count"] == 2
    assert rig.answers == [200, 200]


def test_a_pod_is_scheduled_once_and_not_remembered() -> None:
    rig = Rig()
    for i in range(3):
        rig.emit(EmitEvent(PodRef("ns", "p", f"{i}", "1"), "s", "Normal", "Scheduled", "Binding", "there"))
    assert rig.verbs() == ["create"] * 3
    assert rig.writer._known == {}


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_writer, "KNOWN_MAX", 3)
    rig = Rig()
    for name in "abcd":
        rig.fail(name)
        rig.fail(name)
    assert len(rig.writer._known) == len(rig.writer._repeated) == 3
    rig.fail("a")
    assert rig.verbs()[-1] == "create"

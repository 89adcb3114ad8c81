"""Events in the API: one that happens again is counted in the object that is there, not written anew.

Behaviour: client-go/tools/events, through which kube-scheduler writes. The same event is one with the same type, reason
and action about the same version of the same pod; its second time makes it a series, and later times are only counted.
Every six minutes series that have ended are written a last time, and every thirty minutes all of them, so that the API
keeps them.
"""

from typing import Final

import msgspec

from apportion.base import Clock
from apportion.client import EVENTS, MERGE_PATCH, OnDone, Request, Response, Transport, format_micro_time
from apportion.sched.framework import EmitEvent, PodRef

FINISH_S: Final = 360.0
REFRESH_TICKS: Final = 5  # of the six minutes
KNOWN_MAX: Final = 20_000  # the oldest is forgotten first
_NAME_MAX: Final = 253 - 17  # what the time behind it leaves of a pod's name
_ONCE: Final = frozenset({"Scheduled", "Preempted"})  # cannot happen again to the same pod
_NOT_FOUND: Final = 404
_ENCODE: Final = msgspec.json.Encoder().encode
_Key = tuple[str, str, str, str, str]


class _Times(msgspec.Struct, frozen=True, rename="camel"):
    count: int
    last_observed_time: str


class _Event(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    api_version: str
    kind: str
    metadata: dict[str, str]
    event_time: str
    type: str
    reason: str
    action: str
    note: str
    reporting_controller: str
    reporting_instance: str
    regarding: PodRef
    related: PodRef | None = None
    series: _Times | None = None


class _Series:
    """An event that may happen again."""

    __slots__ = ("command", "count", "last_s", "name")

    def __init__(self, command: EmitEvent, name: str, now_s: float) -> None:
        self.command = command
        self.name = name
        self.count = 1
        self.last_s = now_s


class EventWriter:
    """Writes the events of one scheduler. One that cannot be written is lost, as upstream."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        self._transport = transport
        self._clock = clock
        self._known: dict[_Key, _Series] = {}
        self._repeated: dict[_Key, _Series] = {}  # those of them that happened more than once
        self._last_ns = 0
        self._named_s = -1.0  # when the last name was made
        self._formatted = (-1.0, "")  # a time in both forms
        self._ticks = 0
        self._tick_s = clock.now() + FINISH_S

    def write(self, command: EmitEvent, on_done: OnDone) -> None:
        """Record an event; ``on_done`` is called at once when it is only counted."""
        now_s = self._clock.now()
        if command.reason in _ONCE:
            self._create(command, self._make_name(command.pod.name, now_s), now_s, on_done)
            return
        key = (command.pod.uid, command.pod.resource_version, command.type, command.reason, command.action)
        known = self._known.get(key)
        if known is None:
            self._begin(key, command, now_s, on_done)
            return
        known.count += 1
        known.last_s = now_s
        if known.count == 2:
            self._repeated[key] = known
            self._update(known, on_done)
        else:
            on_done(Response(200))

    def next_wakeup_s(self) -> float | None:
        """Return when `work` has something to write, None if there is nothing."""
        return self._tick_s if self._repeated else None

    def work(self) -> None:
        """Write what is due, and forget what has ended."""
        now_s = self._clock.now()
        if now_s < self._tick_s:
            return
        missed = int((now_s - self._tick_s) // FINISH_S)
        is_refresh = (self._ticks + missed + 1) // REFRESH_TICKS > self._ticks // REFRESH_TICKS
        self._ticks += missed + 1
        self._tick_s += (missed + 1) * FINISH_S
        for key, series in list(self._known.items()):
            has_ended = series.last_s < now_s - FINISH_S
            if series.count > 1 and (has_ended or is_refresh):
                self._update(series, _ignore)
            if has_ended:
                self._forget(key)

    def _forget(self, key: _Key) -> None:
        del self._known[key]
        self._repeated.pop(key, None)

    def _begin(self, key: _Key, command: EmitEvent, now_s: float, on_done: OnDone) -> None:
        if len(self._known) >= KNOWN_MAX:
            self._forget(next(iter(self._known)))
        name = self._make_name(command.pod.name, now_s)
        self._known[key] = _Series(command, name, now_s)
        self._create(command, name, now_s, on_done)

    def _make_name(self, pod: str, now_s: float) -> str:
        """Return the name that upstream gives an event: the pod's, and the time in nanoseconds; no two are the same."""
        if now_s != self._named_s:
            self._named_s = now_s
            self._last_ns = max(self._last_ns, round(now_s * 1e6) * 1000 - 1)
        self._last_ns += 1
        return f"{pod[:_NAME_MAX].rstrip('-.')}.{self._last_ns:x}"

    def _create(self, command: EmitEvent, name: str, now_s: float, on_done: OnDone, count: int = 1) -> None:
        now = self._format(now_s)
        c, series = command, _Times(count, now) if count > 1 else None
        meta = {"namespace": c.pod.namespace, "name": name}
        what = (c.type, c.reason, c.action, c.note)
        event = _Event("events.k8s.io/v1", "Event", meta, now, *what, c.reporter, c.reporter, c.pod, c.related, series)
        self._transport.submit(Request("create", EVENTS, c.pod.namespace, "", _ENCODE(event)), on_done)

    def _format(self, now_s: float) -> str:
        if self._formatted[0] != now_s:
            self._formatted = (now_s, format_micro_time(now_s))
        return self._formatted[1]

    def _update(self, series: _Series, on_done: OnDone) -> None:
        """Write how often an event has happened; one that has expired meanwhile is made again."""
        command, count = series.command, series.count
        body = _ENCODE({"series": _Times(count, self._format(series.last_s))})

        def answered(response: Response) -> None:
            if response.code == _NOT_FOUND:
                self._create(command, series.name, series.last_s, on_done, count)
            else:
                on_done(response)

        request = Request("patch", EVENTS, command.pod.namespace, series.name, body, content_type=MERGE_PATCH)
        self._transport.submit(request, answered)


def _ignore(response: Response) -> None:
    """Nothing depends on it."""

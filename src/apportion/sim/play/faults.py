"""Faults on request: calls of the API that go wrong, and plugins that fail."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from apportion.base import InputError
from apportion.client import OnDone, OnSynced, Request, Response, Transport, WatchHandle, WatchSink
from apportion.sched.cycle import Scheduler
from apportion.server import InProcessTransport, Server, get_resource
from apportion.sim.play.scenario import Fault
from apportion.sim.virtual_loop import VirtualLoop

# after which a client gives up on an answer that never arrives, as over HTTP
LOST_AFTER_S: Final = 60.0
_ANSWERS: Final = {
    "conflict": Response(409, message="the object has been modified; please apply your changes to the latest version"),
    "timeout": Response(504, message="the request did not end in time"),
    "error": Response(500, message="Internal error occurred: a fault of the scenario"),
}
# the methods behind the extension points
_METHODS: Final = {
    "PreEnqueue": "pre_enqueue", "PreFilter": "pre_filter", "Filter": "pre_filter", "PostFilter": "post_filter",
    "PreScore": "pre_score", "Score": "pre_score", "Reserve": "reserve", "PreBind": "pre_bind",
}  # fmt: skip


@dataclass(slots=True)
class _Rule:
    fault: Fault
    left: int


class FaultError(Exception):
    """What a plugin raises because the scenario wants it to."""


class Faults:
    """The faults that are still to come, oldest first."""

    def __init__(self) -> None:
        self._calls: list[_Rule] = []
        self._plugins: list[_Rule] = []
        self.late: list[float] = []  # when clients give up on answers that were lost; in order

    def count_left(self) -> int:
        """Return how many faults have not happened."""
        return sum(rule.left for rule in (*self._calls, *self._plugins))

    def add(self, fault: Fault, scheduler: Scheduler) -> None:
        """Have the next matching calls fail. Raises InputError when nothing could ever match."""
        rule = _Rule(fault, fault.times)
        if fault.on.plugin:
            self._plugins.append(rule)
            _install(rule, scheduler)
        else:
            self._calls.append(rule)

    def install(self, scheduler: Scheduler) -> None:
        """Have a scheduler that was started again fail where the last one would have."""
        for rule in self._plugins:
            if rule.left:
                _install(rule, scheduler)

    def take(self, request: Request) -> str | None:
        """Return the answer that a request gets instead of its own, None for its own."""
        for rule in self._calls:
            if rule.left and _matches(rule.fault, request):
                rule.left -= 1
                return rule.fault.answer
        return None


def _matches(fault: Fault, request: Request) -> bool:
    on = fault.on
    kind = get_resource(request.resource).kind.name.lower()
    is_binding = request.subresource == "binding"
    kinds = {kind, f"{kind}/{request.subresource}".rstrip("/")}
    if is_binding:  # not a change of the pod itself, unless it is called by its own verb
        kinds = {"binding", f"{kind}/binding", *([kind] if on.verb == "bind" else [])}
    verb = "bind" if is_binding and on.verb == "bind" else request.verb
    has_name = on.name is None or on.name == (request.name or _name_in(request.body))
    return (on.verb in (None, verb)) and (on.kind is None or on.kind.lower() in kinds) and has_name


def _name_in(body: bytes) -> str:
    meta = orjson.loads(body).get("metadata", {}) if body else {}
    return str(meta.get("name", ""))


def _install(rule: _Rule, scheduler: Scheduler) -> None:
    on = rule.fault.on
    method = _METHODS.get(on.point or "")
    if method is None:
        raise InputError(f"fault: point {on.point!r} is not one of {', '.join(_METHODS)}")
    found = [p for profile in scheduler.profiles.values() for p in profile.all_plugins() if p.name == on.plugin]
    plugins: dict[int, Any] = {id(p): p for p in found if hasattr(p, method)}
    if not plugins:
        raise InputError(f"fault: no plugin {on.plugin} with the point {on.point} is in use")
    for plugin in plugins.values():
        setattr(plugin, method, _failing(getattr(plugin, method), rule))
    scheduler.state.forget_plans()


def _failing(method: Callable[..., Any], rule: _Rule) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        if rule.left:
            rule.left -= 1
            raise FaultError(f"{rule.fault.answer} (a fault of the scenario)")
        return method(*args)

    return call


class FaultyTransport(Transport):
    """The connection of a component of the scenario's world; its server can be started again."""

    def __init__(self, inner: InProcessTransport, faults: Faults, loop: VirtualLoop) -> None:
        self._inner = inner
        self._faults = faults
        self._loop = loop
        self.is_closed = False

    def submit(self, request: Request, on_done: OnDone) -> None:
        answer = self._faults.take(request)
        if answer is None:
            self._inner.submit(request, on_done)
        elif answer == "lost":
            self._inner.submit(request, lambda response: None)
            self._faults.late.append(self._loop.clock.now() + LOST_AFTER_S)
            self._loop.call_later(LOST_AFTER_S, lambda: self._give_up(on_done))
        else:
            self._loop.call_soon(lambda: self._answer(on_done, _ANSWERS[answer]))

    def _give_up(self, on_done: OnDone) -> None:
        self._faults.late.pop(0)
        self._answer(on_done, Response(504, message="no answer arrived"))

    def _answer(self, on_done: OnDone, response: Response) -> None:
        if not self.is_closed:
            on_done(response)

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        return self._inner.watch(resource, sink, on_synced)

    def reconnect(self, server: Server) -> None:
        """Go on with a server that was started again."""
        self._inner.reconnect(server)

    def close(self) -> None:
        self.is_closed = True
        self._inner.close()

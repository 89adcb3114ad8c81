"""The shell: feeds what the API says into the scheduler, and carries out what the scheduler decides."""

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
from msgspec import Raw

from apportion.api.core import (
    Namespace,
    Node,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)
from apportion.api.resource import DeviceClass, DeviceTaintRule, ResourceSlice
from apportion.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from apportion.api.view import ObjectMeta, View
from apportion.base import Clock
from apportion.client import Request, Response, Transport, Watches, format_micro_time
from apportion.sched.cycle import EventHandlers, Scheduler
from apportion.sched.framework import CallExtender, Command, EmitEvent, Outcome
from apportion.sched.shell.event_writer import EventWriter
from apportion.sched.shell.extender_calls import BlockingCalls, ExtenderCalls, WholeObjects
from apportion.sched.shell.requests import request_of
from apportion.sched.shell.settling import Settling, must_settle
from apportion.sched.state import PodHead

_log = logging.getLogger(__name__)


class _Frame(msgspec.Struct, gc=False):
    type: str
    object: Raw


class _PodFrame(msgspec.Struct, gc=False):
    """A watch frame of a pod, with as much of the pod as is read before its template is known."""

    type: str
    object: PodHead


class _Named(View):
    """What is certain of a deleted object: a deletion that a watch missed has no more than that."""

    metadata: ObjectMeta = ObjectMeta()


class _Uid(msgspec.Struct, frozen=True, gc=False):
    uid: str = ""


class _Gone(msgspec.Struct, gc=False):
    metadata: _Uid = _Uid()


class _GoneFrame(msgspec.Struct, gc=False):
    """As much of a deleted pod as is read."""

    object: _Gone


_FRAME: Final = msgspec.json.Decoder(_Frame).decode
_POD_FRAME: Final = msgspec.json.Decoder(_PodFrame).decode
_DELETED: Final = b'{"type":"DELETED"'
_GONE: Final = msgspec.json.Decoder(_GoneFrame).decode
_NAMED: Final = msgspec.json.Decoder(_Named).decode
_OTHER: Final[dict[str, tuple[str, type[View]]]] = {
    "services": ("Service", Service),
    "replicationcontrollers": ("ReplicationController", ReplicationController),
    "replicasets": ("ReplicaSet", ReplicaSet),
    "statefulsets": ("StatefulSet", StatefulSet),
    "poddisruptionbudgets": ("PodDisruptionBudget", PodDisruptionBudget),
    "storageclasses": ("StorageClass", StorageClass),
    "csidrivers": ("CSIDriver", CSIDriver),
    "csinodes": ("CSINode", CSINode),
    "csistoragecapacities": ("CSIStorageCapacity", CSIStorageCapacity),
    "persistentvolumes": ("PersistentVolume", PersistentVolume),
    "persistentvolumeclaims": ("PersistentVolumeClaim", PersistentVolumeClaim),
    "volumeattachments": ("VolumeAttachment", VolumeAttachment),
}
# what a pod refers to is watched before the pods are, so that a pod never waits for what is there already
WATCHED: Final = (
    "namespaces",
    "nodes",
    *_OTHER,
    "deviceclasses",
    "resourceslices",
    "devicetaintrules",
    "resourceclaims",
    "pods",
)


class Shell:
    """Connects one scheduler to one transport."""

    def __init__(
        self, scheduler: Scheduler, transport: Transport, clock: Clock, extender_calls: ExtenderCalls | None = None
    ) -> None:
        """``extender_calls`` carries out calls to HTTP extenders; without it they are waited for."""
        self._scheduler = scheduler
        self._meter = None if scheduler.recorder is None else scheduler.recorder.api
        self._extender_calls = extender_calls or BlockingCalls()
        self._whole = WholeObjects() if scheduler.extenders else None
        self._held: deque[Callable[[], None]] = deque()  # what arrived while an extender was being asked
        self._transport = Watches(transport)
        self._api = transport
        self._clock = clock
        self._handlers = EventHandlers(scheduler)
        self._settling = Settling(transport, clock)
        self._events = EventWriter(transport, clock)

    # ---- what the API says --------------------------------------------------------------------------------

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the start is known; before that no pod may be judged."""
        return self._transport.has_synced

    def start(self) -> None:
        """Watch everything the scheduler reads."""
        sinks = self._sinks()
        if self._meter is not None:
            sinks = {resource: self._meter.watch(resource, sink) for resource, sink in sinks.items()}
        for resource in WATCHED:
            self._transport.watch(resource, sinks[resource])

    def _sinks(self) -> dict[str, Callable[[bytes], None]]:
        handlers = self._handlers
        sinks: dict[str, Callable[[bytes], None]] = {
            "pods": self._on_pod,
            "resourceclaims": self._on_claim,
            "nodes": _view_sink(Node, handlers.node, handlers.node_gone),
            "namespaces": _view_sink(Namespace, handlers.namespace, handlers.namespace_gone),
            "resourceslices": _view_sink(ResourceSlice, handlers.resource_slice, handlers.resource_slice_gone),
            "deviceclasses": _view_sink(DeviceClass, handlers.device_class, handlers.device_class_gone),
            "devicetaintrules": _view_sink(
                DeviceTaintRule, handlers.device_taint_rule, handlers.device_taint_rule_gone
            ),
        }
        for resource, (kind, view) in _OTHER.items():
            sinks[resource] = partial(_on_other, handlers, kind, msgspec.json.Decoder(view).decode)
        if self._whole is None:
            return sinks
        return {resource: partial(self._on_frame, resource, sink) for resource, sink in sinks.items()}

    def _on_frame(self, resource: str, sink: Callable[[bytes], None], frame: bytes) -> None:
        """Keep whole objects for extenders, and hold everything back while one of them is being asked."""
        self._deliver(partial(self._take_frame, resource, sink, frame))

    def _take_frame(self, resource: str, sink: Callable[[bytes], None], frame: bytes) -> None:
        assert self._whole is not None
        if resource in ("pods", "nodes"):
            event = _FRAME(frame)
            tree = None if event.type == "DELETED" else bytes(event.object)
            meta = _NAMED(event.object).metadata
            if resource == "pods":
                self._whole.put_pod(meta.uid, tree)
            else:
                self._whole.put_node(meta.name, tree)
        sink(frame)

    def _deliver(self, step: Callable[[], None]) -> None:
        if self._scheduler.is_deciding:
            self._held.append(step)
        else:
            step()

    def _on_pod(self, frame: bytes) -> None:
        if frame.startswith(_DELETED):
            self._handlers.pod_gone(_GONE(frame).object.metadata.uid)
            return
        event = _POD_FRAME(frame)
        state, head = self._scheduler.state, event.object
        if event.type == "DELETED":  # laid out in another way
            self._handlers.pod_gone(head.metadata.uid)
            return
        uid = head.metadata.uid
        # one that is assumed on a node does not say what the API says
        known = state.find_confirmed(uid) if uid in state.pods else self._scheduler.pending.get(uid)
        pod = state.reader.from_head(head, known)
        if pod is known:
            self._handlers.pod_touched(pod)
        else:
            self._handlers.pod(pod)

    def _on_claim(self, frame: bytes) -> None:
        event = _FRAME(frame)
        if event.type == "DELETED":
            self._handlers.claim_gone(_NAMED(event.object).metadata.key)
        else:
            self._handlers.claim(self._scheduler.state.claims.read(event.object))

    # ---- what the scheduler decides -----------------------------------------------------------------------

    def send(self) -> int:
        """Carry out the commands that wait, and look after those whose answer was lost; returns how many waited."""
        outbox = self._scheduler.outbox
        now = format_micro_time(self._clock.now()) if outbox else ""
        sent = 0
        while outbox:
            number, command = outbox.popleft()
            if isinstance(command, CallExtender):
                self._call(number, command)
                continue
            sent += 1
            if isinstance(command, EmitEvent):
                self._record(number, command)
                continue
            request = request_of(command, now)
            if self._meter is not None:
                self._meter.sent(number, command)
            elif not self._scheduler.is_awaited(number):
                self._api.submit(request, _note_failure)
                continue
            self._api.submit(request, partial(self._on_answer, number, command, request))
        self._settling.work()
        self._events.work()
        return sent

    def _record(self, number: int, command: EmitEvent) -> None:
        if self._scheduler.is_awaited(number):
            self._events.write(command, partial(self._resume, number))
        else:
            self._events.write(command, _note_failure)

    def _call(self, number: int, command: CallExtender) -> None:
        assert self._whole is not None
        on_answer = partial(self._on_extender_answer, number, command)
        self._extender_calls.call(command, self._whole.encode(command), on_answer)

    def _on_extender_answer(self, number: int, command: CallExtender, response: Response) -> None:
        step = partial(self._scheduler.resume, number, Outcome(response.code, response.message, response.body))
        if command.action == "bind":
            self._deliver(step)
        else:
            step()  # this is what the decision waits for
        while self._held and not self._scheduler.is_deciding:
            self._held.popleft()()

    def next_wakeup_s(self) -> float | None:
        """Return when ``send`` has something to do although no command waits, None if never."""
        return self._settling.next_wakeup_s()

    def next_periodic_s(self) -> float | None:
        """Return when ``send`` has repeated events to write down, None if never."""
        return self._events.next_wakeup_s()

    def _on_answer(self, number: int, command: Command, request: Request, response: Response) -> None:
        if must_settle(command, response):
            self._settling.add(command, request, response, partial(self._resume, number))
        else:
            self._resume(number, response)

    def _resume(self, number: int, response: Response) -> None:
        outcome = Outcome(response.code, response.message, response.body)
        if self._meter is not None:
            self._meter.answered(number, outcome.is_ok)
        if self._scheduler.is_deciding:
            self._held.append(partial(self._scheduler.resume, number, outcome))
        else:
            self._scheduler.resume(number, outcome)


def _note_failure(response: Response) -> None:
    if not 200 <= response.code < 300:
        _log.warning("a command that nothing depends on failed: %s", response.message)


def _view_sink(view: type[View], changed: Callable[..., None], gone: Callable[[str], None]) -> Callable[[bytes], None]:
    decode = msgspec.json.Decoder(view).decode

    def sink(frame: bytes) -> None:
        event = _FRAME(frame)
        if event.type == "DELETED":
            gone(_NAMED(event.object).metadata.name)
        else:
            changed(decode(event.object))

    return sink


def _on_other(handlers: EventHandlers, kind: str, decode: Callable[[Raw], View], frame: bytes) -> None:
    event = _FRAME(frame)
    key = _NAMED(event.object).metadata.key
    handlers.other(kind, key, None if event.type == "DELETED" else decode(event.object))

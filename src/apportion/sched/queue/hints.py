"""Which plugin hears which event, and whether an event is a reason to try a rejected pod again."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, TypeAlias

from apportion.sched.queue.entity import QueuedPod
from apportion.sched.queue.events import ClusterEvent
from apportion.sched.queue.hint_meter import HintMeter


class Hint(Enum):
    """What a plugin thinks of an event, regarding one pod that it rejected."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


# (pod, old object, new object) -> Hint. The pod is the object that was handed to the queue; the others are
# what the event handler knows: None before an addition and after a deletion.
HintFn: TypeAlias = Callable[[Any, Any, Any], Hint]


# (old object, new object) -> the interests of the only pods that an event can help; None means any pod.
NarrowFn: TypeAlias = Callable[[Any, Any], tuple[str, ...] | None]


@dataclass(frozen=True, slots=True)
class Registration:
    """A plugin's wish to hear of an event; without a hint function the event is always a reason.

    ``narrow`` spares the hint function the pods for which it would say no: of the parked pods only those with one
    of the named interests are looked at. ``per_kind`` says that the function reads of the pod nothing but what all pods
    of its kind have in common (see ``SchedulingQueue``), so that of many equal pods only one is asked about.
    """

    plugin: str
    event: ClusterEvent
    hint: HintFn | None = None
    narrow: NarrowFn | None = None
    per_kind: bool = False


class Requeue(Enum):
    """Where an entity goes from the unschedulable pool, or from an attempt that failed."""

    SKIP = "skip"  # it stays there
    AFTER_BACKOFF = "after backoff"
    IMMEDIATELY = "immediately"


# Stands for "every event of interest" among the holders of a pod whose scheduler name nobody registered for.
ANY_EVENT: Final = ""
# Events come from constants in the code, so this many distinct ones mean that somebody makes them up as
# they go.
_AUDIENCES_MAX: Final = 4096


@dataclass(frozen=True, slots=True)
class Audience:
    """Who wants to hear of an event.

    ``registrations`` by scheduler name, in the order of the profile. A wildcard event concerns everybody.
    ``narrows`` has the plugins that can name the pods that an event may help, ``broad`` the others over all
    profiles, sorted, with ``ANY_EVENT``. ``particular`` are the plugins that have to be asked about each pod.
    """

    event: str  # its label
    is_wildcard: bool
    broad: tuple[str, ...]
    registrations: Mapping[str, tuple[Registration, ...]]
    narrows: Mapping[str, NarrowFn]
    particular: frozenset[str]

    def asks_per_kind(self, pod: QueuedPod[Any]) -> bool:
        """Return whether the answer is the same for all pods of a kind that the same plugins rejected."""
        asked = self.particular
        return not asked or (asked.isdisjoint(pod.unschedulable_plugins) and asked.isdisjoint(pod.pending_plugins))

    def __bool__(self) -> bool:
        return self.is_wildcard or len(self.broad) > 1 or bool(self.narrows)


class EventIndex:
    """All registrations, asked by event. The answer for an event is worked out once.

    Behaviour: ``isPodWorthRequeuing`` of backend/queue/scheduling_queue.go.
    """

    __slots__ = ("_audiences", "_registrations", "hint_faults", "meter")

    def __init__(self, registrations: Mapping[str, Sequence[Registration]]) -> None:
        self._registrations = {name: tuple(registrations[name]) for name in sorted(registrations)}
        self._audiences: dict[ClusterEvent, Audience] = {}
        self.hint_faults: Counter[str] = Counter()  # hint functions that raised, by plugin
        self.meter: HintMeter | None = None

    def get_audience(self, event: ClusterEvent) -> Audience:
        """Return who registered for an event; false when nobody did."""
        audience = self._audiences.get(event)
        if audience is None:
            if len(self._audiences) >= _AUDIENCES_MAX:
                self._audiences.clear()
            audience = self._audiences[event] = self._gather(event)
        return audience

    def get_labels(self, scheduler_name: str, plugins: frozenset[str]) -> list[str]:
        """Return the labels of the events for which these plugins of a profile registered, sorted."""
        registrations = self._registrations.get(scheduler_name, ())
        return sorted({r.event.label for r in registrations if r.plugin in plugins})

    def get_holders(self, pod: QueuedPod[Any]) -> tuple[str, ...]:
        """Return the plugins whose events a parked pod has to be looked at for, sorted.

        While a gate is closed only its plugin's events can help.
        """
        if pod.gating_plugin:
            return (pod.gating_plugin,)
        if pod.scheduler_name not in self._registrations:
            return (ANY_EVENT,)
        return tuple(sorted(pod.rejectors))

    def judge(self, pod: QueuedPod[Any], audience: Audience, old: object, new: object) -> Requeue:
        """Return what an event means for a rejected pod. Only a pending plugin spares it the backoff."""
        pending = pod.pending_plugins
        if audience.is_wildcard or not (pending or pod.unschedulable_plugins):
            return Requeue.AFTER_BACKOFF
        if pod.scheduler_name not in self._registrations:
            return Requeue.AFTER_BACKOFF if audience else Requeue.SKIP
        answer = Requeue.SKIP
        for registration in audience.registrations.get(pod.scheduler_name, ()):
            plugin = registration.plugin
            if plugin in pending:
                if self._is_queue(registration, audience.event, pod, old, new):
                    return Requeue.IMMEDIATELY
            elif answer is Requeue.SKIP and plugin in pod.unschedulable_plugins:
                if not self._is_queue(registration, audience.event, pod, old, new):
                    continue
                answer = Requeue.AFTER_BACKOFF
                if not pending:
                    break
        return answer

    def find_interests(self, plugin: str, narrow: NarrowFn, old: object, new: object) -> tuple[str, ...] | None:
        """Return the interests of the only pods of a plugin that an event can help, None when it may be any."""
        try:
            return narrow(old, new)
        except Exception:  # see `_ask`
            self.hint_faults[plugin] += 1
            return None

    def _gather(self, event: ClusterEvent) -> Audience:
        registrations = {
            name: tuple(r for r in registered if r.event.matches(event))
            for name, registered in self._registrations.items()
        }
        found = [r for matching in registrations.values() for r in matching]
        # one that registered twice for the event, or not always with a function, hears of it for all its pods
        by_plugin = {r.plugin: {o.narrow for o in found if o.plugin == r.plugin} for r in found}
        narrows = {p: n for p, fns in by_plugin.items() if len(fns) == 1 and (n := next(iter(fns))) is not None}
        broad = (ANY_EVENT, *sorted(by_plugin.keys() - narrows.keys()))
        particular = frozenset(r.plugin for r in found if r.hint is not None and not r.per_kind)
        return Audience(event.label, event.is_wildcard, broad, registrations, narrows, particular)

    def _is_queue(self, registration: Registration, event: str, pod: QueuedPod[Any], old: object, new: object) -> bool:
        meter = self.meter
        if meter is None:
            return self._ask(registration, pod, old, new) is not Hint.SKIP
        begun_s = meter.now()
        hint = self._ask(registration, pod, old, new)
        meter.answered(registration.plugin, event, begun_s, "Error" if hint is None else hint.value)
        return hint is not Hint.SKIP

    def _ask(self, registration: Registration, pod: QueuedPod[Any], old: object, new: object) -> Hint | None:
        if registration.hint is None:
            return Hint.QUEUE
        try:
            return Hint.QUEUE if registration.hint(pod.pod, old, new) is Hint.QUEUE else Hint.SKIP
        except Exception:  # a fault of one plugin: trying in vain is cheaper than a pod forgotten
            self.hint_faults[registration.plugin] += 1
            return None

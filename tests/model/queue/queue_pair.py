"""The real queue and its reference side by side: every command goes to both, and both must say the same."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from queue_reference import Record, ReferenceQueue

from apportion.base import VirtualClock
from apportion.sched.queue import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE,
    NODE_ADD,
    NODE_DELETE,
    POD,
    RESOURCE_CLAIM,
    TARGET_POD,
    ActionType,
    ClusterEvent,
    Hint,
    QueueConfig,
    QueuedPod,
    Registration,
    SchedulingQueue,
)

START_S = 1_000_000_000.25
POD_COUNT = 8
PLUGINS = ("Fit", "Affinity", "Claims", "Gates", "Deaf")
GATES = ("", "", "Gates", "Claims", "Deaf")
PROFILES = ("one", "one", "two", "unknown")
BACKOFFS = ((1.0, 10.0), (0.5, 3.0), (1.0, 0.0), (4.0, 2.0))
WAITS_S = (0.25, 0.5, 1.0, 2.75, 29.5, 301.0)

CLAIM_UPDATE = ClusterEvent(RESOURCE_CLAIM, ActionType.UPDATE)
NODE_TAINT = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
EVENTS = (ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, NODE_ADD, NODE_DELETE, NODE_TAINT, CLAIM_UPDATE)
GATES_GONE = ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
UPDATES = (
    ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_TOLERATION),
    GATES_GONE,
    ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_OTHER),
)


@dataclass(frozen=True)
class ModelPod:
    number: int
    priority: int
    scheduler_name: str
    nominated_node_name: str = ""
    namespace: str = "default"

    @property
    def uid(self) -> str:
        return f"u{self.number}"

    @property
    def name(self) -> str:
        return f"p{self.number}"

    @property
    def key(self) -> str:
        return f"default/p{self.number}"


def hint_for_numbers(pod: ModelPod, _old: object, new: object) -> Hint:
    """Queue the pods whose number is in the event's object; an object that is a pod means that pod."""
    if isinstance(new, ModelPod):
        return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP
    return Hint.QUEUE if isinstance(new, frozenset) and pod.number in new else Hint.SKIP


def kind_of(pod: ModelPod) -> tuple[int, str]:
    return pod.priority, pod.scheduler_name


def hint_for_kinds(pod: ModelPod, _old: object, new: object) -> Hint:
    """Queue the pods whose priority is among the numbers of the event's object."""
    return Hint.QUEUE if isinstance(new, frozenset) and pod.priority in new else Hint.SKIP


COMMON = [
    Registration("Fit", NODE_ADD),
    Registration("Fit", ASSIGNED_POD_DELETE, hint_for_numbers),
    Registration("Affinity", ClusterEvent(POD, ActionType.ADD | ActionType.UPDATE), hint_for_numbers),
    Registration("Claims", CLAIM_UPDATE, hint_for_numbers),
    Registration("Claims", ClusterEvent(ASSIGNED_POD, ActionType.ADD)),
    Registration("Claims", NODE_ADD, hint_for_numbers),
    Registration("Fit", NODE_DELETE, hint_for_kinds, per_kind=True),
    Registration("Affinity", NODE_DELETE, hint_for_kinds, per_kind=True),
    Registration("Affinity", CLAIM_UPDATE, hint_for_kinds, per_kind=True),
]
REGISTRATIONS = {
    "one": [*COMMON, Registration("Gates", GATES_GONE)],
    "two": [*COMMON, Registration("Affinity", NODE_TAINT), Registration("Gates", NODE_ADD, hint_for_numbers)],
}


class Pair:
    """``pick`` arguments choose among what there is, modulo its number; with nothing there, nothing happens."""

    def __init__(self, config: QueueConfig) -> None:
        self.clock = VirtualClock(START_S)
        self.closed: dict[str, str] = {}
        self.real: SchedulingQueue[ModelPod] = SchedulingQueue(
            self.clock, REGISTRATIONS, self.gate, config, kind=kind_of
        )
        self.slow = ReferenceQueue(self.clock.now, REGISTRATIONS, self.gate, config)
        self.newest: dict[str, ModelPod] = {}
        self.flying: dict[str, tuple[QueuedPod[ModelPod], Record]] = {}

    def gate(self, pod: Any) -> tuple[str, tuple[str, ...]] | None:
        plugin = self.closed.get(pod.uid)
        return (plugin, ("closed",)) if plugin else None

    # ---- commands ------------------------------------------------------------------------------------------

    def add(self, number: int, priority: int, profile: str) -> None:
        known = self.newest.get(f"u{number}")
        pod = ModelPod(number, priority, known.scheduler_name if known else profile)
        self.newest[pod.uid] = pod
        self.real.add(pod)
        self.slow.add(pod)

    def update(self, pick: int, priority: int, events: Sequence[ClusterEvent]) -> None:
        if uid := self.choose(self.newest, pick):
            old = self.newest[uid]
            new = self.newest[uid] = replace(old, priority=priority)
            self.real.update(old, new, events)
            self.slow.update(new, events)

    def delete(self, pick: int) -> None:
        if uid := self.choose(self.newest, pick):
            self.real.delete(self.newest[uid])
            self.slow.delete(self.newest[uid])

    def turn_gate(self, number: int, plugin: str) -> None:
        self.closed[f"u{number}"] = plugin

    def pop(self) -> None:
        queued, record = self.real.pop(), self.slow.pop()
        assert (queued and queued.uid) == (record and record.pod.uid)
        if queued and record:
            self.flying[queued.uid] = (queued, record)

    def fail(self, pick: int, unschedulable: set[str], pending: set[str]) -> None:
        if uid := self.choose(self.flying, pick):
            queued, record = self.flying.pop(uid)
            queued.pod = record.pod = replace(self.newest[uid], priority=queued.priority)
            assert self.real.add_unschedulable(queued, unschedulable, pending)
            self.slow.add_unschedulable(record, unschedulable, pending)

    def succeed(self, pick: int) -> None:
        if uid := self.choose(self.flying, pick):
            del self.flying[uid]
            self.real.done(uid)
            self.slow.done(uid)

    def happen(self, event: ClusterEvent, numbers: frozenset[int], excluded_priority: int | None) -> None:
        pre_check: Callable[[Any], bool] | None = None
        if excluded_priority is not None:
            pre_check = lambda pod: pod.priority != excluded_priority  # noqa: E731
        self.real.move_all(event, None, numbers, pre_check)
        self.slow.move_all(event, numbers, pre_check)
        assert self.real.is_of_interest(event) == self.slow.is_of_interest(event)

    def activate(self, pick: int) -> None:
        if uid := self.choose(self.newest, pick):
            self.real.activate([self.newest[uid]])
            self.slow.activate([self.newest[uid]])

    def wait(self, by_s: float) -> None:
        self.clock.advance_to(self.clock.now() + by_s)

    def wait_for_wakeup(self) -> None:
        self.clock.advance_to(self.real.next_wakeup_s() or 0.0)

    def flush(self) -> None:
        self.real.flush()
        self.slow.flush()

    @staticmethod
    def choose(there: dict[str, Any], pick: int) -> str | None:
        return sorted(there)[pick % len(there)] if there else None

    # ---- what must be the same -----------------------------------------------------------------------------

    def check(self) -> None:
        self.check_places()
        self.check_in_flight()
        self.check_wakeup()

    def check_places(self) -> None:
        names = ("uid", "where", "since_s", "priority", "attempts")
        names += ("unschedulable_plugins", "pending_plugins", "backoff_left_s")
        entries = self.real.dump()
        assert [tuple(entry[name] for name in names) for entry in entries] == self.slow.show()
        for queue in ("active", "backoff", "unschedulable", "gated"):
            places = (queue, f"error {queue}")
            assert self.real.pending(queue) == sum(entry["where"] in places for entry in entries)
        assert len(self.real) == len(entries) - self.real.in_flight_count

    def check_in_flight(self) -> None:
        labels = self.real.in_flight_events()
        assert labels.pop("PodPopped", 0) == len(self.flying)
        assert sum(labels.values()) == self.slow.kept_events()

    def check_wakeup(self) -> None:
        wakeup_s, expected_s = self.real.next_wakeup_s(), self.slow.next_wakeup_s()
        assert (wakeup_s is None) == (expected_s is None)
        if wakeup_s is not None:
            assert max(wakeup_s, self.clock.now()) == expected_s

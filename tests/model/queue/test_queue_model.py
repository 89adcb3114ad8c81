"""The queue against a slow, obvious reference, under random commands."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
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
PLUGINS = ("Fit", "Affinity", "Claims", "Gates", "Deaf")
GATES = ("Gates", "Claims", "Deaf")
CLAIM_UPDATE = ClusterEvent(RESOURCE_CLAIM, ActionType.UPDATE)
TOLERATION = ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_TOLERATION)
GATES_GONE = ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
OTHER = ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_OTHER)
NODE_TAINT = ClusterEvent(NODE, ActionType.UPDATE_NODE_TAINT)
EVENTS = (ASSIGNED_POD_ADD, ASSIGNED_POD_DELETE, NODE_ADD, NODE_DELETE, NODE_TAINT, CLAIM_UPDATE)


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


def is_named(pod: ModelPod, _old: object, new: object) -> Hint:
    """Queue the pods whose number is in the event's object; any object that is a pod is for that pod."""
    if isinstance(new, ModelPod):
        return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP
    return Hint.QUEUE if isinstance(new, frozenset) and pod.number in new else Hint.SKIP


COMMON = [
    Registration("Fit", NODE_ADD),
    Registration("Fit", ASSIGNED_POD_DELETE, is_named),
    Registration("Affinity", ClusterEvent(POD, ActionType.ADD | ActionType.UPDATE), is_named),
    Registration("Claims", CLAIM_UPDATE, is_named),
    Registration("Claims", ClusterEvent(ASSIGNED_POD, ActionType.ADD)),
]
REGISTRATIONS = {
    "one": [*COMMON, Registration("Gates", GATES_GONE)],
    "two": [*COMMON, Registration("Affinity", NODE_TAINT), Registration("Gates", NODE_ADD, is_named)],
}

numbers = st.frozensets(st.integers(0, 9), max_size=6)
plugin_sets = st.sets(st.sampled_from(PLUGINS), max_size=2)
pending_sets = st.just(set()) | plugin_sets
event_lists = st.lists(st.tuples(st.sampled_from(EVENTS), numbers), max_size=2)
profiles = st.sampled_from(["one", "one", "two", "unknown"])


class QueueMachine(RuleBasedStateMachine):
    @initialize(
        pop_from_backoff=st.booleans(),
        backoff=st.sampled_from([(1.0, 10.0), (0.5, 3.0), (1.0, 0.0), (4.0, 2.0)]),
        pods=st.lists(st.tuples(st.integers(0, 2), profiles), min_size=3, max_size=6),
    )
    def start(
        self, pop_from_backoff: bool, backoff: tuple[float, float], pods: list[tuple[int, str]]
    ) -> None:
        self.clock = VirtualClock(START_S)
        self.closed: dict[str, str] = {}
        config = QueueConfig(*backoff, pop_from_backoff=pop_from_backoff)
        self.real: SchedulingQueue[ModelPod] = SchedulingQueue(self.clock, REGISTRATIONS, self.gate, config)
        self.slow = ReferenceQueue(self.clock.now, REGISTRATIONS, self.gate, config)
        self.newest: dict[str, ModelPod] = {}
        self.flying: dict[str, tuple[QueuedPod[ModelPod], Record]] = {}
        for number, (priority, profile) in enumerate(pods):
            self.add(number, priority, profile)

    def gate(self, pod: Any) -> tuple[str, tuple[str, ...]] | None:
        plugin = self.closed.get(pod.uid)
        return (plugin, ("closed",)) if plugin else None

    def draw_pod(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.newest)))

    # ---- commands ------------------------------------------------------------------------------------------

    @rule(number=st.integers(0, 9), priority=st.integers(0, 2), profile=profiles)
    def add(self, number: int, priority: int, profile: str) -> None:
        known = self.newest.get(f"u{number}")
        pod = ModelPod(number, priority, known.scheduler_name if known else profile)
        self.newest[pod.uid] = pod
        self.real.add(pod)
        self.slow.add(pod)

    @rule(
        data=st.data(),
        priority=st.integers(0, 2),
        events=st.lists(st.sampled_from([TOLERATION, GATES_GONE, OTHER]), max_size=2),
    )
    def update(self, data: st.DataObject, priority: int, events: list[ClusterEvent]) -> None:
        uid = self.draw_pod(data)
        old = self.newest[uid]
        new = self.newest[uid] = replace(old, priority=priority)
        self.real.update(old, new, events)
        self.slow.update(new, events)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        uid = self.draw_pod(data)
        self.real.delete(self.newest[uid])
        self.slow.delete(self.newest[uid])

    @rule(number=st.integers(0, 9), gate=st.sampled_from(["", "", *GATES]))
    def turn_gate(self, number: int, gate: str) -> None:
        self.closed[f"u{number}"] = gate

    @rule(times=st.integers(1, 3))
    def pop(self, times: int) -> None:
        for _ in range(times):
            self.pop_one()

    def pop_one(self) -> None:
        queued, record = self.real.pop(), self.slow.pop()
        assert (queued and queued.uid) == (record and record.pod.uid)
        if queued and record:
            self.flying[queued.uid] = (queued, record)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), unschedulable=plugin_sets, pending=pending_sets)
    def fail(self, data: st.DataObject, unschedulable: set[str], pending: set[str]) -> None:
        self.fail_one(data.draw(st.sampled_from(sorted(self.flying))), unschedulable, pending)

    @precondition(lambda self: self.real.pending("active"))
    @rule(events=event_lists, attempts=st.lists(st.tuples(plugin_sets, pending_sets), min_size=1, max_size=4))
    def fail_in_a_row(
        self,
        events: list[tuple[ClusterEvent, frozenset[int]]],
        attempts: list[tuple[set[str], set[str]]],
    ) -> None:
        """Most of what can go wrong needs failed attempts, and chance alone arranges few."""
        for unschedulable, pending in attempts:
            before = set(self.flying)
            self.pop_one()
            for event, new in events:
                self.happen(event, new, None)
            for uid in self.flying.keys() - before:
                self.fail_one(uid, unschedulable, pending)

    def fail_one(self, uid: str, unschedulable: set[str], pending: set[str]) -> None:
        queued, record = self.flying.pop(uid)
        queued.pod = record.pod = replace(self.newest[uid], priority=queued.pod.priority)
        assert self.real.add_unschedulable(queued, unschedulable, pending)
        self.slow.add_unschedulable(record, unschedulable, pending)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.flying)))
        del self.flying[uid]
        self.real.done(uid)
        self.slow.done(uid)

    @rule(event=st.sampled_from(EVENTS), new=numbers, without=st.none() | st.integers(0, 2))
    def happen(self, event: ClusterEvent, new: frozenset[int], without: int | None) -> None:
        pre_check = None if without is None else lambda pod: pod.priority != without
        self.real.move_all(event, None, new, pre_check)
        self.slow.move_all(event, new, pre_check)
        assert self.real.is_of_interest(event) == self.slow.is_of_interest(event)

    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        pods = [self.newest[self.draw_pod(data)] for _ in range(2)]
        self.real.activate(pods)
        self.slow.activate(pods)

    @rule(by_s=st.sampled_from([0.25, 0.5, 1.0, 2.75, 29.5, 301.0]))
    def wait(self, by_s: float) -> None:
        self.clock.advance_to(self.clock.now() + by_s)

    @precondition(lambda self: self.real.next_wakeup_s() is not None)
    @rule()
    def wait_for_wakeup(self) -> None:
        self.clock.advance_to(self.real.next_wakeup_s() or 0.0)

    @rule()
    def flush(self) -> None:
        self.real.flush()
        self.slow.flush()

    # ---- what must be the same -----------------------------------------------------------------------------

    @invariant()
    def shows_the_same(self) -> None:
        names = ("uid", "where", "since_s", "priority", "attempts")
        names += ("unschedulable_plugins", "pending_plugins", "backoff_left_s")
        shown = [tuple(entry[name] for name in names) for entry in self.real.dump()]
        assert shown == self.slow.show()

    @invariant()
    def counts_the_same(self) -> None:
        for queue in ("active", "backoff", "unschedulable", "gated"):
            shown = [entry for entry in self.real.dump() if str(entry["where"]).endswith(queue)]
            assert self.real.pending(queue) == len(shown)
        assert len(self.real) == len(self.slow.records) - self.real.in_flight_count

    @invariant()
    def keeps_no_event_too_many(self) -> None:
        in_flight = self.real.in_flight_events()
        assert in_flight.pop("PodPopped", 0) == len(self.flying)
        assert sum(in_flight.values()) == self.slow.kept_events()

    @invariant()
    def wakes_up_in_time(self) -> None:
        wakeup_s, expected = self.real.next_wakeup_s(), self.slow.next_wakeup_s()
        assert (wakeup_s is None) == (expected is None)
        if wakeup_s is not None:
            assert max(wakeup_s, self.clock.now()) == expected


TestQueueAgainstReference = pytest.mark.slow(QueueMachine.TestCase)
TestQueueAgainstReference.settings = settings(
    max_examples=100, stateful_step_count=60, deadline=None, derandomize=True
)

"""The queue again, slow and obvious: lists, and everything worked out anew at each question.

Nothing is indexed, cached or pruned: the history of pops and events is kept whole, places are words on records.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Any

from apportion.sched.queue import ActionType, ClusterEvent, Hint, QueueConfig, Registration

POD_KINDS = ("AssignedPod", "UnscheduledPod", "TargetPod")
WILDCARD = ClusterEvent("*", ActionType.ALL)


@dataclass
class Record:
    pod: Any
    added_s: float
    order: int
    place: str = "new"
    attempts: int = 0
    rejections: int = 0
    errors: int = 0
    flushed_s: float = -1.0
    unschedulable: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    gate: tuple[str, tuple[str, ...]] | None = None


@dataclass
class Moment:
    """A line of the history."""

    event: ClusterEvent | None  # None: the pod ``uid`` was popped
    new: object = None
    uid: str = ""  # of the only pod that an event concerns


class ReferenceQueue:
    def __init__(
        self,
        now: Callable[[], float],
        registrations: Mapping[str, Sequence[Registration]],
        gate: Callable[[Any], tuple[str, tuple[str, ...]] | None],
        config: QueueConfig,
    ) -> None:
        self.now, self.registrations, self.gate, self.config = now, registrations, gate, config
        self.start_s = floor(now())
        self.records: list[Record] = []  # of pods that are queued or in flight
        self.history: list[Moment] = []
        self.count = 0

    def find(self, uid: str, *places: str) -> Record | None:
        return next((r for r in self.records if r.pod.uid == uid and (not places or r.place in places)), None)

    def standing(self, *places: str) -> list[Record]:
        return [r for r in self.records if r.place in places]

    def next_order(self) -> int:
        self.count += 1
        return self.count

    # ---- backoff ---------------------------------------------------------------------------------------------

    def expiry_s(self, record: Record) -> float | None:
        failures = record.errors or record.rejections
        if failures == 0 or self.config.max_backoff_s == 0:
            return None
        delay_s = self.config.initial_backoff_s
        for _ in range(failures - 1):
            delay_s = min(2 * delay_s, self.config.max_backoff_s)
        end = record.added_s + min(delay_s, self.config.max_backoff_s)
        return float(floor(end)) if self.config.pop_from_backoff else end

    def is_backing_off(self, record: Record, now_s: float) -> bool:
        expiry = self.expiry_s(record)
        return expiry is not None and expiry >= (floor(now_s) if self.config.pop_from_backoff else now_s)

    # ---- places ----------------------------------------------------------------------------------------------

    def enter(self, record: Record, place: str) -> None:
        """Place a record; the gate is asked where it has to be."""
        was_checked = self.config.pop_from_backoff and record.place in ("backoff", "error backoff")
        if (place == "active" and not was_checked) or (place == "backoff" and self.config.pop_from_backoff):
            record.gate = self.gate(record.pod)
            if record.gate is not None:
                if record.gate[0] not in record.unschedulable | record.pending:
                    record.unschedulable.add(record.gate[0])
                place = "parked"
        if place == "backoff" and not record.unschedulable | record.pending:
            place = "error backoff"
        record.place = place

    def requeue(self, record: Record, answer: str) -> None:
        if answer == "skip":
            self.enter(record, "parked")
        elif answer == "after backoff" and self.is_backing_off(record, self.now()):
            self.enter(record, "backoff")
        else:
            self.enter(record, "active")

    # ---- events ----------------------------------------------------------------------------------------------

    @staticmethod
    def matches(registered: ClusterEvent, event: ClusterEvent) -> bool:
        kinds = POD_KINDS if registered.resource == "Pod" else (registered.resource,)
        is_kind = registered.resource == "*" or event.resource in kinds
        return is_kind and (registered.action & event.action) != 0

    def is_of_interest(self, event: ClusterEvent) -> bool:
        every = [r for registered in self.registrations.values() for r in registered]
        return event.resource == "*" or any(self.matches(r.event, event) for r in every)

    def judge(self, record: Record, event: ClusterEvent, new: object) -> str:
        rejectors = record.unschedulable | record.pending
        registered = self.registrations.get(record.pod.scheduler_name)
        if not rejectors or event.resource == "*" or registered is None:
            return "after backoff"
        wishes = [
            r.plugin
            for r in registered
            if r.plugin in rejectors
            and self.matches(r.event, event)
            and (r.hint is None or r.hint(record.pod, None, new) is Hint.QUEUE)
        ]
        if any(plugin in record.pending for plugin in wishes):
            return "immediately"
        return "after backoff" if wishes else "skip"

    def wake(self, record: Record, event: ClusterEvent, new: object) -> None:
        answer = self.judge(record, event, new)
        if answer != "skip":
            self.requeue(record, answer)

    def seen_by(self, record: Record) -> list[Moment]:
        """The events since the record was popped."""
        popped = max(i for i, m in enumerate(self.history) if m.event is None and m.uid == record.pod.uid)
        return [m for m in self.history[popped + 1 :] if m.event and m.uid in ("", record.pod.uid)]

    def note(self, event: ClusterEvent, new: object, uid: str = "") -> None:
        if self.standing("in flight"):
            self.history.append(Moment(event, new, uid))

    # ---- the same door as the real queue ---------------------------------------------------------------------

    def add(self, pod: Any) -> None:
        record = self.find(pod.uid)
        if record is None:
            record = Record(pod, self.now(), self.next_order())
            self.records.append(record)
            self.enter(record, "active")
        elif record.place != "in flight":
            record.pod = pod

    def update(self, new: Any, events: Sequence[ClusterEvent]) -> None:
        record = self.find(new.uid)
        if record is None:
            self.add(new)
        elif record.place == "in flight":
            for event in events:
                if self.is_of_interest(event):
                    self.note(event, new, new.uid)
        else:
            record.pod = new
            for event in events:
                if record.place == "parked" and self.is_of_interest(event):
                    self.wake(record, event, new)

    def delete(self, pod: Any) -> None:
        self.records = [r for r in self.records if r.pod.uid != pod.uid or r.place == "in flight"]

    def pop(self) -> Record | None:
        ready = self.standing("active")
        if not ready and self.config.pop_from_backoff:
            waiting = self.standing("backoff")
            soonest = min((self.expiry_s(r) or 0 for r in waiting), default=0)
            ready = [r for r in waiting if (self.expiry_s(r) or 0) == soonest]
        if not ready:
            return None
        record = min(ready, key=lambda r: (-r.pod.priority, r.added_s, r.order))
        record.place = "in flight"
        record.attempts += 1
        self.history.append(Moment(None, uid=record.pod.uid))
        return record

    def done(self, uid: str) -> None:
        self.records = [r for r in self.records if r.pod.uid != uid or r.place != "in flight"]

    def add_unschedulable(self, record: Record, unschedulable: set[str], pending: set[str]) -> None:
        """``record`` is in flight."""
        record.unschedulable, record.pending = set(unschedulable), set(pending)
        record.gate = None
        if unschedulable or pending:
            record.rejections, record.errors = record.rejections + 1, 0
        else:
            record.errors += 1
        record.added_s, record.order, record.flushed_s = self.now(), self.next_order(), -1.0
        answers = [self.judge(record, m.event, m.new) for m in self.seen_by(record) if m.event]
        if not (unschedulable or pending):
            answers.append("after backoff")
        ranked = [a for a in ("immediately", "after backoff") if a in answers]
        self.requeue(record, ranked[0] if ranked else "skip")

    def move_all(self, event: ClusterEvent, new: object, pre_check: Callable[[Any], bool] | None) -> None:
        if not self.is_of_interest(event):
            return
        all_registered = [r for registered in self.registrations.values() for r in registered]
        for record in self.standing("parked"):
            if pre_check is not None and not pre_check(record.pod):
                continue
            plugin = record.gate[0] if record.gate else None
            if plugin and not any(r.plugin == plugin and self.matches(r.event, event) for r in all_registered):
                continue
            self.wake(record, event, new)
        self.note(event, new)

    def activate(self, pods: Sequence[Any]) -> None:
        for pod in pods:
            record = self.find(pod.uid)
            if record is not None and record.place == "in flight":
                self.note(WILDCARD, pod, pod.uid)
            elif record is not None and record.place != "active":
                self.enter(record, "active")

    def due(self, now_s: float) -> tuple[list[Record], list[Record]]:
        """Ended backoffs, and pods parked too long, as a flush at ``now_s`` would find them."""
        second = float(floor(now_s))
        ended = [r for r in self.standing("backoff", "error backoff") if not self.is_backing_off(r, second)]
        scan_s = self.start_s + (now_s - self.start_s) // 30 * 30
        rested = [r for r in self.standing("parked") if scan_s - max(r.added_s, r.flushed_s) > self.config.max_parked_s]
        return ended, rested

    def flush(self) -> None:
        for record in self.due(self.now())[0]:
            self.enter(record, "active")
        rested = self.due(self.now())[1]
        for record in rested:
            record.flushed_s = self.now()
            self.requeue(record, "after backoff")
        if rested:
            self.note(WILDCARD, None)

    def next_wakeup_s(self) -> float | None:
        """Now, or the first full second at which a flush finds something: by trying them all."""
        if not self.standing("backoff", "error backoff", "parked"):
            return None
        moments = [self.now(), *(float(floor(self.now()) + i) for i in range(1, 400))]
        return next(m for m in moments if any(self.due(m)))

    def kept_events(self) -> int:
        """How many events the oldest pod in flight still needs kept."""
        flying = {r.pod.uid for r in self.standing("in flight")}
        pops = {m.uid: i for i, m in enumerate(self.history) if m.event is None}
        first = min((pops[uid] for uid in flying), default=len(self.history))
        return sum(m.event is not None for m in self.history[first:])

    def show(self) -> list[tuple[Any, ...]]:
        """What ``dump`` of the real queue has to say, without what it derives from registrations."""
        shown = []
        for r in self.records:
            where = "gated" if r.place == "parked" and r.gate else {"parked": "unschedulable"}.get(r.place, r.place)
            expiry = self.expiry_s(r) if "backoff" in r.place else None
            left_s = max(0.0, expiry - self.now()) if expiry is not None else 0.0
            plugins = sorted(r.unschedulable), sorted(r.pending)
            shown.append((r.pod.uid, where, r.added_s, r.pod.priority, r.attempts, *plugins, left_s))
        return sorted(shown)

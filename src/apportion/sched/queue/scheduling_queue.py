"""The front door of the queue."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeAlias

from apportion.base import Clock
from apportion.sched.queue.config import QueueConfig
from apportion.sched.queue.entity import PodT, QueuedPod
from apportion.sched.queue.events import (
    FORCE_ACTIVATE,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    ActionType,
    ClusterEvent,
)
from apportion.sched.queue.hint_meter import HintMeter
from apportion.sched.queue.hints import Audience, EventIndex, Registration, Requeue
from apportion.sched.queue.in_flight import InFlightList
from apportion.sched.queue.nominator import Nominator
from apportion.sched.queue.places import InterestsFn, KindFn, Places, PreEnqueueFn
from apportion.sched.queue.report import QueueName, count_pending, count_rejected, describe
from apportion.sched.queue.sort import SortFn
from apportion.sched.queue.timers import ScanTimes, next_second_after_s

SCHEDULE_ATTEMPT_FAILURE: Final = "ScheduleAttemptFailure"

# Whether an event can concern a pod at all, by something that no plugin knows (its priority, for example).
PreCheckFn: TypeAlias = Callable[[Any], bool]


class SchedulingQueue(Generic[PodT]):
    """Decides which pod is tried next, and when a pod that failed is worth another try.

    ``registrations`` are by scheduler name. ``pre_enqueue`` must not raise: the profile turns a fault of a
    plugin into a reason to wait. ``interests`` says what a pod waits for by name, ``sort``
    which ready pod is tried first (without it PrioritySort), ``kind`` which pods hint functions answer alike about.
    Adding, popping and finishing a pod costs O(log n); an event costs as much as there are kinds of parked pods whose
    rejecting plugins registered for it, or, when those can name the pods that it may help, as there are such pods.

    Behaviour: backend/queue/scheduling_queue.go with queueing hints. Nothing blocks and nothing reads the
    time of day; call ``flush`` at ``next_wakeup_s``.
    """

    def __init__(
        self,
        clock: Clock,
        registrations: Mapping[str, Sequence[Registration]],
        pre_enqueue: PreEnqueueFn[PodT],
        config: QueueConfig = QueueConfig(),  # noqa: B008
        interests: InterestsFn[PodT] = lambda pod: (),
        sort: SortFn | None = None,
        kind: KindFn[PodT] = lambda pod: pod.uid,
    ) -> None:
        self._clock = clock
        self._events = EventIndex(registrations)
        self._places: Places[PodT] = Places(clock, self._events, pre_enqueue, config, interests, sort, kind)
        self._in_flight: InFlightList[QueuedPod[PodT]] = InFlightList()
        self._max_parked_s = config.max_parked_s
        self._scans = ScanTimes(clock.now())
        self._sequence = 0
        self.nominator: Nominator[PodT] = Nominator()

    def __len__(self) -> int:
        return len(self._places.pods)

    def __contains__(self, uid: object) -> bool:
        return uid in self._places.pods

    # ---- pods come, change and go ---------------------------------------------------------------------

    def add(self, pod: PodT) -> None:
        """Take in a pod that has no node. One already queued is replaced; one in flight will come back."""
        queued = self._places.pods.get(pod.uid)
        if queued is not None:
            self.update(queued.pod, pod, ())
            return
        if pod.nominated_node_name:  # counts from the moment on in which the pod can be popped
            self.nominator.add(pod)
        if pod.uid not in self._in_flight:
            self._sequence += 1
            queued = QueuedPod(pod, self._clock.now(), self._sequence)
            self._places.move_to_active(queued, UNSCHEDULED_POD_ADD.label)

    def update(self, old: PodT, new: PodT, events: Sequence[ClusterEvent]) -> None:
        """Follow a change of a pod that has no node.

        ``events`` say what changed (resource ``TargetPod``). They may free the pod if it is parked, and are
        kept for it if it is in flight. A pod that was deleted and made anew under the same name is two
        different pods.
        """
        if old.uid != new.uid:
            self.delete(old)
            self.add(new)
            return
        if new.uid in self._in_flight:
            for event in events:
                if self.is_of_interest(event):
                    self._in_flight.record(event, old, new, new.uid)
            return
        queued = self._places.pods.get(new.uid)
        if queued is None:
            self.add(new)
            return
        is_same = bool(events) and all(event.action is ActionType.UPDATE_POD_OTHER for event in events)
        self._places.replace(queued, new, is_same)
        self.nominator.update(old, new)
        if queued.place == "unschedulable":
            self._wake_updated(queued, old, new, events)

    def delete(self, pod: PodT) -> None:
        """Forget a pod that is gone or got a node. If it is in flight, its attempt goes on until ``done``."""
        self.nominator.delete(pod)
        queued = self._places.pods.get(pod.uid)
        if queued is not None:
            self._places.withdraw(queued)

    # ---- attempts -------------------------------------------------------------------------------------

    def pop(self) -> QueuedPod[PodT] | None:
        """Return the next pod to try, which is in flight from now on; None when no pod is ready."""
        pod = self._places.take_next()
        if pod is not None:
            pod.attempts += 1
            self._in_flight.enter(pod)
        return pod

    def done(self, uid: str) -> None:
        """End an attempt: events are no longer kept for the pod. Calling it again changes nothing."""
        self._in_flight.leave(uid)

    def add_unschedulable(
        self,
        pod: QueuedPod[PodT],
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
    ) -> bool:
        """Take back a pod whose attempt failed, and end the attempt.

        The plugins are those that rejected it; none at all means an error. If something happened meanwhile
        that may help, the pod is tried again after its backoff (at once, if it helps a pending plugin).
        Returns False when the pod is queued already, where it then stays.
        """
        try:
            if pod.uid in self._places.pods:
                return False
            pod.record_failure(frozenset(unschedulable_plugins), frozenset(pending_plugins))
            pod.timestamp_s = self._clock.now()
            self._sequence += 1
            pod.sequence = self._sequence
            self._places.start_backoff(pod)
            self._places.requeue(pod, self._judge_attempt(pod), SCHEDULE_ATTEMPT_FAILURE)
            return True
        finally:
            self._in_flight.leave(pod.uid)

    # ---- events ---------------------------------------------------------------------------------------

    def measure(self, meter: HintMeter) -> None:
        """Have queueing hints timed from now on."""
        self._events.meter = meter

    def is_of_interest(self, event: ClusterEvent) -> bool:
        """Return whether any plugin registered for an event; others need not be reported."""
        return bool(self._events.get_audience(event))

    def move_all(self, event: ClusterEvent, old: object, new: object, pre_check: PreCheckFn | None = None) -> None:
        """Report an event: parked pods that it may help are queued again, those in flight will learn of it.

        Order matters: parked pods first, then the record. Pods that wait anywhere else are tried anyway.
        """
        audience = self._events.get_audience(event)
        if not audience:
            return
        if len(self._places.parked):
            self._wake_parked(event, audience, old, new, pre_check)
        self._in_flight.record(event, old, new)

    def activate(self, pods: Iterable[PodT]) -> None:
        """Queue pods at once although nothing happened; one in flight is tried again if its attempt fails."""
        for pod in pods:
            queued = self._places.pods.get(pod.uid)
            if queued is None:
                if pod.uid in self._in_flight:
                    self._in_flight.record(FORCE_ACTIVATE, None, pod, pod.uid)
            elif queued.place != "active":
                self._places.move_to_active(queued, FORCE_ACTIVATE.label)

    # ---- time -----------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Move what waited long enough: ended backoffs, and pods parked for more than ``max_parked_s``.

        Backoffs are judged at the last full second and parked pods at the last half minute of the queue's
        life, so it makes no difference how often this is called.
        """
        now_s = self._clock.now()
        self._places.end_backoffs(now_s)
        if self._flush_parked(now_s):
            self._in_flight.record(UNSCHEDULABLE_TIMEOUT, None, None)

    def next_wakeup_s(self) -> float | None:
        """Return the earliest time at which ``flush`` would move something, None if never."""
        times = [t for t in (self.next_backoff_s(),) if t is not None]
        if oldest := self._places.parked.find_oldest():
            times.append(self._scans.next_after_s(oldest.rest_since_s + self._max_parked_s))
        return min(times, default=None)

    def next_backoff_s(self) -> float | None:
        """Return the earliest time at which ``flush`` would end a backoff, None when none runs."""
        firsts = (heap.find_first() for heap in (self._places.plain_backoff, self._places.error_backoff))
        return min((next_second_after_s(f.backoff_expiry_s) for f in firsts if f), default=None)

    # ---- what can be seen from outside ----------------------------------------------------------------

    def pending(self, queue: QueueName) -> int:
        """Return how many pods wait in a queue (metric ``pending_pods``)."""
        return count_pending(self._places, queue)

    @property
    def in_flight_count(self) -> int:
        """How many pods are being tried."""
        return len(self._in_flight)

    def in_flight_events(self) -> dict[str, int]:
        """Return what the in-flight list holds, by label (metric ``inflight_events``)."""
        return self._in_flight.count_by_label()

    def incoming(self) -> dict[tuple[str, str], int]:
        """Return how often pods entered a queue, by (queue, label) (metric ``queue_incoming_pods_total``)."""
        return dict(sorted(self._places.incoming.items()))

    def unschedulable_pods(self) -> dict[tuple[str, str], int]:
        """Return how many queued pods each plugin holds back, by (plugin, profile). Cost: all queued pods."""
        return count_rejected(self._places)

    def hint_faults(self) -> dict[str, int]:
        """Return how often a plugin's hint function raised; each counts as a reason to try the pod."""
        return dict(sorted(self._events.hint_faults.items()))

    def dump(self) -> list[dict[str, object]]:
        """Return one dict for each pod, queued or in flight, sorted by key: where it is and why."""
        return describe(self._places, self._in_flight, self._events, self._clock.now())

    # ---- inside ---------------------------------------------------------------------------------------

    def _judge_attempt(self, pod: QueuedPod[PodT]) -> Requeue:
        """Return what the events during a failed attempt mean for the pod."""
        if not (pod.unschedulable_plugins or pod.pending_plugins):
            return Requeue.AFTER_BACKOFF
        recorded = self._in_flight.find_events(pod)
        if recorded is None:  # what happened is not known, so it has to be tried again
            return Requeue.AFTER_BACKOFF
        best = Requeue.SKIP
        for event, old, new, _ in recorded:
            answer = self._events.judge(pod, self._events.get_audience(event), old, new)
            if answer is Requeue.IMMEDIATELY:
                return answer
            if answer is Requeue.AFTER_BACKOFF:
                best = answer
                if not pod.pending_plugins:
                    break
        return best

    def _wake_parked(
        self, event: ClusterEvent, audience: Audience, old: object, new: object, pre_check: PreCheckFn | None
    ) -> None:
        for kin in self._find_candidates(audience, old, new):
            first = next(iter(kin.values()))
            shared = None
            if len(kin) > 1 and audience.asks_per_kind(first):
                shared = self._events.judge(first, audience, old, new)
                if shared is Requeue.SKIP:
                    continue
            for pod in list(kin.values()):
                if pre_check is None or pre_check(pod.pod):
                    strategy = shared or self._events.judge(pod, audience, old, new)
                    if strategy is not Requeue.SKIP:
                        self._places.requeue(pod, strategy, event.label)

    def _find_candidates(self, audience: Audience, old: object, new: object) -> list[dict[str, QueuedPod[PodT]]]:
        """Return the parked pods that an event may help, each once, kin together, in a stable order."""
        parked = self._places.parked
        if audience.is_wildcard:
            return [{pod.uid: pod} for pod in parked.find_all()]
        broad = audience.broad
        named: dict[tuple[Any, ...], dict[str, QueuedPod[PodT]]] = {}
        for plugin, narrow in audience.narrows.items():
            if not parked.is_holding(plugin):
                continue
            interests = self._events.find_interests(plugin, narrow, old, new)
            if interests is None:
                broad = (*broad, plugin)
                continue
            for kin, pods in parked.find_interested(plugin, interests).items():
                named[kin] = named[kin] | pods if kin in named else pods
        found = parked.find_held_by(broad)
        return [*(pods for kin, pods in named.items() if kin not in found), *found.values()]

    def _wake_updated(self, pod: QueuedPod[PodT], old: PodT, new: PodT, events: Sequence[ClusterEvent]) -> None:
        for event in events:
            strategy = self._events.judge(pod, self._events.get_audience(event), old, new)
            if strategy is not Requeue.SKIP:
                self._places.requeue(pod, strategy, event.label)
            if pod.place != "unschedulable":
                return

    def _flush_parked(self, now_s: float) -> bool:
        """Queue pods that rested too long, and return whether there were any. Gated ones only rest anew."""
        scan_s = self._scans.last_s(now_s)
        was_moved = False
        while (pod := self._places.parked.find_oldest()) and pod.rest_since_s + self._max_parked_s < scan_s:
            pod.was_flushed = True
            pod.flush_s = now_s
            self._places.requeue(pod, Requeue.AFTER_BACKOFF, UNSCHEDULABLE_TIMEOUT.label)
            was_moved = True
        return was_moved

"""Where waiting pods stand, and the moves between these places."""

from collections import Counter
from collections.abc import Callable, Hashable
from math import floor
from typing import Final, Generic, TypeAlias

from apportion.base import Clock
from apportion.sched.queue.backoff import Backoff
from apportion.sched.queue.config import QueueConfig
from apportion.sched.queue.entity import Place, PodT, QueuedPod
from apportion.sched.queue.heap import EntityHeap
from apportion.sched.queue.hints import EventIndex, Requeue
from apportion.sched.queue.parked import ParkedPool
from apportion.sched.queue.sort import SortFn, SortKey

# Which plugin keeps the pod out of the active queue and why; None when nothing does.
PreEnqueueFn: TypeAlias = Callable[[PodT], tuple[str, tuple[str, ...]] | None]
# What a pod waits for by name, such as its claims: events that name something wake only who is interested in it.
# Each name at most once.
InterestsFn: TypeAlias = Callable[[PodT], tuple[str, ...]]
# What pods have in common that some hint functions answer alike about (see Registration); their scheduler's name too.
KindFn: TypeAlias = Callable[[PodT], Hashable]

BACKOFF_COMPLETE: Final = "BackoffComplete"
POP_FROM_BACKOFF: Final = "PopFromBackoffQ"


class Places(Generic[PodT]):
    """The active heap, both backoff heaps and the parked pool; a pod stands in one of them at most.

    Each move takes the pod out of where it stood. The gate is asked before a pod enters the active heap;
    when pods may be popped from backoff it is asked before they enter that instead, and not again
    afterwards. A pod that it stops is parked. Behaviour: backend/queue/scheduling_queue.go,
    backoff_queue.go.
    """

    __slots__ = (
        "_asks_before_backoff",
        "_backoff",
        "_clock",
        "_events",
        "_heaps",
        "_interests",
        "_kind",
        "_pre_enqueue",
        "_sort",
        "active",
        "error_backoff",
        "incoming",
        "parked",
        "plain_backoff",
        "pods",
    )

    def __init__(
        self,
        clock: Clock,
        events: EventIndex,
        pre_enqueue: PreEnqueueFn[PodT],
        config: QueueConfig,
        interests: InterestsFn[PodT],
        sort: SortFn | None = None,
        kind: KindFn[PodT] = lambda pod: pod.uid,
    ) -> None:
        self._clock = clock
        self._kind = kind
        self._interests = interests
        self._events = events
        self._pre_enqueue = pre_enqueue
        self._asks_before_backoff = config.pop_from_backoff
        self._backoff = Backoff(config)
        self._sort = sort
        self.pods: dict[str, QueuedPod[PodT]] = {}  # all that stand somewhere, by uid
        self.active: EntityHeap[QueuedPod[PodT]] = EntityHeap()
        self.plain_backoff: EntityHeap[QueuedPod[PodT]] = EntityHeap()
        self.error_backoff: EntityHeap[QueuedPod[PodT]] = EntityHeap()
        self.parked: ParkedPool[QueuedPod[PodT]] = ParkedPool()
        self._heaps: dict[Place, EntityHeap[QueuedPod[PodT]]] = {
            "active": self.active,
            "backoff": self.plain_backoff,
            "error backoff": self.error_backoff,
        }
        self.incoming: Counter[tuple[str, str]] = Counter()  # (queue, label of the cause)

    def requeue(self, pod: QueuedPod[PodT], strategy: Requeue, label: str) -> None:
        """Move a pod to where ``strategy`` and its backoff send it; ``label`` is the cause, for counting."""
        if strategy is Requeue.SKIP:
            self._park(pod, label)
        elif strategy is Requeue.AFTER_BACKOFF and self._backoff.is_running(pod.backoff_expiry_s, self._clock.now()):
            self._move_to_backoff(pod, label)
        else:
            self.move_to_active(pod, label)

    def move_to_active(self, pod: QueuedPod[PodT], label: str) -> None:
        """Make a pod ready to be tried, unless a gate stops it."""
        is_past_gate = self._asks_before_backoff and pod.place in ("backoff", "error backoff")
        if not is_past_gate and not self._passes_gate(pod, label):
            return
        if pod.initial_attempt_s is None:
            pod.initial_attempt_s = self._clock.now()
        self._place(pod, "active")
        self._push_active(pod)
        self.incoming["active", label] += 1

    def take_next(self) -> QueuedPod[PodT] | None:
        """Take out the pod to try next; rather than none, one whose plain backoff still runs."""
        pod = self.active.pop()
        if pod is None:
            if not self._asks_before_backoff or (pod := self.plain_backoff.pop()) is None:
                return None
            self.incoming["active", POP_FROM_BACKOFF] += 1
        pod.place = ""
        del self.pods[pod.uid]
        return pod

    def end_backoffs(self, now_s: float) -> None:
        """Move the pods whose backoff was over at the last full second to the active heap."""
        second = float(floor(now_s))
        for heap in (self.plain_backoff, self.error_backoff):
            while (pod := heap.find_first()) and not self._backoff.is_running(pod.backoff_expiry_s, second):
                self.move_to_active(pod, BACKOFF_COMPLETE)

    def start_backoff(self, pod: QueuedPod[PodT]) -> None:
        """Work out anew how long a pod that has just failed must wait."""
        pod.backoff_expiry_s = self._backoff.expiry_s(pod.timestamp_s, pod.failures)

    def withdraw(self, pod: QueuedPod[PodT]) -> None:
        """Take a pod out of where it stands, if anywhere."""
        if not pod.place:
            return
        heap = self._heaps.get(pod.place)
        if heap is None:
            self.parked.withdraw(pod)
        else:
            heap.withdraw(pod)
        pod.place = ""
        del self.pods[pod.uid]

    def replace(self, pod: QueuedPod[PodT], new: PodT, is_same: bool = False) -> None:
        """Put a newer object in the place of an older one; the pod stays where it is.

        ``is_same``: nothing has changed that plugins hear of as a change of the pod.
        """
        pod.pod = new
        if pod.place == "unschedulable":
            self._park_anew(pod, new, is_same)
        if new.priority == pod.priority and (self._sort is None or pod.place != "active"):
            return
        pod.priority = new.priority
        heap = self._heaps.get(pod.place)
        if heap is self.active:
            heap.withdraw(pod)
            self._push_active(pod)
        elif heap is not None:
            heap.withdraw(pod)
            self._push_backoff(pod, heap)

    def _park_anew(self, pod: QueuedPod[PodT], new: PodT, is_same: bool) -> None:
        """Have a parked pod found by what it is and waits for now."""
        kind = self._kind(new)
        interests = pod.interests if is_same else self._interests(new)
        if (interests, kind) != (pod.interests, pod.kin[0]):
            self.parked.withdraw(pod)
            self.parked.add(pod, pod.holders, interests, kind)

    def _move_to_backoff(self, pod: QueuedPod[PodT], label: str) -> None:
        if self._asks_before_backoff and not self._passes_gate(pod, label):
            return
        # Pods that failed by error wait apart: they are never popped early, which protects the API server.
        place: Place = "backoff" if pod.unschedulable_plugins or pod.pending_plugins else "error backoff"
        self._place(pod, place)
        self._push_backoff(pod, self._heaps[place])
        self.incoming["backoff", label] += 1

    def _push_active(self, pod: QueuedPod[PodT]) -> None:
        if self._sort is None:  # PrioritySort
            self.active.push((-pod.priority, pod.timestamp_s, pod.sequence, pod))
        else:
            self.active.push((SortKey(self._sort, pod.pod, pod.timestamp_s), pod.sequence, pod))

    def _push_backoff(self, pod: QueuedPod[PodT], heap: EntityHeap[QueuedPod[PodT]]) -> None:
        heap.push((pod.backoff_expiry_s, -pod.priority, pod.timestamp_s, pod.sequence, pod))

    def _passes_gate(self, pod: QueuedPod[PodT], label: str) -> bool:
        gate = self._pre_enqueue(pod.pod)
        if gate is None:
            if pod.gating_plugin:
                self.withdraw(pod)  # the pool counts gated pods, so it must let go before the gate opens
                pod.open_gate()
            return True
        was_parked = pod.place == "unschedulable"
        if was_parked and pod.gating_plugin == gate[0] and not pod.was_flushed:
            pod.gate_reasons = gate[1]  # it rests where it is
            return False
        self.withdraw(pod)
        pod.close_gate(*gate)
        self._park(pod, "" if was_parked else label)
        return False

    def _park(self, pod: QueuedPod[PodT], label: str) -> None:
        self._place(pod, "unschedulable")
        self.parked.add(pod, self._events.get_holders(pod), self._interests(pod.pod), self._kind(pod.pod))
        if label:
            self.incoming["unschedulable", label] += 1

    def _place(self, pod: QueuedPod[PodT], place: Place) -> None:
        self.withdraw(pod)
        pod.place = place
        self.pods[pod.uid] = pod

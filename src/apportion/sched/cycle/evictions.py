"""Preemptions under way: until the API has answered every eviction, the pod they are for is not tried again.

Tried in between it would find some victims gone and others there, and might send away pods of another node as well.
Behaviour: the PreEnqueue of plugins/defaultpreemption with asynchronous preemption.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from apportion.sched.cycle.binding import Binding
from apportion.sched.cycle.preemption import PREEMPTED, delete_victim, mark_disrupted, preempted_event
from apportion.sched.cycle.tasks import TaskRunner
from apportion.sched.framework import Outcome, WaitingPods
from apportion.sched.queue import ASSIGNED_POD_DELETE, SchedulingQueue
from apportion.sched.state import ClusterState, PodInfo

PREEMPTION: Final = "DefaultPreemption"
EVICTING: Final = "waiting for the preemption for this pod to be finished"
_NOT_FOUND: Final = 404


class Evictions:
    """The pods whose victims are being sent away."""

    def __init__(self, queue: SchedulingQueue[PodInfo], state: ClusterState) -> None:
        self.queue = queue
        self.state = state
        self._under_way: dict[str, Eviction] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._under_way

    def begin(self, pod: PodInfo, victims: Sequence[PodInfo]) -> "Eviction":
        """Start to count the answers for a pod."""
        found = self._under_way[pod.uid] = Eviction(self, pod, victims)
        return found

    def end(self, eviction: "Eviction") -> None:
        """Let the pod be tried again; what its victims freed meanwhile was not told to it."""
        pod = eviction.pod
        if self._under_way.get(pod.uid) is eviction:
            del self._under_way[pod.uid]
        if eviction.has_failed:  # a victim stays: the pod must not wait for it in vain
            self.queue.activate([pod])
            return
        for victim in eviction.victims:
            if victim.uid not in self.state.pods:
                self.queue.move_all(ASSIGNED_POD_DELETE, victim, None, lambda other: other.uid == pod.uid)


class Eviction:
    """The evictions for one pod."""

    def __init__(self, evictions: Evictions, pod: PodInfo, victims: Sequence[PodInfo]) -> None:
        self._evictions = evictions
        self._open = 1  # `settle` takes this one
        self.pod = pod
        self.victims = victims
        self.has_failed = False

    def expect(self) -> Callable[[Outcome], None]:
        """Count one more answer; returns who takes it."""
        self._open += 1

        def answered(outcome: Outcome) -> None:
            self.has_failed = self.has_failed or not (outcome.is_ok or outcome.code == _NOT_FOUND)
            self.settle()

        return answered

    def settle(self) -> None:
        """Take note of an answer, or that all evictions were asked for."""
        self._open -= 1
        if not self._open:
            self._evictions.end(self)


class Evictor:
    """Sends victims away."""

    def __init__(
        self, tasks: TaskRunner, evictions: Evictions, waiting_pods: WaitingPods, bindings: Mapping[str, Binding]
    ) -> None:
        """``bindings``: those under way, by the pod's uid."""
        self._tasks = tasks
        self._evictions = evictions
        self._waiting_pods = waiting_pods
        self._bindings = bindings

    def begin(self, pod: PodInfo, victims: Sequence[PodInfo]) -> Eviction:
        """Keep ``pod`` from being tried until ``evict`` and the API are done with its victims."""
        return self._evictions.begin(pod, victims)

    def evict(self, eviction: Eviction, node_name: str) -> None:
        """Send all victims away."""
        for victim in eviction.victims:
            self._evict_one(eviction, victim, node_name)
        eviction.settle()

    def _evict_one(self, eviction: Eviction, victim: PodInfo, node_name: str) -> None:
        """Send a victim away: in memory while it is not bound yet, through the API otherwise."""
        pod, tasks = eviction.pod, self._tasks
        binding = self._bindings.get(victim.uid)
        waiting = self._waiting_pods.find(victim.uid) if binding is not None else None
        if waiting is not None:
            waiting.preempt(PREEMPTED)
        elif binding is None or not binding.cancel(PREEMPTED):
            tasks.send(mark_disrupted(pod, victim))
            tasks.send(delete_victim(victim), eviction.expect())
            tasks.send(preempted_event(pod, victim, node_name))
            return
        tasks.send(preempted_event(pod, victim, node_name, in_memory=True))

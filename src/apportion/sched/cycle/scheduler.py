"""The scheduler: events and outcomes in, commands out. It never waits, does no I/O and reads no clock.

One pod: popped from the queue, judged (plan, ranking), assumed on a node, reserved, and handed to a binding, a
generator that yields commands. Whoever drives the scheduler carries the commands out and returns each outcome.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from apportion.base import Clock, Rng
from apportion.sched.cycle.binding import Binding
from apportion.sched.cycle.evictions import EVICTING, PREEMPTION, Evictions, Evictor
from apportion.sched.cycle.extended import ExtendedSearch, NoNode
from apportion.sched.cycle.extenders import ExtenderError, Extenders
from apportion.sched.cycle.failing import Failures
from apportion.sched.cycle.failure import scheduled_event
from apportion.sched.cycle.records import Recorder
from apportion.sched.cycle.search import NodeSearch
from apportion.sched.cycle.tasks import TaskRunner
from apportion.sched.cycle.writes import ConditionWriter
from apportion.sched.framework import (
    CommandGenerator,
    Extender,
    Hold,
    Outcome,
    Plan,
    PluginFaultError,
    Profile,
    Status,
    WaitingPods,
    error,
    find_sort,
    naming,
)
from apportion.sched.queue import (
    ASSIGNED_POD_DELETE,
    QueueConfig,
    QueuedPod,
    SchedulingQueue,
)
from apportion.sched.state import ClusterState, PodInfo

_log = logging.getLogger(__name__)
T = TypeVar("T")


class Scheduler:
    """Decides for all profiles over one state and one queue.

    ``outbox`` holds (number, command); the driver empties it in order and answers each with ``resume``, and calls
    ``flush`` at ``next_wakeup_s``.
    """

    def __init__(
        self,
        state: ClusterState,
        profiles: Mapping[str, Profile],
        clock: Clock,
        rng: Rng,
        queue_config: QueueConfig | None = None,
        preempts: bool = True,
        waiting_pods: WaitingPods | None = None,
        extenders: Sequence[Extender] = (),
        recorder: Recorder | None = None,
    ) -> None:
        """``preempts``: whether PostFilter is asked when a pod fits nowhere, and its answer carried out.

        ``recorder`` is told how attempts go.
        """
        self.recorder = recorder
        self.state = state
        self.profiles = profiles
        self.tasks = TaskRunner(clock)
        self.outbox = self.tasks.outbox
        self.waiting_pods = WaitingPods(clock) if waiting_pods is None else waiting_pods
        self.queue: SchedulingQueue[PodInfo] = SchedulingQueue(
            clock,
            {n: p.registrations for n, p in profiles.items()},
            self._gate,
            queue_config or QueueConfig(),
            lambda pod: profiles[pod.scheduler_name].interests(pod),
            find_sort(profiles.values()),
            lambda pod: (pod.kind, pod.usage),  # all that hints read which are asked per kind
        )
        self.search = NodeSearch(state, profiles, self.queue.nominator, rng)
        if recorder is not None:
            self.search.measure(recorder.plugins)
            self.queue.measure(recorder.hints)
        self.pending: dict[str, PodInfo] = {}  # pods without a node that are ours to schedule, by uid
        self.attempts = {"scheduled": 0, "unschedulable": 0, "error": 0}
        self._preempts = preempts
        self._bindings: dict[str, Binding] = {}  # those under way, by the pod's uid
        self.evictions = Evictions(self.queue, state)
        conditions = ConditionWriter(state.reader)
        evictor = Evictor(self.tasks, self.evictions, self.waiting_pods, self._bindings)
        self._failures = Failures(
            state, self.search, self.queue, self.pending, self.attempts, self.tasks, conditions,
            evictor if preempts else None, recorder,
        )  # fmt: skip
        self.extenders = Extenders(extenders, state.nodes)
        self._has_extenders = bool(self.extenders)
        self._extended = ExtendedSearch(state, self.search, profiles, self.extenders)
        # An extender is being asked about a pod: until it answers nothing may change the state, and no pod is popped.
        self.is_deciding = False
        self._has_missed_flush = False

    def _gate(self, pod: PodInfo) -> tuple[str, tuple[str, ...]] | None:
        if pod.uid in self.evictions:
            return PREEMPTION, (EVICTING,)
        status = self.profiles[pod.scheduler_name].pre_enqueue(pod)
        return None if status is None else (status.plugin, status.reasons)

    @property
    def binding_count(self) -> int:
        """How many pods are on their way to their nodes."""
        return len(self._bindings)

    @property
    def is_idle(self) -> bool:
        """Whether no command waits to be sent, and no task for an answer or for somebody's word."""
        return self.tasks.is_idle and not self._bindings

    def flush(self) -> None:
        """Do what is due: end backoffs, and waits whose time has come."""
        if self.is_deciding:
            self._has_missed_flush = True
            return
        self.queue.flush()
        self.tasks.expire()

    def next_wakeup_s(self) -> float | None:
        """Return when ``flush`` has something to do, None if never or while an extender is asked."""
        if self.is_deciding:
            return None
        times = (self.queue.next_wakeup_s(), self.tasks.next_deadline_s())
        return min((t for t in times if t is not None), default=None)

    # ---- the scheduling cycle -----------------------------------------------------------------------------

    def schedule_one(self) -> bool:
        """Take the next pod from the queue and decide. False when nothing is ready, or an extender is asked."""
        entity = self.queue.pop() if not self.is_deciding else None
        if entity is None:
            return False
        pod = entity.pod
        if pod.terminating or pod.uid in self.state.pods:
            self.queue.done(pod.uid)
            return True
        if self.recorder is not None:
            self.recorder.begin(pod)
        interested = self.extenders.find_interested(pod) if self._has_extenders else ()
        if interested:
            self.is_deciding = True
            self.tasks.run(
                self._extended_cycle(entity, pod, interested), lambda status: self._end_decision(entity, pod, status)
            )
            return True
        try:
            self._cycle(entity, pod)
        except Exception as fault:
            # a fault costs this one pod an attempt, and nothing else
            _log.error("scheduling %s failed: %r", pod.key, fault, exc_info=_log.isEnabledFor(logging.DEBUG))
            known = isinstance(fault, PluginFaultError)
            self._failures.fail(entity, pod, str(fault) if known else f"{type(fault).__name__}: {fault}")
        return True

    def _cycle(self, entity: QueuedPod[PodInfo], pod: PodInfo) -> None:
        look = self.search.look(pod)
        row = self.search.choose(look)
        if self.recorder is not None:
            self.recorder.searched(pod)
        if row is None:
            self._failures.reject(entity, look)
            return
        self._place(entity, pod, look.plan, row)

    def _extended_cycle(
        self, entity: QueuedPod[PodInfo], pod: PodInfo, interested: tuple[Extender, ...]
    ) -> CommandGenerator:
        """Decide with the extenders' help."""
        try:
            look = self.search.look(pod)
            found = yield from self._extended.find(look, interested, self._preempts)
            if self.recorder is not None:
                self.recorder.searched(pod)
            if isinstance(found, NoNode):
                self._failures.park(entity, pod, found.diagnosis, found.result)
            else:
                self._place(entity, pod, look.plan, found, interested)
        except (ExtenderError, PluginFaultError) as fault:
            return error("", str(fault))
        return None

    def _end_decision(self, entity: QueuedPod[PodInfo], pod: PodInfo, status: Status | None) -> None:
        self.is_deciding = False
        if status is not None:
            self._failures.fail(entity, pod, status.message)
        if self._has_missed_flush:
            self._has_missed_flush = False
            self.flush()

    def _place(
        self, entity: QueuedPod[PodInfo], pod: PodInfo, plan: Plan, row: int, binders: tuple[Extender, ...] = ()
    ) -> None:
        """Assume the pod on its node, reserve what it needs, and begin to bind it."""
        self.state.assume(pod, row)
        self.queue.nominator.delete(pod)
        binding = Binding(entity, self.profiles[pod.scheduler_name], plan, pod, row, binders, self.recorder)
        holds: dict[str, float] | Status = {}
        try:
            status = self._reserve(binding) if self.recorder is None else self._timed("Reserve", self._reserve, binding)
            if status is None:
                holds = self._permit(binding) if self.recorder is None else self._timed("Permit", self._permit, binding)
        except Exception:
            self._undo(binding)
            raise
        if isinstance(holds, Status):
            status = holds
        if status is not None:
            self._undo(binding)
            self._failures.settle(entity, pod, status)
            return
        self._bind(binding, holds if isinstance(holds, dict) else {})

    def _timed(self, point: str, run: Callable[[Binding], T], binding: Binding) -> T:
        """Run the plugins of a point and note how long they took."""
        assert self.recorder is not None
        begun_s = self.recorder.now()
        answer = run(binding)
        result = "Wait" if isinstance(answer, dict) and answer else "Success"
        result = answer.code.text if isinstance(answer, Status) else result
        self.recorder.point(point, binding.pod.scheduler_name, begun_s, result)
        return answer

    def _reserve(self, binding: Binding) -> Status | None:
        for plugin in binding.profile.reserves:
            state = binding.plan.states.get(plugin.name)
            if state is None:
                continue
            with naming(plugin):
                status = plugin.reserve(binding.pod, binding.row, state)
            if status is not None:
                return status
        return None

    def _permit(self, binding: Binding) -> dict[str, float] | Status:
        """Return by plugin how long the pod shall wait, nothing when it may go; or why it may not be bound."""
        holds: dict[str, float] = {}
        for plugin in binding.profile.permits:
            with naming(plugin):
                answer = plugin.permit(binding.pod, binding.row, binding.plan.states.get(plugin.name))
            if isinstance(answer, Hold):
                holds[plugin.name] = answer.timeout_s
            elif answer is not None:
                return answer
        return holds

    # ---- the binding cycle --------------------------------------------------------------------------------

    def _bind(self, binding: Binding, holds: dict[str, float]) -> None:
        pod = binding.pod
        self._bindings[pod.uid] = binding
        waiting = self.waiting_pods.add(pod, holds) if holds else None
        task = binding.steps(waiting, lambda: self.queue.done(pod.uid))
        self.tasks.run(task, lambda status: self._finish(binding, status))

    def is_awaited(self, number: int) -> bool:
        """Return whether anything goes on with the outcome of a command; if not, ``resume`` may be left out."""
        return self.tasks.is_awaited(number)

    def resume(self, number: int, outcome: Outcome) -> None:
        """Hand over the outcome of a command. Must be called exactly once for each one that is awaited."""
        self.tasks.resume(number, outcome)

    def abandon(self, uid: str) -> None:
        """End the binding of a pod that is gone: nobody waits for its permission, its volumes or its devices."""
        binding = self._bindings.get(uid)
        if binding is None:
            return
        waiting = self.waiting_pods.find(uid)
        if waiting is not None:
            waiting.reject("", "removed")
        else:
            binding.cancel("pod does not exist any more")

    def _finish(self, binding: Binding, status: Status | None) -> None:
        pod = binding.pod
        self._bindings.pop(pod.uid, None)
        self.waiting_pods.remove(pod.uid)
        if status is None:
            self.attempts["scheduled"] += 1
            if self.recorder is not None:
                self.recorder.end(binding.entity, pod, "scheduled", self.state.nodes.name(binding.row))
            self.tasks.send(scheduled_event(pod, self.state.nodes.name(binding.row)))
            return
        was_assumed = self._undo(binding)
        if was_assumed and not status.code.is_rejected:
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None)
        self._failures.settle(binding.entity, pod, status)
        if was_assumed and status.code.is_rejected:  # the pod must not wake itself
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: other.uid != pod.uid)

    def _undo(self, binding: Binding) -> bool:
        """Unreserve in reverse order and forget the pod. False when it was not assumed any more."""
        for plugin in reversed(binding.profile.reserves):
            for command in plugin.unreserve(binding.pod, binding.row, binding.plan.states.get(plugin.name)):
                self.tasks.send(command)
        return self.state.forget(binding.pod)

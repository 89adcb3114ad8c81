"""The scheduler: events and outcomes in, commands out. It never waits, does no I/O and reads no clock.

One pod: popped from the queue, judged (plan, ranking), assumed on a node, reserved, and handed to a binding, a
generator that yields commands. Whoever drives the scheduler carries the commands out and returns each outcome.
"""

import logging
from collections import deque
from collections.abc import Mapping
from typing import Final

from apportion.base import Clock, Rng
from apportion.sched.cycle.failure import SCHEDULER_ERROR, UNSCHEDULABLE, failure_commands, scheduled_event
from apportion.sched.cycle.preemption import clear_nominations, eviction_commands, lower_nominations
from apportion.sched.cycle.search import NodeSearch
from apportion.sched.framework import (
    BindPod,
    Code,
    Command,
    CommandGenerator,
    DeletePod,
    Outcome,
    Plan,
    PostFilterResult,
    Profile,
    Status,
    error,
)
from apportion.sched.queue import (
    ASSIGNED_POD_DELETE,
    QueueConfig,
    QueuedPod,
    SchedulingQueue,
)
from apportion.sched.state import ClusterState, PodInfo

NOT_FOUND: Final = 404
_log = logging.getLogger(__name__)


class Binding:
    """A pod on its way to its node: assumed, reserved, and running through PreBind and Bind."""

    __slots__ = ("entity", "plan", "pod", "profile", "row", "steps")

    def __init__(self, entity: QueuedPod[PodInfo], profile: Profile, plan: Plan, pod: PodInfo, row: int) -> None:
        self.entity = entity
        self.profile = profile
        self.plan = plan
        self.pod = pod
        self.row = row
        self.steps: CommandGenerator = self._run()

    def _run(self) -> CommandGenerator:
        pod, row, states = self.pod, self.row, self.plan.states
        for plugin in self.profile.pre_binds:
            state = states.get(plugin.name)
            if state is not None and plugin.pre_bind_pre_flight(pod, row, state):
                status = yield from plugin.pre_bind(pod, row, state)
                if status is not None:
                    return status
        outcome = yield BindPod(pod.namespace, pod.name, pod.uid, pod.node_name)
        return None if outcome.is_ok else error("DefaultBinder", f"binding rejected: {outcome.message}")


class Scheduler:
    """Decides for all profiles over one state and one queue.

    ``outbox`` holds (number, command); the driver empties it in order and answers each with ``resume``.
    """

    def __init__(
        self,
        state: ClusterState,
        profiles: Mapping[str, Profile],
        clock: Clock,
        rng: Rng,
        queue_config: QueueConfig | None = None,
        preempts: bool = True,
    ) -> None:
        """``preempts``: whether PostFilter is asked when a pod fits nowhere, and its answer carried out."""
        self.state = state
        self.profiles = profiles
        self.outbox: deque[tuple[int, Command]] = deque()
        self.queue: SchedulingQueue[PodInfo] = SchedulingQueue(
            clock,
            {n: p.registrations for n, p in profiles.items()},
            self._gate,
            queue_config or QueueConfig(),
            lambda pod: profiles[pod.scheduler_name].interests(pod),
        )
        self.search = NodeSearch(state, profiles, self.queue.nominator, rng)
        self.pending: dict[str, PodInfo] = {}  # pods without a node that are ours to schedule, by uid
        self.attempts = {"scheduled": 0, "unschedulable": 0, "error": 0}
        self._preempts = preempts
        self._evictions: dict[int, PodInfo] = {}  # by command number: for whom the victim has to go
        self._bindings: dict[int, Binding] = {}
        self._commands = 0

    def _gate(self, pod: PodInfo) -> tuple[str, tuple[str, ...]] | None:
        status = self.profiles[pod.scheduler_name].pre_enqueue(pod)
        return None if status is None else (status.plugin, status.reasons)

    @property
    def is_idle(self) -> bool:
        """Whether no command waits to be sent or answered."""
        return not self.outbox and not self._bindings

    # ---- the scheduling cycle -----------------------------------------------------------------------------

    def schedule_one(self) -> bool:
        """Take the next pod from the queue and decide. False when nothing is ready."""
        entity = self.queue.pop()
        if entity is None:
            return False
        pod = entity.pod
        if pod.terminating or pod.uid in self.state.pods:
            self.queue.done(pod.uid)
            return True
        try:
            self._cycle(entity, pod)
        except Exception as fault:
            # a fault costs this one pod an attempt, and nothing else
            _log.error("scheduling %s failed: %r", pod.key, fault, exc_info=_log.isEnabledFor(logging.DEBUG))
            self._fail(entity, pod, f"{type(fault).__name__}: {fault}")
        return True

    def _cycle(self, entity: QueuedPod[PodInfo], pod: PodInfo) -> None:
        plan = self.search.plan(pod)
        row = self.search.choose(pod, plan)
        if row is None:
            self._reject(entity, pod, plan)
            return
        self.state.assume(pod, row)
        self.queue.nominator.delete(pod)
        binding = Binding(entity, self.profiles[pod.scheduler_name], plan, pod, row)
        try:
            status = self._reserve(binding)
        except Exception:
            self._undo(binding)
            raise
        if status is not None:
            self._undo(binding)
            self._settle_failure(entity, pod, status)
            return
        self.queue.done(pod.uid)  # from here on a failure is an error and no event can be missed
        self._advance(binding, None)

    def _reserve(self, binding: Binding) -> Status | None:
        for plugin in binding.profile.reserves:
            state = binding.plan.states.get(plugin.name)
            if state is None:
                continue
            status = plugin.reserve(binding.pod, binding.row, state)
            if status is not None:
                return status
        return None

    # ---- the binding cycle --------------------------------------------------------------------------------

    def resume(self, number: int, outcome: Outcome) -> None:
        """Hand over the outcome of a command. Must be called exactly once for each command of the outbox."""
        binding = self._bindings.pop(number, None)
        preemptor = self._evictions.pop(number, None)
        if binding is not None:
            self._advance(binding, outcome)
        elif preemptor is not None and not outcome.is_ok and outcome.code != NOT_FOUND:
            self.queue.activate([preemptor])  # the victim stays: the pod must not wait for it in vain
        elif not outcome.is_ok:
            _log.warning("command %d failed: %s", number, outcome.message)

    def _send(self, command: Command, binding: Binding | None = None) -> None:
        self._commands += 1
        if binding is not None:
            self._bindings[self._commands] = binding
        self.outbox.append((self._commands, command))

    def _advance(self, binding: Binding, outcome: Outcome | None) -> None:
        try:
            command = next(binding.steps) if outcome is None else binding.steps.send(outcome)
        except StopIteration as end:
            self._finish(binding, end.value)
            return
        except Exception as fault:
            _log.error("binding %s failed: %r", binding.pod.key, fault, exc_info=_log.isEnabledFor(logging.DEBUG))
            self._finish(binding, error("", f"{type(fault).__name__}: {fault}"))
            return
        self._send(command, binding)

    def _finish(self, binding: Binding, status: Status | None) -> None:
        pod = binding.pod
        if status is None:
            self.attempts["scheduled"] += 1
            self._send(scheduled_event(pod, self.state.nodes.name(binding.row)))
            return
        if self._undo(binding):
            self.queue.move_all(ASSIGNED_POD_DELETE, pod, None)
        self._settle_failure(binding.entity, pod, status)

    def _undo(self, binding: Binding) -> bool:
        """Unreserve in reverse order and forget the pod. False when it was not assumed any more."""
        for plugin in reversed(binding.profile.reserves):
            for command in plugin.unreserve(binding.pod, binding.row, binding.plan.states.get(plugin.name)):
                self._send(command)
        return self.state.forget(binding.pod)

    # ---- failure ------------------------------------------------------------------------------------------

    def _reject(self, entity: QueuedPod[PodInfo], pod: PodInfo, plan: Plan) -> None:
        """Park a pod that fits nowhere, after asking whether room can be made for it."""
        diagnosis = self.search.diagnose(pod, plan)
        rejected = diagnosis.pre_filter
        if rejected is not None and rejected.code is Code.ERROR:
            self._fail(entity, pod, rejected.message)
            return
        result = self.search.post_filter(pod, plan, diagnosis) if self._preempts else None
        message = diagnosis.message()
        if result is not None:
            message += f" {'' if result.commands else 'preemption: '}{result.status.message}"
        self.attempts["unschedulable"] += 1
        self._requeue(entity, diagnosis.unschedulable_plugins(), diagnosis.pending_plugins())
        nominated = self._nominate(pod, result)
        for command in failure_commands(pod, UNSCHEDULABLE, message, nominated):
            self._send(command)
        if result is not None and nominated:
            self._evict(pod, result, nominated)
        for command in result.commands if result is not None else ():
            self._send(command)

    def _nominate(self, pod: PodInfo, result: PostFilterResult | None) -> str | None:
        """Follow PostFilter's nomination; returns what the API has to hear of it, None for nothing."""
        if result is None or result.nominated_node_name is None:
            return None
        self.queue.nominator.add(pod, result.nominated_node_name)
        changed = result.nominated_node_name != pod.nominated_node_name
        return result.nominated_node_name if changed or result.victims else None

    def _evict(self, pod: PodInfo, result: PostFilterResult, node_name: str) -> None:
        nominator = self.queue.nominator
        for command in clear_nominations(nominator, lower_nominations(nominator, pod, node_name)):
            self._send(command)
        for command in eviction_commands(pod, result.victims, node_name):
            self._send(command)
            if isinstance(command, DeletePod):
                self._evictions[self._commands] = pod

    def _requeue(self, entity: QueuedPod[PodInfo], unschedulable: frozenset[str], pending: frozenset[str]) -> None:
        """Take the pod back as the API has it now; one that is gone or has a node by now is not tried again."""
        current = self.pending.get(entity.uid)
        if current is None:
            self.queue.done(entity.uid)
            return
        entity.pod = current
        self.queue.add_unschedulable(entity, unschedulable, pending)

    def _settle_failure(self, entity: QueuedPod[PodInfo], pod: PodInfo, status: Status) -> None:
        """Requeue after Reserve or the binding failed: by its plugin when rejected, by error backoff otherwise."""
        if not status.code.is_rejected:
            self._fail(entity, pod, status.message)
            return
        self.attempts["unschedulable"] += 1
        self._requeue(entity, frozenset({status.plugin}), frozenset())
        text = f"0/{self.state.nodes.count} nodes are available: 1 {status.message}."
        for command in failure_commands(pod, UNSCHEDULABLE, text):
            self._send(command)

    def _fail(self, entity: QueuedPod[PodInfo], pod: PodInfo, message: str) -> None:
        self.attempts["error"] += 1
        self._requeue(entity, frozenset(), frozenset())
        for command in failure_commands(pod, SCHEDULER_ERROR, message):
            self._send(command)

"""The scheduler: events and outcomes in, commands out. It never waits, does no I/O and reads no clock.

One pod: popped from the queue, judged (plan, ranking), assumed on a node, reserved, and handed to a binding, a
generator that yields commands. Whoever drives the scheduler carries the commands out and returns each outcome.
"""

import logging
from collections import deque
from collections.abc import Mapping
from typing import Final

import numpy as np

from apportion.base import Clock, Rng
from apportion.sched.cycle.failure import SCHEDULER_ERROR, UNSCHEDULABLE, failure_commands, scheduled_event
from apportion.sched.framework import (
    BindPod,
    Code,
    Command,
    CommandGenerator,
    Diagnosis,
    NodeProbe,
    Outcome,
    Plan,
    Planner,
    PostFilterResult,
    Profile,
    Ranking,
    Status,
    diagnose,
    error,
)
from apportion.sched.queue import (
    ASSIGNED_POD_DELETE,
    QueueConfig,
    QueuedPod,
    SchedulingQueue,
)
from apportion.sched.state import ClusterState, Int64s, PodInfo

SAMPLE_MIN: Final = 100  # fewer nodes than this are never sampled
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
    ) -> None:
        self.state = state
        self.profiles = profiles
        self.outbox: deque[tuple[int, Command]] = deque()
        self.planners = {name: Planner(state, profile) for name, profile in profiles.items()}
        self.queue: SchedulingQueue[PodInfo] = SchedulingQueue(
            clock,
            {n: p.registrations for n, p in profiles.items()},
            self._gate,
            queue_config or QueueConfig(),
        )
        self.attempts = {"scheduled": 0, "unschedulable": 0, "error": 0}
        self._rng = rng
        self._bindings: dict[int, Binding] = {}
        self._commands = 0
        self._next_start = 0  # where the next sampled search begins

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
        plan = self.planners[pod.scheduler_name].plan(pod)
        row = self.choose(pod, plan)
        if row is None:
            self._reject(entity, pod, self.diagnose(plan))
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

    def choose(self, pod: PodInfo, plan: Plan) -> int | None:
        """Return the row with the highest total score, ties broken by chance; None when no node is feasible."""
        ranking = plan.ranking
        if plan.rejected is not None or ranking is None:
            return None
        ranking.refresh()
        if pod.nominated_node_name:
            row = self.state.nodes.row_of.get(pod.nominated_node_name)
            if row is not None and ranking.ranked[row] >= 0:
                return row
        percentage = self.profiles[pod.scheduler_name].percentage_of_nodes_to_score
        best = self._sample(ranking, percentage) if percentage else ranking.best()
        if not len(best):
            return None
        return int(best[self._rng.below(len(best))]) if len(best) > 1 else int(best[0])

    def _sample(self, ranking: Ranking, percentage: int) -> Int64s:
        """Return the best rows of a sample: feasible rows from where the last search stopped, as many as asked for.

        Behaviour: percentageOfNodesToScore, at least 100 nodes. Scores stay normalised over all feasible nodes.
        """
        nodes = self.state.nodes
        wanted = max(nodes.count * percentage // 100, SAMPLE_MIN)
        feasible = np.flatnonzero(ranking.ranked >= 0)
        if nodes.count < SAMPLE_MIN or len(feasible) <= wanted:
            return ranking.best()
        start = int(np.searchsorted(feasible, self._next_start))
        sample = np.concatenate((feasible[start:], feasible[:start]))[:wanted]
        self._next_start = (int(sample[-1]) + 1) % nodes.rows
        totals = ranking.ranked[sample]
        return sample[totals == totals.max()]

    def diagnose(self, plan: Plan) -> Diagnosis:
        """Return why the plan leads to no node."""
        if plan.rejected is not None:
            others = frozenset(plan.other_rejections)
            return Diagnosis(self.state.nodes.count, [], plan.rejected, others)
        return diagnose(self.state.nodes, [c for _, _, c in plan.filters], plan.narrowed_by)

    def post_filter(self, pod: PodInfo, plan: Plan, diagnosis: Diagnosis) -> PostFilterResult | None:
        """Ask the PostFilter plugins, in order, what could be done for a pod that fits nowhere; changes nothing.

        The first success ends it; otherwise the last answer counts. None when there is no such plugin, or no node.
        """
        result: PostFilterResult | None = None
        probe = NodeProbe(diagnosis, tuple(c for _, _, c in plan.filters))
        for plugin in self.profiles[pod.scheduler_name].post_filters if diagnosis.node_count else ():
            result = plugin.post_filter(pod, probe)
            if result.status.code is not Code.UNSCHEDULABLE:
                break
        return result

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
        if binding is not None:
            self._advance(binding, outcome)
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

    def _reject(self, entity: QueuedPod[PodInfo], pod: PodInfo, diagnosis: Diagnosis) -> None:
        rejected = diagnosis.pre_filter
        if rejected is not None and rejected.code is Code.ERROR:
            self._fail(entity, pod, rejected.message)
            return
        self.attempts["unschedulable"] += 1
        self.queue.add_unschedulable(entity, diagnosis.unschedulable_plugins(), diagnosis.pending_plugins())
        for command in failure_commands(pod, UNSCHEDULABLE, diagnosis.message()):
            self._send(command)

    def _settle_failure(self, entity: QueuedPod[PodInfo], pod: PodInfo, status: Status) -> None:
        """Requeue after Reserve or the binding failed: by its plugin when rejected, by error backoff otherwise."""
        if not status.code.is_rejected:
            self._fail(entity, pod, status.message)
            return
        self.attempts["unschedulable"] += 1
        self.queue.add_unschedulable(entity, frozenset({status.plugin}), frozenset())
        text = f"0/{self.state.nodes.count} nodes are available: 1 {status.message}."
        for command in failure_commands(pod, UNSCHEDULABLE, text):
            self._send(command)

    def _fail(self, entity: QueuedPod[PodInfo], pod: PodInfo, message: str) -> None:
        self.attempts["error"] += 1
        self.queue.add_unschedulable(entity, frozenset(), frozenset())
        for command in failure_commands(pod, SCHEDULER_ERROR, message):
            self._send(command)

"""What is told of decisions: metrics under upstream's names, and one line in the log for each attempt.

Behaviour: pkg/scheduler/metrics. Reading a clock for durations is not deciding: ``perf`` is handed in, and nothing
depends on what it says.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from apportion.base import Clock
from apportion.base.metrics import Counter, Histogram, Metric, Reading, exponential, render
from apportion.sched.cycle.api_meter import ApiMeter
from apportion.sched.framework import PluginMeter
from apportion.sched.plugins import ClaimMetrics
from apportion.sched.queue import HintMeter, QueuedPod
from apportion.sched.state import PodInfo

if TYPE_CHECKING:
    from apportion.sched.cycle.scheduler import Scheduler

LOG: Final = logging.getLogger("apportion.decisions")
_ATTEMPT_S: Final = exponential(0.001, 2, 15)
_QUEUES: Final = ("active", "backoff", "unschedulable", "gated")
_ATTEMPTS_MAX: Final = 15


class Recorder:
    """Is told when attempts begin and end. A scheduler without one spends nothing on this."""

    def __init__(self, clock: Clock, perf: Callable[[], float], claims: ClaimMetrics | None = None) -> None:
        """``claims``: what plugins count of claims."""
        self._clock = clock
        self._perf = perf
        self._begun: dict[str, float] = {}  # by uid: when the attempt began
        self.claims = ClaimMetrics() if claims is None else claims
        self.attempts = Counter(
            "scheduler_schedule_attempts_total",
            "Attempts to schedule pods: scheduled, unschedulable (it fits nowhere) or error (something failed).",
            ("result", "profile"),
        )
        self.attempt_s = Histogram(
            "scheduler_scheduling_attempt_duration_seconds",
            "From the moment a pod is taken from the queue until it is bound or queued again.",
            _ATTEMPT_S,
            ("result", "profile"),
        )
        self.algorithm_s = Histogram(
            "scheduler_scheduling_algorithm_duration_seconds", "The search for a node.", _ATTEMPT_S
        )
        self.sli_s = Histogram(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "From the moment a pod is ready to be tried until it is bound, over all its attempts.",
            exponential(0.01, 2, 20),
            ("attempts",),
        )
        self.pod_attempts = Histogram(
            "scheduler_pod_scheduling_attempts", "Attempts until a pod was bound.", exponential(1, 2, 5)
        )
        self.after_flush = Counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Pods that were bound after they had been retried without a reason: a plugin may have missed an event.",
        )
        self.victims = Histogram(
            "scheduler_preemption_victims", "Pods chosen to be evicted for one pod.", exponential(1, 2, 7)
        )
        self.preemptions = Counter("scheduler_preemption_attempts_total", "Attempts to make room by evicting pods.")
        self.permit_s = Histogram(
            "scheduler_permit_wait_duration_seconds", "How long Permit plugins held pods.", _ATTEMPT_S, ("result",)
        )
        self.points_s = Histogram(
            "scheduler_framework_extension_point_duration_seconds",
            "How long all plugins of an extension point took.",
            exponential(0.0001, 2, 12),
            ("extension_point", "status", "profile"),
        )
        self.plugins = PluginMeter(perf, self.points_s)
        self.hints = HintMeter(perf)
        self.api = ApiMeter(perf)

    def now(self) -> float:
        """Return a time in seconds of which only differences mean something."""
        return self._perf()

    # ---- attempts -----------------------------------------------------------------------------------------

    def begin(self, pod: PodInfo) -> None:
        """A pod was taken from the queue."""
        self._begun[pod.uid] = self._perf()

    def searched(self, pod: PodInfo) -> None:
        """The search for a node has ended."""
        self.algorithm_s.observe(self._perf() - self._begun[pod.uid])

    def point(self, name: str, profile: str, begun_s: float, status: str = "Success") -> None:
        """All plugins of a point have run."""
        self.points_s.observe(self._perf() - begun_s, (name, status, profile))

    def end(self, entity: QueuedPod[PodInfo], pod: PodInfo, result: str, node: str = "", reason: str = "") -> None:
        """An attempt has ended: the pod is bound, or goes back to the queue."""
        duration_s = self._perf() - self._begun.pop(pod.uid, self._perf())
        labels = (result, pod.scheduler_name)
        self.attempts.add(labels)
        self.attempt_s.observe(duration_s, labels)
        if result == "scheduled":
            self._count_scheduled(entity)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s", result, extra={"fields": self._describe(entity, pod, node, duration_s, reason)})

    def count_preemption(self, victims: int) -> None:
        """Pods were looked for that could be evicted."""
        self.preemptions.add()
        if victims:
            self.victims.observe(victims)

    def waited(self, begun_s: float, result: str) -> None:
        """Permit plugins hold a pod no more."""
        self.permit_s.observe(self._perf() - begun_s, (result,))

    def _count_scheduled(self, entity: QueuedPod[PodInfo]) -> None:
        attempts = entity.attempts
        self.pod_attempts.observe(attempts)
        if entity.initial_attempt_s is not None:
            label = str(attempts) if attempts < _ATTEMPTS_MAX else f"{_ATTEMPTS_MAX}+"
            self.sli_s.observe(self._clock.now() - entity.initial_attempt_s, (label,))
        if entity.was_flushed:
            self.after_flush.add()

    def _describe(
        self, entity: QueuedPod[PodInfo], pod: PodInfo, node: str, duration_s: float, reason: str
    ) -> dict[str, Any]:
        fields = {"pod": pod.key, "uid": pod.uid, "profile": pod.scheduler_name, "node": node, "reason": reason}
        given = {name: value for name, value in fields.items() if value}
        numbers = {"attempt": entity.attempts, "duration_ms": round(duration_s * 1000, 3)}
        return {"time_s": self._clock.now(), **given, **numbers}

    # ---- reading ------------------------------------------------------------------------------------------

    def render(self, scheduler: "Scheduler") -> bytes:
        """Return all metrics of a scheduler as text."""
        parts = [vars(part).items() for part in (self, self.plugins, self.hints, self.api)]
        own = [m for part in parts for name, m in part if isinstance(m, Metric) and not name.startswith("_")]
        return render([*own, *self.claims, *_read_scheduler(scheduler)])


def _read_scheduler(scheduler: "Scheduler") -> list[Reading]:
    """Return what can be read off the scheduler when somebody asks."""
    queue, state = scheduler.queue, scheduler.state

    def pending() -> dict[tuple[str, ...], float]:
        return {(name,): queue.pending(name) for name in _QUEUES}

    def typed(counts: dict[tuple[str, ...], float]) -> dict[tuple[str, ...], float]:
        return {(*labels, "pod"): count for labels, count in counts.items()}

    def incoming() -> dict[tuple[str, ...], float]:
        return dict(queue.incoming().items())

    def cached() -> dict[tuple[str, ...], float]:
        sizes = {"nodes": state.nodes.count, "pods": len(state.pods), "assumed_pods": len(state.assumed)}
        return {(name,): size for name, size in sizes.items()}

    return [
        Reading("scheduler_pending_pods", "Pods that wait, by queue.", ("queue",), pending),
        Reading(
            "scheduler_queued_entities", "What waits, by queue.", ("queue", "type"), lambda: typed(pending())
        ),
        Reading(
            "scheduler_queue_incoming_pods_total", "Pods that entered a queue, by what made them.", ("queue", "event"),
            incoming, "counter",
        ),
        Reading(
            "scheduler_queue_incoming_entities_total", "What entered a queue, by what made it.",
            ("queue", "event", "type"), lambda: typed(incoming()), "counter",
        ),
        Reading(
            "scheduler_inflight_events", "Events kept for pods that are being tried.", ("event",),
            lambda: {(label,): count for label, count in queue.in_flight_events().items()},
        ),
        Reading(
            "scheduler_unschedulable_pods", "Pods that a plugin holds back.", ("plugin", "profile"),
            lambda: dict(queue.unschedulable_pods().items()),
        ),
        Reading("scheduler_cache_size", "Nodes and pods that the scheduler knows.", ("type",), cached),
        Reading(
            "scheduler_goroutines", "Bindings that are under way.", ("operation",),
            lambda: {("binding",): scheduler.binding_count},
        ),
    ]  # fmt: skip

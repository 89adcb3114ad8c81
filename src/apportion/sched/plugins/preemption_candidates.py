"""Which pods would have to leave a node."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from apportion.api.core import PodDisruptionBudget
from apportion.api.selectors import compile_label_selector
from apportion.api.view import LabelSelector
from apportion.sched.framework.probe import NodeProbe, judge_stage
from apportion.sched.framework.stages import Stage
from apportion.sched.framework.status import Status, unresolvable
from apportion.sched.state import ClusterState, PodInfo

_NAME = "DefaultPreemption"
_NEVER = (1 << 63) - 1  # the start of a pod that has not started
_PRIORITY_SHIFT = 1 << 31  # makes every priority count as positive, so that fewer victims are better
NO_VICTIMS = unresolvable(_NAME, "No preemption victims found for incoming pod")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node and the pods that would have to leave it, the most important first."""

    row: int
    victims: tuple[PodInfo, ...]
    violations: int  # of disruption budgets

    @property
    def cost(self) -> tuple[int, int, int, int, int]:
        """What decides between nodes, less is better (pickOneNodeForPreemption).

        Violated budgets, priority of the most important victim, sum of priorities, number of victims, and how early
        the earliest of its most important victims started.
        """
        highest = self.victims[0].priority
        total = sum(v.priority + _PRIORITY_SHIFT for v in self.victims)
        started = min(_start(v) for v in self.victims if v.priority == highest)
        return self.violations, highest, total, len(self.victims), -started


def _start(pod: PodInfo) -> int:
    """Return when a pod started, in microseconds since the epoch; the far future if it has not or nobody knows."""
    if not pod.start_time:
        return _NEVER
    try:
        return int(datetime.fromisoformat(pod.start_time).timestamp() * 1_000_000)
    except ValueError:
        return _NEVER


def importance(pod: PodInfo) -> tuple[int, str, str]:
    """Sort key: higher priority first, then the earlier start (a pod that has not started comes last), then uid."""
    return -pod.priority, pod.start_time or "~", pod.uid


def select_victims(
    state: ClusterState, pod: PodInfo, row: int, probe: NodeProbe, budgets: "Budgets"
) -> Candidate | Status:
    """Return the fewest and least important pods whose removal lets ``pod`` onto ``row``, or why none would.

    All pods of lower priority are taken off, then put back one by one, those protected by a disruption budget first,
    as long as the pod still fits. Behaviour: SelectVictimsOnNode.
    """
    lower = sorted((p for p in state.pods_on(row).values() if p.priority < pod.priority), key=importance)
    if not lower:
        return NO_VICTIMS
    expected = probe.expected.on(row)
    with probe.open(row) as stage:
        for other in lower:
            stage.remove(other)
        rejection = judge_stage(stage, expected)
        if rejection is not None:
            return rejection
        violating, others = budgets.split(lower)
        # on paper pods differ in nothing but what they take, and room that does not suffice once never does again
        refused: set[int] | None = set() if probe.opens else None
        lost = _find_lost(stage, violating, expected, refused)
        violations = len(lost)
        lost += _find_lost(stage, others, expected, refused)
    return Candidate(row, tuple(sorted(lost, key=importance) if violations else lost), violations)


def _find_lost(
    stage: Stage, pods: Sequence[PodInfo], expected: Sequence[PodInfo], refused: set[int] | None
) -> list[PodInfo]:
    """Put pods back as long as that is possible; returns those for which it is not.

    ``refused``: ids of the usages for which there was no room before; None where more counts than the usage.
    """
    lost = []
    for pod in pods:
        if refused is None:
            if not _reprieve(stage, pod, expected):
                lost.append(pod)
        elif pod.usage.id in refused or not _reprieve(stage, pod, expected):
            refused.add(pod.usage.id)
            lost.append(pod)
    return lost


def _reprieve(stage: Stage, pod: PodInfo, expected: Sequence[PodInfo]) -> bool:
    stage.add(pod)
    if judge_stage(stage, expected) is None:
        return True
    stage.remove(pod)
    return False


class Budgets:
    """The disruption budgets of the cluster, as far as preemption reads them."""

    def __init__(self, state: ClusterState) -> None:
        self._budgets: list[PodDisruptionBudget] = []
        for view in state.objects.get("PodDisruptionBudget", {}).values():
            assert isinstance(view, PodDisruptionBudget)
            self._budgets.append(view)

    def split(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Return (violating, others) in the given order; each budget's allowed disruptions are used up in turn."""
        if not self._budgets:
            return [], list(pods)
        allowed = [b.status.disruptions_allowed for b in self._budgets]
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            violates = False
            for i, budget in enumerate(self._budgets):
                if _protects(budget, pod):
                    allowed[i] -= 1
                    violates = violates or allowed[i] < 0
            (violating if violates else others).append(pod)
        return violating, others


def _protects(budget: PodDisruptionBudget, pod: PodInfo) -> bool:
    """Return whether the pod counts for the budget; an empty selector protects nothing here, as upstream."""
    selector = budget.spec.selector
    if budget.metadata.namespace != pod.namespace or selector is None or selector == LabelSelector():
        return False
    if pod.name in budget.status.disrupted_pods:
        return False  # its disruption is counted already
    return compile_label_selector(selector).matches(pod.labels)

"""Which pods would have to leave a node, and which node costs least."""

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.api.core import PodDisruptionBudget
from apportion.api.selectors import compile_label_selector
from apportion.api.view import LabelSelector
from apportion.sched.framework.plugin import NodeProbe
from apportion.sched.framework.status import Status, unresolvable
from apportion.sched.state import ClusterState, PodInfo, Trial

_NAME = "DefaultPreemption"
NO_VICTIMS = unresolvable(_NAME, "No preemption victims found for incoming pod")
_PRIORITY_SHIFT = 1 << 31  # makes every priority count as positive, so that fewer victims are better


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node and the pods that would have to leave it, the most important first."""

    row: int
    victims: tuple[PodInfo, ...]
    violations: int  # of disruption budgets


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
    with state.trial() as trial:
        for other in lower:
            trial.remove(other, row)
        rejection = probe.find_rejection(row)
        if rejection is not None:
            return rejection
        violating, others = budgets.split(lower)
        lost = [p for p in violating if not _reprieve(trial, p, row, probe)]
        violations = len(lost)
        lost += [p for p in others if not _reprieve(trial, p, row, probe)]
    return Candidate(row, tuple(sorted(lost, key=importance)), violations)


def _reprieve(trial: Trial, pod: PodInfo, row: int, probe: NodeProbe) -> bool:
    trial.add(pod, row)
    if probe.find_rejection(row) is None:
        return True
    trial.remove(pod, row)
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


def choose_candidate(candidates: Sequence[Candidate]) -> Candidate:
    """Return the node that costs least (pickOneNodeForPreemption); the first one among equals.

    Fewest violated budgets, lowest priority of the most important victim, smallest sum of priorities, fewest victims,
    and the latest start of the earliest among its most important victims.
    """
    cheapest = min(_cost(c) for c in candidates)
    equal = [c for c in candidates if _cost(c) == cheapest]
    latest = max(_earliest_start(c) for c in equal)
    return next(c for c in equal if _earliest_start(c) == latest)


def _cost(candidate: Candidate) -> tuple[int, int, int, int]:
    victims = candidate.victims
    total = sum(v.priority + _PRIORITY_SHIFT for v in victims)
    return candidate.violations, victims[0].priority, total, len(victims)


def _earliest_start(candidate: Candidate) -> str:
    highest = candidate.victims[0].priority
    return min(v.start_time or "~" for v in candidate.victims if v.priority == highest)

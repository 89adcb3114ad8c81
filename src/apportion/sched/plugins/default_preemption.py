"""DefaultPreemption: makes room for a pod by evicting pods of lower priority from one node."""

from collections.abc import Mapping

import numpy as np

from apportion.base import ConfigError
from apportion.sched.framework.diagnosis import Diagnosis
from apportion.sched.framework.plugin import NodeProbe, PostFilterResult
from apportion.sched.framework.status import Code, Status, unschedulable
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.preemption_candidates import Budgets, Candidate, choose_candidate, select_victims
from apportion.sched.state import PodInfo

_NAME = "DefaultPreemption"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DefaultPreemption:
    """Decides who has to go; the cycle carries it out. Behaviour: plugins/defaultpreemption."""

    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._rng = handle.rng
        self._percentage = _read(handle.args, "minCandidateNodesPercentage", 10, 100)
        self._absolute = _read(handle.args, "minCandidateNodesAbsolute", 100, None)

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe) -> PostFilterResult:
        """Return the node to nominate and the victims on it, or why preemption does not help."""
        obstacle = self._find_obstacle(pod)
        if obstacle is not None:
            return PostFilterResult(unschedulable(self.name, obstacle))
        candidates, failed = self._find_candidates(pod, diagnosis, probe)
        if not candidates:
            return PostFilterResult(unschedulable(self.name, _describe(diagnosis, failed)), nominated_node_name="")
        chosen = choose_candidate(candidates)
        node = self._state.nodes.name(chosen.row)
        text = f"found a potential placement for pod on node {node}, preempting {len(chosen.victims)} victims"
        victims = tuple(v for v in chosen.victims if not v.terminating)
        return PostFilterResult(Status(Code.SUCCESS, (text,), self.name), node, victims)

    def _find_obstacle(self, pod: PodInfo) -> str | None:
        """Return why the pod may not preempt: its policy, or victims of an earlier preemption that still leave."""
        if pod.spec.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        row = self._state.nodes.row_of.get(pod.nominated_node_name)
        if row is not None:
            leaving = (p for p in self._state.pods_on(row).values() if p.terminating and p.priority < pod.priority)
            if any(leaving):
                return "not eligible due to a terminating pod on the nominated node."
        return None

    def _find_candidates(
        self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe
    ) -> tuple[list[Candidate], dict[int, Status]]:
        """Try nodes, from a random one on, until there are enough candidates."""
        rows = self._rows_worth_trying(diagnosis)
        wanted = min(len(rows), max(len(rows) * self._percentage // 100, self._absolute))
        budgets = Budgets(self._state)
        candidates: list[Candidate] = []
        failed: dict[int, Status] = {}
        start = self._rng.below(len(rows)) if len(rows) > wanted else 0
        for row in [*rows[start:], *rows[:start]]:
            if len(candidates) >= wanted and any(not c.violations for c in candidates):
                break
            found = select_victims(self._state, pod, row, probe, budgets)
            if isinstance(found, Candidate):
                candidates.append(found)
            else:
                failed[row] = found
        return candidates, failed

    @staticmethod
    def _rows_worth_trying(diagnosis: Diagnosis) -> list[int]:
        """Return the rows that were rejected in a way that removing pods can undo."""
        groups = [rows for status, rows in diagnosis.groups if status.code is Code.UNSCHEDULABLE]
        return sorted(np.concatenate(groups).tolist()) if groups else []


def _describe(diagnosis: Diagnosis, failed: dict[int, Status]) -> str:
    """Return the text for a search without result: what each node lacked even without its less important pods."""
    counts: dict[str, int] = {}
    for status in failed.values():
        for reason in status.reasons:
            counts[reason] = counts.get(reason, 0) + 1
    hopeless = diagnosis.node_count - len(failed)
    if hopeless:
        counts[_NOT_HELPFUL] = hopeless
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{diagnosis.node_count} nodes are available: {listed}."


def _read(args: Mapping[str, object], name: str, default: int, most: int | None) -> int:
    value = args.get(name, default)
    if not isinstance(value, int) or value < 0 or (most is not None and value > most):
        limit = f"from 0 to {most}" if most is not None else "of at least 0"
        raise ConfigError(f"DefaultPreemptionArgs.{name}: must be a whole number {limit}")
    return value

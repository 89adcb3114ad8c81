"""DefaultPreemption: makes room for a pod by evicting pods of lower priority from one node."""

import operator
from collections.abc import Sequence

import numpy as np

from apportion.sched.framework.columns import FilterColumn
from apportion.sched.framework.diagnosis import Diagnosis
from apportion.sched.framework.plugin import PostFilterResult
from apportion.sched.framework.probe import NodeProbe
from apportion.sched.framework.status import Code, Status, unschedulable
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.preemption_candidates import Candidate
from apportion.sched.plugins.preemption_table import CandidateTable
from apportion.sched.queue import ASSIGNED_POD_DELETE, Hint, Registration
from apportion.sched.state import Bools, Int64s, PodInfo

_TABLES_MAX = 64
_NAME = "DefaultPreemption"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DefaultPreemption:
    """Decides who has to go; the cycle carries it out. Behaviour: plugins/defaultpreemption."""

    name = _NAME

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._last_mask: tuple[list[Int64s], Bools] = ([], np.zeros(0, np.bool_))
        self._tables: dict[tuple[object, ...], tuple[tuple[FilterColumn, ...], CandidateTable]] = {}

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe) -> PostFilterResult:
        """Return the node to nominate and the victims on it, or why preemption does not help.

        All nodes are looked at, once for pods of one sort; after that only nodes whose pods changed.
        """
        obstacle = self._find_obstacle(pod)
        if obstacle is not None:
            return PostFilterResult(unschedulable(self.name, obstacle))
        mask, table = self._look(pod, diagnosis, probe)
        chosen = table.find_cheapest(mask)
        if chosen is None:
            text = _describe(diagnosis, table.count_reasons(mask), int(mask.sum()))
            return PostFilterResult(unschedulable(self.name, text), nominated_node_name="")
        return self.choose(chosen)

    def choose(self, chosen: Candidate) -> PostFilterResult:
        """Return what follows from taking a candidate."""
        node = self._state.nodes.name(chosen.row)
        text = f"found a potential placement for pod on node {node}, preempting {len(chosen.victims)} victims"
        victims = tuple(v for v in chosen.victims if not v.terminating)
        return PostFilterResult(Status(Code.SUCCESS, (text,), self.name), node, victims)

    def events_to_register(self) -> Sequence[Registration]:
        """Victims that go let a pod be looked at again that waits for its evictions; other plugins judge whether."""
        return [Registration(self.name, ASSIGNED_POD_DELETE, lambda pod, old, new: Hint.SKIP, per_kind=True)]

    def list_candidates(self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe) -> list[Candidate]:
        """Return every node on which evicting pods would make room, for extenders to choose among."""
        mask, table = self._look(pod, diagnosis, probe)
        return table.list_all(mask)

    def _look(self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe) -> tuple[Bools, CandidateTable]:
        mask = self._mask_of([rows for status, rows in diagnosis.groups if status.code is Code.UNSCHEDULABLE])
        table = self._table(pod, probe)
        table.refresh(pod, mask, probe, self._state.versions.get("PodDisruptionBudget", 0))
        return mask, table

    def _mask_of(self, groups: list[Int64s]) -> Bools:
        """Return [row] bool: the row is in one of the groups; the same array as before for the same groups."""
        known, mask = self._last_mask
        size = self._state.nodes.rows
        if len(mask) == size and len(known) == len(groups) and all(map(operator.is_, known, groups)):
            return mask
        mask = np.zeros(size, np.bool_)
        for rows in groups:
            mask[rows] = True
        self._last_mask = (groups, mask)
        return mask

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

    def _table(self, pod: PodInfo, probe: NodeProbe) -> CandidateTable:
        """Return what is known for pods with these columns and this priority."""
        key = (probe.key, pod.priority)
        known = self._tables.get(key)
        if known is None:
            if len(self._tables) >= _TABLES_MAX:
                self._tables.clear()
            # keeps the columns, so that their ids stay theirs
            known = self._tables[key] = (probe.columns, CandidateTable(self._state))
        return known[1]


def _describe(diagnosis: Diagnosis, counts: dict[str, int], tried: int) -> str:
    """Return the text for a search without result: what each node lacked even without its less important pods."""
    hopeless = diagnosis.node_count - tried
    if hopeless:
        counts[_NOT_HELPFUL] = hopeless
    listed = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{diagnosis.node_count} nodes are available: {listed}."

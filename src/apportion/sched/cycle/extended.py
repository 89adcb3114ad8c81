"""The search for a node when HTTP extenders have a say: as `NodeSearch`, with calls in between."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from apportion.sched.cycle.extenders import Asking, ExtenderError, Extenders
from apportion.sched.cycle.look import Look
from apportion.sched.cycle.search import NodeSearch
from apportion.sched.framework import (
    Diagnosis,
    Extender,
    PostFilterResult,
    Profile,
    unschedulable,
)
from apportion.sched.plugins.default_preemption import DefaultPreemption
from apportion.sched.plugins.preemption_candidates import Candidate
from apportion.sched.state import ClusterState, Int64s, PodInfo


@dataclass(frozen=True, slots=True)
class NoNode:
    """No node does: why, and what PostFilter made of it."""

    diagnosis: Diagnosis
    result: PostFilterResult | None


class ExtendedSearch:
    """Its generators yield calls; nothing else may happen to the state until they have ended."""

    def __init__(
        self, state: ClusterState, search: NodeSearch, profiles: Mapping[str, Profile], extenders: Extenders
    ) -> None:
        self._state = state
        self._search = search
        self._profiles = profiles
        self._extenders = extenders

    def find(self, look: Look, interested: tuple[Extender, ...], preempts: bool) -> Asking[int | NoNode]:
        """Return the row of the pod's node, or why there is none. Raises ExtenderError."""
        pod, totals = look.pod, self._search.find_totals(look)
        diagnosis = None
        if totals is not None:
            nominated = yield from self._try_nominated(pod, totals, interested)
            if nominated is not None:
                return nominated
            rows, groups = yield from self._extenders.filter(interested, pod, np.flatnonzero(totals >= 0))
            if len(rows):
                return (yield from self._choose(pod, rows, totals, interested))
            diagnosis = self._search.diagnose(look)
            diagnosis.groups.extend(groups)
        diagnosis = diagnosis or self._search.diagnose(look)
        result = self._search.post_filter(look, diagnosis) if preempts else None
        if result is not None and result.victims and any(e.preempt_verb for e in interested):
            result = yield from self._preempt(look, diagnosis, result, interested)
        return NoNode(diagnosis, result)

    def _try_nominated(self, pod: PodInfo, totals: Int64s, interested: tuple[Extender, ...]) -> Asking[int | None]:
        row = self._search.find_nominated(pod)
        if row is None or totals[row] < 0:
            return None
        try:
            rows, _ = yield from self._extenders.filter(interested, pod, np.array([row], np.int64))
        except ExtenderError:
            return None  # the search over all nodes follows, and meets the fault again if it stays
        return row if len(rows) else None

    def _choose(self, pod: PodInfo, rows: Int64s, totals: Int64s, interested: tuple[Extender, ...]) -> Asking[int]:
        if len(rows) == 1:
            return int(rows[0])  # as upstream: nobody is asked to score a single node
        left: Int64s = np.full(len(totals), -1, np.int64)
        left[rows] = totals[rows]
        return self._search.pick((yield from self._extenders.prioritize(interested, pod, left)))

    def _preempt(
        self, look: Look, diagnosis: Diagnosis, result: PostFilterResult, interested: tuple[Extender, ...]
    ) -> Asking[PostFilterResult]:
        """Have the extenders choose among the candidates; the cheapest of what they leave is taken."""
        pod = look.pod
        plugin = next(
            (p for p in self._profiles[pod.scheduler_name].post_filters if isinstance(p, DefaultPreemption)), None
        )
        if plugin is None or plugin.name != result.status.plugin:
            return result
        nodes = self._state.nodes
        found = plugin.list_candidates(pod, diagnosis, look.probe)
        candidates = {nodes.name(c.row): c for c in found}
        asked = {name: (tuple(v.uid for v in c.victims), c.violations) for name, c in candidates.items()}
        answer = yield from self._extenders.preempt(interested, pod, asked)
        left = [self._adjust(candidates, name, *wanted) for name, wanted in answer.items()]
        if not left:
            return PostFilterResult(unschedulable(plugin.name, "no candidate node for preemption"), "")
        return plugin.choose(min(left, key=lambda c: (c.cost, c.row)))

    def _adjust(
        self, candidates: Mapping[str, Candidate], name: str, uids: tuple[str, ...], violations: int
    ) -> Candidate:
        """Return a candidate with the victims that the extenders want."""
        known = candidates.get(name)
        if known is None:
            raise ExtenderError(f'an extender names node "{name}", which was no candidate for preemption')
        on_node = self._state.pods_on(known.row)
        missing = next((uid for uid in uids if uid not in on_node), None)
        if missing is not None:
            text = f"claims to preempt pod (UID: {missing}) on node: {name}, but the pod is not found on that node"
            raise ExtenderError(f"an extender {text}")
        victims = sorted((on_node[uid] for uid in uids), key=lambda p: -p.priority)
        return replace(known, victims=tuple(victims), violations=violations)

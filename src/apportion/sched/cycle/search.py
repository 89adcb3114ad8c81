"""Finding a node for one pod: rank, choose, or say why there is none and what preemption could do."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from apportion.base import Rng
from apportion.sched.cycle.contested import Contested
from apportion.sched.cycle.look import Look
from apportion.sched.framework import (
    Code,
    Diagnosis,
    Plan,
    Planner,
    PluginMeter,
    PostFilterResult,
    Profile,
    Verdicts,
    diagnose,
    find_best,
)
from apportion.sched.queue import Nominator
from apportion.sched.state import ClusterState, Int64s, PodInfo

CONTESTED_MAX: Final = 64
VERDICTS_MAX: Final = 256
SAMPLE_MIN: Final = 100  # fewer nodes than this are never sampled


class NodeSearch:
    """Reads the state and decides; assumes nothing."""

    def __init__(
        self, state: ClusterState, profiles: Mapping[str, Profile], nominator: Nominator[PodInfo], rng: Rng
    ) -> None:
        self._state = state
        self._profiles = profiles
        self._nominator = nominator
        self._rng = rng
        self._planners = {name: Planner(state, profile) for name, profile in profiles.items()}
        self._contested_by_sort: dict[tuple[object, ...], Contested] = {}  # by columns and priority
        self._meter: PluginMeter | None = None
        self._verdicts: dict[tuple[int, ...], Verdicts] = {}  # by columns
        self._next_start = 0  # where the next sampled search begins

    def plan(self, pod: PodInfo) -> Plan:
        """Return how to judge ``pod``."""
        planner, meter = self._planners[pod.scheduler_name], self._meter
        if meter is None:
            return planner.plan(pod)
        meter.begin()
        begun_s = meter.now()
        plan = planner.plan(pod)
        meter.planned(plan, self._profiles[pod.scheduler_name], begun_s)
        return plan

    def measure(self, meter: PluginMeter) -> None:
        """Have plugins counted and timed from now on."""
        self._meter = meter
        for planner in self._planners.values():
            planner.meter = meter

    # ---- choosing -----------------------------------------------------------------------------------------

    def look(self, pod: PodInfo) -> Look:
        """Return a look at the nodes for ``pod``, by which the other methods answer."""
        return Look(self._state, self._nominator, pod, self.plan(pod))

    def choose(self, look: Look) -> int | None:
        """Return the row with the highest total score, ties broken by chance; None when no node is feasible.

        The pod's nominated node is taken if it is feasible. Rows where other pods are expected are judged twice.
        """
        if not self._is_judged(look):
            return None
        row = self.find_nominated(look.pod)
        # asked first, as upstream does: when it will do the others need not be looked at
        if row is not None and self._state.nodes.valid[row] and look.probe.find_rejection(row) is None:
            return row
        ranked = self._find_ranked(look)
        best = self._find_best(look.pod, ranked)
        if not len(best):
            return None
        return int(best[self._rng.below(len(best))]) if len(best) > 1 else int(best[0])

    def find_totals(self, look: Look) -> Int64s | None:
        """Return [row] int64: the total score of every feasible node, -1 elsewhere; None when there is no ranking."""
        return self._find_ranked(look).copy() if self._is_judged(look) else None

    def _is_judged(self, look: Look) -> bool:
        """Return whether the nodes are to be looked at, and have the plugins counted that this asks."""
        if look.plan.rejected is not None or look.plan.ranking is None:
            return False
        if self._meter is not None:
            self._meter.judge(look.plan, look.pod.scheduler_name)
        return True

    def _find_ranked(self, look: Look) -> Int64s:
        """Return the totals, -1 where other pods are expected beside which the pod would not fit."""
        ranked = look.rank()
        contested = self._find_contested(look)
        if contested is None or not contested.groups:
            return ranked
        ranked = ranked.copy()
        for _, rows in contested.groups:
            ranked[rows] = -1
        return ranked

    def pick(self, totals: Int64s) -> int:
        """Return one of the rows with the highest total, by chance."""
        best = _highest(totals, np.flatnonzero(totals >= 0))
        return int(best[self._rng.below(len(best))])

    def find_nominated(self, pod: PodInfo) -> int | None:
        """Return the row of the node that a pod is nominated to."""
        name = self._nominator.find_node(pod.uid) or pod.nominated_node_name
        return self._state.nodes.row_of.get(name) if name else None

    def _find_best(self, pod: PodInfo, ranked: Int64s) -> Int64s:
        percentage = self._profiles[pod.scheduler_name].percentage_of_nodes_to_score
        if percentage:
            return self._sample(ranked, percentage)
        return find_best(ranked)

    def _sample(self, ranked: Int64s, percentage: int) -> Int64s:
        """Return the best rows of a sample: feasible rows from where the last search stopped, as many as asked for.

        Behaviour: percentageOfNodesToScore, at least 100 nodes. Scores stay normalised over all feasible nodes.
        """
        nodes = self._state.nodes
        wanted = max(nodes.count * percentage // 100, SAMPLE_MIN)
        feasible = np.flatnonzero(ranked >= 0)
        if nodes.count < SAMPLE_MIN or len(feasible) <= wanted:
            return _highest(ranked, feasible)
        start = int(np.searchsorted(feasible, self._next_start))
        sample = np.concatenate((feasible[start:], feasible[:start]))[:wanted]
        self._next_start = (int(sample[-1]) + 1) % nodes.rows
        return _highest(ranked, sample)

    def _find_contested(self, look: Look) -> Contested | None:
        """Return the rows that would do but for the pods that are expected there; None when there cannot be any."""
        if look.has_contested or not self._nominator or look.plan.ranking is None:
            return look.contested
        look.has_contested = True
        ranked = look.rank()
        if not len(ranked) or ranked[ranked.argmax()] < 0:
            return None
        probe = look.probe
        key = (probe.key, look.pod.priority)
        found = self._contested_by_sort.get(key)
        if found is None:
            if len(self._contested_by_sort) >= CONTESTED_MAX:
                self._contested_by_sort.clear()
            found = self._contested_by_sort[key] = Contested(self._state, probe.columns)
        found.refresh(probe)
        look.contested = found
        return found

    # ---- no node ------------------------------------------------------------------------------------------

    def diagnose(self, look: Look) -> Diagnosis:
        """Return why the plan leads to no node."""
        plan = look.plan
        if plan.rejected is not None:
            others = frozenset(plan.other_rejections)
            return Diagnosis(self._state.nodes.count, [], plan.rejected, others)
        found = self._diagnose(plan, look.probe.stamp)
        contested = self._find_contested(look)
        if contested is not None:
            found.groups.extend(contested.groups)
        return found

    def _diagnose(self, plan: Plan, stamp: int | None) -> Diagnosis:
        narrowed_by, ranking = frozenset(plan.narrowed_by), plan.ranking
        if ranking is None or not ranking.remembers:
            return diagnose(self._state.nodes, [c for _, _, c in plan.filters], narrowed_by)
        verdicts = self._verdicts.get(ranking.key)
        if verdicts is None:
            if len(self._verdicts) >= VERDICTS_MAX:
                self._verdicts.clear()
            verdicts = self._verdicts[ranking.key] = Verdicts(self._state.nodes, ranking.filters)
        return Diagnosis(self._state.nodes.count, list(verdicts.groups(stamp)), None, narrowed_by)

    def post_filter(self, look: Look, diagnosis: Diagnosis) -> PostFilterResult | None:
        """Ask the PostFilter plugins, in order, what could be done for a pod that fits nowhere; changes nothing.

        The first success ends it; otherwise the last answer counts. None when there is no such plugin, or no node.
        """
        result: PostFilterResult | None = None
        pod = look.pod
        for plugin in self._profiles[pod.scheduler_name].post_filters if diagnosis.node_count else ():
            result = plugin.post_filter(pod, diagnosis, look.probe)
            if result.status.code is not Code.UNSCHEDULABLE or result.commands:
                break
        return result


def _highest(ranked: Int64s, rows: Int64s) -> Int64s:
    """Return those of ``rows`` that share the highest total."""
    if not len(rows):
        return rows
    totals = ranked[rows]
    best: Int64s = rows[totals == totals.max()]
    return best

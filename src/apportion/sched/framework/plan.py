"""Plans: which columns judge a pod. Worked out once per pod kind; per-pod plugins are asked for every pod."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from apportion.sched.framework.columns import FilterColumn, RowGroups, ScoreColumn
from apportion.sched.framework.diagnosis import PRE_FILTER
from apportion.sched.framework.plugin import FilterPlugin, ScorePlugin, name_fault
from apportion.sched.framework.profile import Profile
from apportion.sched.framework.ranking import Ranking
from apportion.sched.framework.status import Code, Status, unresolvable
from apportion.sched.state import Bools, ClusterState, Int64s, NodeTable, PodInfo

if TYPE_CHECKING:
    from apportion.sched.framework.meter import PluginMeter

RANKING_BYTES_MAX: Final = 256 << 20
_PodFilters: TypeAlias = list[tuple[int, FilterPlugin]]  # with their positions in the profile
_PodScores: TypeAlias = list[tuple[int, ScorePlugin, int]]  # and their weights
_PodPlugins: TypeAlias = tuple[_PodFilters, _PodScores]


@dataclass(slots=True)
class Plan:
    """How to judge one pod.

    ``filters`` and ``scores`` are in profile order, as (position, plugin name, column). ``rejected`` is set when
    PreFilter turned the pod down. ``states`` holds what per-pod plugins want back in Reserve and PreBind.
    """

    filters: list[tuple[int, str, FilterColumn]] = field(default_factory=list)
    scores: list[tuple[int, str, int, ScoreColumn]] = field(default_factory=list)
    node_names: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()
    rejected: Status | None = None
    other_rejections: tuple[str, ...] = ()
    states: dict[str, object] = field(default_factory=dict)
    ranking: Ranking | None = None


class NamedNodes:
    """The column of a PreFilter result that names the nodes: everything else is out."""

    __slots__ = ("_names", "_nodes", "_seen", "_status", "ok", "stamp")
    keeps_reasons = True
    reads_pods = False

    def __init__(self, nodes: NodeTable, names: frozenset[str], plugins: tuple[str, ...]) -> None:
        self._nodes = nodes
        self._names = names
        self._status = unresolvable(PRE_FILTER, f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]")
        self.stamp = 0
        self._compute()

    def _compute(self) -> None:
        self._seen = self._nodes.changes.head
        self.ok: Bools = np.zeros(self._nodes.rows, np.bool_)
        for name in self._names:
            row = self._nodes.row_of.get(name)
            if row is not None:
                self.ok[row] = True

    def refresh(self) -> None:
        """Bring ``ok`` up to date."""
        if self._seen != self._nodes.changes.head:
            self._compute()

    def statuses(self, rows: Int64s) -> RowGroups:
        """All rows are left out for the same reason."""
        return [(self._status, rows)]


class Planner:
    """Makes plans for one profile and keeps the rankings that they lead to."""

    def __init__(self, state: ClusterState, profile: Profile) -> None:
        self._state = state
        self._profile = profile
        self._kind_filters = [(i, p) for i, p in enumerate(profile.filters) if not p.per_pod]
        self._pod_filters = [(i, p) for i, p in enumerate(profile.filters) if p.per_pod]
        self._kind_scores = [(i, p, w) for i, (p, w) in enumerate(profile.scores) if not p.per_pod]
        self._pod_scores = [(i, p, w) for i, (p, w) in enumerate(profile.scores) if p.per_pod]
        self._pod_plugins: dict[tuple[bool, bool], _PodPlugins] = {}  # by whether a pod has devices, and volumes
        self._rankings: OrderedDict[tuple[int, ...], Ranking] = OrderedDict()
        self.meter: PluginMeter | None = None  # times each plugin, if anybody wants to know
        self._ranking_bytes = 0

    def plan(self, pod: PodInfo) -> Plan:
        """Return how to judge ``pod``. Free for a kind that was met before, but for its per-pod plugins."""
        kind = pod.kind
        base = kind.plan
        if not isinstance(base, Plan) or kind.plan_epoch != self._state.plan_epoch:
            base = self._plan_kind(pod)
            kind.plan = base
            # the columns were built just now, so nothing they depend on is newer than this
            kind.plan_epoch = self._state.plan_epoch
        filters, scores = self._find_pod_plugins(pod)
        if not filters and not scores:
            if base.ranking is None:
                base.ranking = self._ranking(base)
            return base
        plan = self._add_pod(base, pod, filters, scores)
        plan.ranking = self._ranking(plan)
        return plan

    def _find_pod_plugins(self, pod: PodInfo) -> _PodPlugins:
        """Return the per-pod plugins that have a say about a pod: those for what it has, and those for any pod."""
        template = pod.kind.template
        has_devices = bool(template.spec.resource_claims) or bool(
            template.extended_resources and self._state.list_device_resources(pod)
        )
        topics = (has_devices, bool(template.spec.volumes))
        found = self._pod_plugins.get(topics)
        if found is None:
            about = {"", *(["devices"] if topics[0] else []), *(["volumes"] if topics[1] else [])}
            filters = [(i, p) for i, p in self._pod_filters if getattr(p, "is_about", "") in about]
            scores = [(i, p, w) for i, p, w in self._pod_scores if getattr(p, "is_about", "") in about]
            found = self._pod_plugins[topics] = (filters, scores)
        return found

    def _plan_kind(self, pod: PodInfo) -> Plan:
        plan = Plan()
        for index, plugin in self._kind_filters:
            self._ask_filter(plan, index, plugin, pod)
        self._narrow(plan)
        for index, scorer, weight in self._kind_scores:
            self._ask_score(plan, index, scorer, weight, pod)
        asked_later = self._find_pod_plugins(pod)[1]
        for entry in self._pod_scores:
            if entry not in asked_later:
                self._ask_score(plan, *entry, pod)
        plan.scores.sort(key=lambda s: s[0])
        return plan

    def _add_pod(self, base: Plan, pod: PodInfo, filters: _PodFilters, scores: _PodScores) -> Plan:
        plan = Plan(
            list(base.filters), list(base.scores), base.node_names, base.narrowed_by, base.rejected,
            base.other_rejections,
        )  # fmt: skip
        for index, plugin in filters:
            self._ask_filter(plan, index, plugin, pod)
        if len(plan.narrowed_by) > len(base.narrowed_by):
            self._narrow(plan)
        plan.filters.sort(key=lambda f: f[0])
        for index, scorer, weight in scores:
            self._ask_score(plan, index, scorer, weight, pod)
        plan.scores.sort(key=lambda s: s[0])
        return plan

    def _ask_filter(self, plan: Plan, index: int, plugin: FilterPlugin, pod: PodInfo) -> None:
        rejected = plan.rejected
        if rejected is not None and rejected.code is not Code.UNSCHEDULABLE:
            return  # as upstream: only a plain Unschedulable lets the other plugins have their say
        meter = self.meter
        begun_s = meter.now() if meter is not None else 0.0
        try:
            result = plugin.pre_filter(pod)
        except Exception as fault:
            raise name_fault(plugin, fault) from fault
        if meter is not None and meter.is_sampled:
            meter.answered(plugin.name, begun_s, result.status)
        if result.status is not None:
            if rejected is None:
                plan.rejected = result.status
            else:
                plan.other_rejections += (plugin.name,)
        if result.node_names is not None:
            known = plan.node_names
            plan.node_names = result.node_names if known is None else known & result.node_names
            plan.narrowed_by += (plugin.name,)
        if result.column is not None:
            plan.filters.append((index, plugin.name, result.column))
        plan.states[plugin.name] = result.state

    def _ask_score(self, plan: Plan, index: int, plugin: ScorePlugin, weight: int, pod: PodInfo) -> None:
        meter = self.meter
        begun_s = meter.now() if meter is not None else 0.0
        try:
            column = plugin.pre_score(pod, plan.states.get(plugin.name))
        except Exception as fault:
            raise name_fault(plugin, fault) from fault
        if meter is not None and meter.is_sampled:
            meter.note(plugin.name, "PreScore", begun_s)
        if column is not None:
            plan.scores.append((index, plugin.name, weight, column))

    def _narrow(self, plan: Plan) -> None:
        if plan.node_names is None:
            return
        plan.filters = [f for f in plan.filters if f[0] >= 0]
        plan.filters.insert(0, (-1, PRE_FILTER, NamedNodes(self._state.nodes, plan.node_names, plan.narrowed_by)))

    def _ranking(self, plan: Plan) -> Ranking:
        """Return the ranking over the plan's columns; columns are shared, so equal plans meet here."""
        key = tuple([id(c) for _, _, c in plan.filters] + [0] + [id(c) for _, _, _, c in plan.scores])
        ranking = self._rankings.get(key)
        if ranking is None:
            ranking = Ranking(
                self._state.nodes,
                tuple(c for _, _, c in plan.filters),
                tuple((w, c) for _, _, w, c in plan.scores),
            )
            self._rankings[key] = ranking  # holds the columns, so their ids stay theirs
            most = max(16, RANKING_BYTES_MAX // (8 * max(1, self._state.nodes.rows)))
            while len(self._rankings) > most:
                self._rankings.popitem(last=False)
        else:
            self._rankings.move_to_end(key)
        return ranking

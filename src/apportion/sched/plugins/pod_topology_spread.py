"""PodTopologySpread: keeps matching pods evenly spread over zones, nodes or any other topology."""

from collections.abc import Sequence

import numpy as np

from apportion.sched.framework.columns import MAX_NODE_SCORE, RowGroups, Scored
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import unresolvable, unschedulable
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.label_interests import any_pod, find_interests, name_labels
from apportion.sched.plugins.spread_constraints import (
    HOSTNAME,
    Spread,
    SpreadDefaults,
    eligible_nodes,
    get_constraints,
    is_hard,
    read_defaults,
)
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import Bools, ClusterState, DomainCounter, Int64s, PodCounter, PodInfo, PodKind

_COLUMNS_MAX = 1024
_NAME = "PodTopologySpread"
_UNEVEN = unschedulable(_NAME, "node(s) didn't match pod topology spread constraints")
_NO_LABEL = unresolvable(_NAME, "node(s) didn't match pod topology spread constraints (missing required label)")
_NO_DOMAIN_COUNT = (1 << 31) - 1  # upstream's starting minimum: without domains the skew is far below any limit


class PodTopologySpread:
    """Hard constraints filter, soft ones score. Behaviour: plugins/podtopologyspread."""

    name = _NAME
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._defaults: SpreadDefaults = read_defaults(handle.args)
        has_hard_defaults = any(map(is_hard, self._defaults.constraints))
        self._default_interests = (any_pod(self.name),) if has_hard_defaults else ()
        self._filters: dict[tuple[object, ...], SpreadColumn] = {}
        self._scores: dict[tuple[object, ...], SpreadScore] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes where placing the pod keeps every skew within its limit."""
        kind = pod.kind
        constraints = get_constraints(self._state, kind, self._defaults, hard=True)
        if not constraints:
            return NOTHING_TO_FILTER
        key = self._key(kind, constraints)
        column = self._filters.get(key)
        if column is None:
            if len(self._filters) >= _COLUMNS_MAX:
                self._filters.clear()
            column = self._filters[key] = SpreadColumn(self._state, kind, constraints)
        return PreFilterResult(column=column)

    def pre_score(self, pod: PodInfo, state: object) -> "SpreadScore | None":
        """Return the column that prefers nodes in emptier domains; None without soft constraints."""
        kind = pod.kind
        constraints = get_constraints(self._state, kind, self._defaults, hard=False)
        if not constraints:
            return None
        lenient = self._defaults.is_system and not kind.template.spec.topology_spread_constraints
        key = (*self._key(kind, constraints), lenient)
        column = self._scores.get(key)
        if column is None:
            if len(self._scores) >= _COLUMNS_MAX:
                self._scores.clear()
            column = self._scores[key] = SpreadScore(self._state, kind, constraints, lenient)
        return column

    def _key(self, kind: PodKind, constraints: tuple[Spread, ...]) -> tuple[object, ...]:
        """Return what the columns read: the constraints, and what decides which nodes are eligible."""
        masks = self._state.masks
        spec = kind.template.spec
        admitted = masks.admitted(spec) if any(c.honors_affinity for c in constraints) else None
        tolerations = spec.tolerations if any(c.honors_taints for c in constraints) else ()
        return tuple(c.key for c in constraints), id(admitted), tolerations

    def events_to_register(self) -> Sequence[Registration]:
        """Pods that appear, go or change labels; nodes that appear, go or change labels or taints."""
        pods = ClusterEvent("AssignedPod", ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL)
        mine = ClusterEvent("TargetPod", ActionType.UPDATE_POD_LABEL)
        node = ClusterEvent(
            "Node",
            ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT,
        )
        return [
            Registration(self.name, pods, self._hint_pod, self._narrow_pod, per_kind=True),
            Registration(self.name, mine, None),
            Registration(self.name, node, None),
        ]

    def interests(self, pod: PodInfo) -> tuple[str, ...]:
        """Return labels of the pods that are counted for the pod's constraints."""
        if not pod.spec.topology_spread_constraints:
            # the selectors of default constraints may change while the pod is parked
            return self._default_interests
        hard = get_constraints(self._state, pod.kind, self._defaults, hard=True)
        return find_interests(self.name, (matcher for spread in hard for _, matcher in spread.clauses))

    def _narrow_pod(self, old: object, new: object) -> tuple[str, ...] | None:
        """Only pods that count the labels can be helped; see `_hint_pod`."""
        return name_labels(self.name, *(pod.labels for pod in (old, new) if isinstance(pod, PodInfo)))

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        for spread in get_constraints(self._state, pod.kind, self._defaults, hard=True):
            for other in (old, new):
                if not isinstance(other, PodInfo) or other.namespace != pod.namespace:
                    continue
                if all(matcher.matches(other.labels) for _, matcher in spread.clauses):
                    return Hint.QUEUE
        return Hint.SKIP


class SpreadCounts:
    """The domain counts of a list of constraints, each over its own eligible nodes."""

    def __init__(
        self, state: ClusterState, kind: PodKind, constraints: tuple[Spread, ...], keys: tuple[str, ...]
    ) -> None:
        self._state = state
        self._kind = kind
        self._constraints = constraints
        self._keys = keys
        self.counters: list[PodCounter] = []
        self.domains: list[DomainCounter] = []
        self._seen_nodes = state.nodes.changes.head
        for spread in constraints:
            counter = state.groups.counter(spread.clauses)
            column = state.nodes.label_column(spread.topology_key)
            mask = eligible_nodes(state, kind, spread, keys)
            self.counters.append(counter)
            self.domains.append(DomainCounter(counter, state.nodes, column, mask))

    def refresh(self) -> int:
        """Count again after nodes changed; returns a number that rises with every change of the counts."""
        head = self._state.nodes.changes.head
        if self._seen_nodes != head:
            self._seen_nodes = head
            for spread, domain in zip(self._constraints, self.domains, strict=True):
                domain.recount(eligible_nodes(self._state, self._kind, spread, self._keys))
        return head + sum(d.version for d in self.domains)


class SpreadColumn:
    """Rows where no hard constraint's skew would exceed its limit."""

    keeps_reasons = True

    def __init__(self, state: ClusterState, kind: PodKind, constraints: tuple[Spread, ...]) -> None:
        keys = tuple(sorted({c.topology_key for c in constraints}))
        self._nodes = state.nodes
        self._constraints = constraints
        self.counts = SpreadCounts(state, kind, constraints, keys)
        self.stamp = 0
        self._version = -1
        self.ok: Bools = np.zeros(0, np.bool_)
        self.refresh()

    def refresh(self) -> None:
        """Bring ``ok`` up to date; free while no counted pod and no node changed."""
        version = self.counts.refresh()
        if version == self._version:
            return
        self._version = version
        ok: Bools = self._nodes.valid.copy()
        for spread, domain in zip(self._constraints, self.counts.domains, strict=True):
            ok &= _within(spread, domain).take(domain.column.ids)
        self.ok = ok
        self.stamp += 1

    def statuses(self, rows: Int64s) -> RowGroups:
        """The first constraint that fails decides: a missing label, or too much skew."""
        groups: RowGroups = []
        for spread, domain in zip(self._constraints, self.counts.domains, strict=True):
            ids = domain.column.ids[rows]
            groups.append((_NO_LABEL, rows[ids < 0]))
            uneven = (ids >= 0) & ~_within(spread, domain).take(ids)
            groups.append((_UNEVEN, rows[uneven]))
            rows = rows[(ids >= 0) & ~uneven]
        return [(status, found) for status, found in groups if len(found)]


def _within(spread: Spread, domain: DomainCounter) -> Bools:
    """Return [value id] bool: one more pod there keeps the skew within the limit; the last slot is False."""
    counts = domain.live
    if spread.min_domains is not None and len(domain.present) < spread.min_domains:
        lowest = 0
    else:
        lowest = int(counts[domain.present].min(initial=_NO_DOMAIN_COUNT))
    ok: Bools = counts + int(spread.matches_self) - lowest <= spread.max_skew
    if len(ok) <= len(domain.column.values):  # values that no counted node has yet
        ok = np.append(ok, np.ones(len(domain.column.values) - len(ok) + 1, np.bool_))
    ok[-1] = False
    return ok


class SpreadScore(Scored):
    """Fewer matching pods in a node's domains are better, more so where there are many domains."""

    def __init__(self, state: ClusterState, kind: PodKind, constraints: tuple[Spread, ...], lenient: bool) -> None:
        super().__init__(pointwise=False)
        self._nodes = state.nodes
        self._constraints = constraints
        self._keys = tuple(sorted({c.topology_key for c in constraints}))
        self._lenient = lenient
        self.counts = SpreadCounts(state, kind, constraints, () if lenient else self._keys)
        self._version = -1

    def refresh(self) -> None:
        """Note that counts or nodes changed; scores depend on the feasible nodes and are worked out when asked."""
        version = self.counts.refresh()
        if version != self._version:
            self._version = version
            self.stamp += 1

    def _ignored(self) -> Bools:
        """Return [row] bool: nodes without one of the keys get no score, unless the built-in defaults apply."""
        ignored = np.zeros(self._nodes.rows, np.bool_)
        if not self._lenient:
            for key in self._keys:
                ignored |= ~self._nodes.label_column(key).has()
        return ignored

    def raw_scores(self, ok: Bools) -> Int64s:
        """Return the weighted counts, rounded; nodes that are ignored have 0."""
        ignored = self._ignored()
        counted = ok & ~ignored
        total = np.zeros(len(ok), np.float64)
        for spread, domain, pods in zip(self._constraints, self.counts.domains, self.counts.counters, strict=True):
            ids = domain.column.ids
            present = ids >= 0
            if spread.topology_key == HOSTNAME:
                pods.ensure(len(ok))
                count: Int64s = pods.live[: len(ok)].astype(np.int64)
                domains = int(counted.sum())
            else:
                count = domain.live.take(ids)
                domains = int(np.count_nonzero(np.bincount(ids[counted & present])))
                domains += bool((counted & ~present).any())  # nodes without the key form one more domain
            weight = np.log(domains + 2)
            total += np.where(present, count * weight + (spread.max_skew - 1), 0.0)
        raw = np.floor(total + 0.5).astype(np.int64)
        raw[ignored] = 0
        return raw

    def normalized(self, ok: Bools) -> Int64s:
        """Turn the counts around, so that the emptiest feasible domain has the highest score."""
        raw = self.raw_scores(ok)
        ignored = self._ignored()
        scored = raw[ok & ~ignored]
        highest = int(scored.max(initial=0))
        if highest == 0:
            result = np.full(len(ok), MAX_NODE_SCORE, np.int64)
        else:
            lowest = int(scored.min())
            result = MAX_NODE_SCORE * (highest + lowest - raw) // highest
        result[ignored] = 0
        return result

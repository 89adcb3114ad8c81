"""InterPodAffinity: pods that want to be near, or away from, other pods."""

from collections.abc import Callable, Sequence

import numpy as np

from apportion.base import ConfigError
from apportion.sched.framework.columns import MAX_NODE_SCORE, RowGroups, Scored
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import unresolvable, unschedulable
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.label_interests import find_interests, name_labels
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import (
    NO_TERMS,
    PREFERRED,
    PREFERRED_ANTI,
    REQUIRED,
    REQUIRED_ANTI,
    AffinityTerm,
    Bools,
    ClusterState,
    DomainCounter,
    Int64s,
    PodInfo,
    PodKind,
    PodTerms,
    RunningTerm,
    get_terms,
)

_COLUMNS_MAX = 1024
_NAME = "InterPodAffinity"
_NO_AFFINITY = unresolvable(_NAME, "node(s) didn't match pod affinity rules")
_ANTI_AFFINITY = unschedulable(_NAME, "node(s) didn't match pod anti-affinity rules")
_EXISTING = unschedulable(_NAME, "node(s) didn't satisfy existing pods anti-affinity rules")


class InterPodAffinity:
    """Reads counts by topology domain; never walks pods. Behaviour: plugins/interpodaffinity."""

    name = _NAME
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._hard_weight = _read_hard_weight(handle.args.get("hardPodAffinityWeight", 1))
        self._ignore_existing = bool(handle.args.get("ignorePreferredTermsOfExistingPods", False))
        self._filters: dict[tuple[object, ...], AffinityColumn] = {}
        self._scores: dict[tuple[object, ...], AffinityScore] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column for the pod's required terms and the running anti-affinity terms that look for it."""
        kind = pod.kind
        terms = get_terms(kind)
        existing = tuple(t for t in self._running(kind) if t.role == REQUIRED_ANTI)
        if not (terms.required or terms.required_anti or existing):
            return NOTHING_TO_FILTER
        matches_self = all(self._matches_kind(t, kind) for t in terms.required)
        key = (
            tuple(t.key for t in terms.required),
            tuple(t.key for t in terms.required_anti),
            tuple(t.number for t in existing),
            matches_self,
        )
        column = self._filters.get(key)
        if column is None:
            if len(self._filters) >= _COLUMNS_MAX:
                self._filters.clear()
            column = self._filters[key] = AffinityColumn(self._state, terms, existing, matches_self)
        return PreFilterResult(column=column)

    def pre_score(self, pod: PodInfo, state: object) -> "AffinityScore | None":
        """Return the column that adds up weights; None when no term on either side could give any."""
        kind = pod.kind
        terms = get_terms(kind)
        own = [(t, t.weight) for t in terms.preferred] + [(t, -t.weight) for t in terms.preferred_anti]
        running = self._weighted_running(kind, bool(own))
        if not own and not running:
            return None
        key = (
            tuple((t.key, w) for t, w in own),
            tuple((t.number, w) for t, w in running),
        )
        column = self._scores.get(key)
        if column is None:
            if len(self._scores) >= _COLUMNS_MAX:
                self._scores.clear()
            column = self._scores[key] = AffinityScore(self._state, own, running)
        return column

    def _running(self, kind: PodKind) -> tuple[RunningTerm, ...]:
        state = self._state
        labels = state.namespace_labels(kind.namespace)
        return state.terms.matching(kind.group, labels, state.plan_epoch)

    def _weighted_running(self, kind: PodKind, has_own: bool) -> list[tuple[RunningTerm, int]]:
        if self._ignore_existing and not has_own:
            return []
        weigh: dict[str, Callable[[int], int]] = {
            REQUIRED: lambda _: self._hard_weight,
            PREFERRED: lambda w: 0 if self._ignore_existing else w,
            PREFERRED_ANTI: lambda w: 0 if self._ignore_existing else -w,
        }
        found = [(t, weigh[t.role](t.term.weight)) for t in self._running(kind) if t.role in weigh]
        return [(t, w) for t, w in found if w]

    def _matches_kind(self, term: AffinityTerm, kind: PodKind) -> bool:
        return term.matches_kind(kind, self._state.namespace_labels(kind.namespace))

    # ---- events -------------------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[Registration]:
        """Pods that appear, go or change labels; nodes that appear or change labels; namespaces."""
        pods = ClusterEvent("AssignedPod", ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_POD_LABEL)
        mine = ClusterEvent("TargetPod", ActionType.UPDATE_POD_LABEL)
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        namespace = ClusterEvent("Namespace", ActionType.ADD | ActionType.UPDATE)
        return [
            Registration(self.name, pods, self._hint_pod, self._narrow_pod, per_kind=True),
            Registration(self.name, mine, None),
            Registration(self.name, node, None),
            Registration(self.name, namespace, self._hint_namespace, per_kind=True),
        ]

    def interests(self, pod: PodInfo) -> tuple[str, ...]:
        """Return labels of the pods that the pod wants beside it, or not."""
        terms = get_terms(pod.kind)
        if terms is NO_TERMS:
            return ()
        return find_interests(self.name, (t.matcher for t in (*terms.required, *terms.required_anti)))

    def _narrow_pod(self, old: object, new: object) -> tuple[str, ...] | None:
        """Only pods that look for the labels can be helped, unless a pod goes that kept others away."""
        if isinstance(old, PodInfo) and get_terms(old.kind).required_anti:
            return None
        return name_labels(self.name, *(pod.labels for pod in (old, new) if isinstance(pod, PodInfo)))

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        """An added pod helps if an affinity term looks for it; a removed one if anti-affinity kept us apart."""
        terms = get_terms(pod.kind)
        for other, wanted in ((new, terms.required), (old, terms.required_anti)):
            if isinstance(other, PodInfo) and any(self._matches_kind(t, other.kind) for t in wanted):
                return Hint.QUEUE
        if isinstance(old, PodInfo):
            theirs = get_terms(old.kind).required_anti
            if any(self._matches_kind(t, pod.kind) for t in theirs):
                return Hint.QUEUE
        return Hint.SKIP

    def _hint_namespace(self, pod: PodInfo, old: object, new: object) -> Hint:
        terms = get_terms(pod.kind)
        return Hint.QUEUE if any(t.scope.selector for t in (*terms.required, *terms.required_anti)) else Hint.SKIP


def _read_hard_weight(raw: object) -> int:
    if not isinstance(raw, int) or not 0 <= raw <= 100:
        raise ConfigError("InterPodAffinityArgs.hardPodAffinityWeight: must be a whole number from 0 to 100")
    return raw


class AffinityColumn:
    """Rows where required affinity holds, and no required anti-affinity of either side is violated."""

    __slots__ = (
        "_confined", "_cursor", "_forbidden", "_matches_self", "_near", "_nodes", "_own_count", "_seen_nodes",
        "_version", "ok", "stamp",
    )  # fmt: skip
    keeps_reasons = True

    def __init__(
        self, state: ClusterState, terms: PodTerms, existing: tuple[RunningTerm, ...], matches_self: bool
    ) -> None:
        groups = state.groups
        every = tuple((t.scope, t.matcher) for t in terms.required)
        self._nodes = state.nodes
        self._near = [groups.domain(every, t.topology_key) for t in terms.required]
        own = [groups.domain(((t.scope, t.matcher),), t.topology_key) for t in terms.required_anti]
        self._own_count = len(own)
        self._forbidden: list[DomainCounter] = own + [t.domain for t in existing]
        self._matches_self = matches_self
        self.stamp = 0
        self._recompute_all()

    def _recompute_all(self) -> None:
        self._seen_nodes = self._nodes.changes.head
        for domain in (*self._near, *self._forbidden):
            domain.current()
        # with one node per domain a pod changes the answer on its own row only
        self._confined = not self._near and all(d.column.is_unique() for d in self._forbidden)
        self._compute()

    def _versions(self) -> int:
        return sum(d.version for d in self._near) + sum(d.version for d in self._forbidden)

    def _compute(self) -> None:
        self._cursor = self._nodes.usage.head
        self._version = self._versions()
        ok: Bools = self._nodes.valid.copy()
        if self._near:
            ok &= self._affinity()
        for domain in self._forbidden:
            ok &= (domain.all == 0).take(domain.column.ids)
        self.ok = ok
        self.stamp += 1

    def _affinity(self) -> Bools:
        ok: Bools = self._nodes.valid.copy()
        for domain in self._near:
            ok &= domain.column.has()
        # a pod may be the first of its series: no pod anywhere matches, and it matches its own terms
        if self._matches_self and not any(d.all.any() for d in self._near):
            return ok
        for domain in self._near:
            ok &= (domain.all > 0).take(domain.column.ids)
        return ok

    def refresh(self) -> None:
        """Bring ``ok`` up to date; free while no counted pod changed, one row when domains are single nodes."""
        nodes = self._nodes
        if self._seen_nodes != nodes.changes.head:
            self._recompute_all()
            return
        if self._version == self._versions():
            return
        rows = nodes.usage.since(self._cursor, 32) if self._confined else None
        if rows is None:
            self._compute()
            return
        self._cursor = nodes.usage.head
        self._version = self._versions()
        for row in rows:
            self.ok[row] = nodes.valid[row] and all(d.all[d.column.ids[row]] == 0 for d in self._forbidden)

    def statuses(self, rows: Int64s) -> RowGroups:
        """Say which side objects: affinity first, then the pod's anti-affinity, then that of existing pods."""
        groups: RowGroups = []
        if self._near:
            far = ~self._affinity()[rows]
            groups.append((_NO_AFFINITY, rows[far]))
            rows = rows[~far]
        own = np.zeros(len(rows), np.bool_)
        for domain in self._forbidden[: self._own_count]:
            own |= domain.all.take(domain.column.ids[rows]) > 0
        groups.append((_ANTI_AFFINITY, rows[own]))
        groups.append((_EXISTING, rows[~own]))
        return [(status, found) for status, found in groups if len(found)]


class AffinityScore(Scored):
    """The weights that a node's domains collect, from the pod's terms and from those of running pods."""

    __slots__ = ("_nodes", "_seen_nodes", "_terms", "_version")

    def __init__(
        self,
        state: ClusterState,
        own: list[tuple[AffinityTerm, int]],
        running: list[tuple[RunningTerm, int]],
    ) -> None:
        super().__init__(pointwise=False)
        self._nodes = state.nodes
        self._terms = [(state.groups.domain(((t.scope, t.matcher),), t.topology_key), w) for t, w in own]
        self._terms += [(t.domain, w) for t, w in running]
        self._version = -1
        self._seen_nodes = -1
        self.refresh()

    def refresh(self) -> None:
        """Bring ``raw`` up to date; free while no counted pod and no node changed."""
        version = sum(d.version for d, _ in self._terms)
        if version == self._version and self._seen_nodes == self._nodes.changes.head:
            return
        self._version = version
        self._seen_nodes = self._nodes.changes.head
        by_key: dict[str, Int64s] = {}
        self.skip = True
        for domain, weight in self._terms:
            counts = domain.current().all
            if not counts.any():
                continue
            self.skip = False
            self._add(by_key, domain.column.key, weight * counts)
        raw = np.zeros(self._nodes.rows, np.int64)
        for key, weights in by_key.items():
            raw += weights.take(self._nodes.label_column(key).ids)
        self.raw = raw
        # equal everywhere means 0 everywhere after scaling
        self.constant = None if len(raw) and raw.min() != raw.max() else 0
        self.stamp += 1

    @staticmethod
    def _add(by_key: dict[str, Int64s], key: str, weights: Int64s) -> None:
        known = by_key.get(key)
        if known is None:
            by_key[key] = weights
            return
        longer, shorter = (known, weights) if len(known) >= len(weights) else (weights, known)
        longer[: len(shorter)] += shorter
        by_key[key] = longer

    def normalized(self, ok: Bools) -> Int64s:
        """Spread the feasible scores over 0..100; all 0 when they are equal."""
        feasible = self.raw[ok]
        if not len(feasible):
            return np.zeros(len(ok), np.int64)
        lowest, highest = int(feasible.min()), int(feasible.max())
        if lowest == highest:
            return np.zeros(len(ok), np.int64)
        return (MAX_NODE_SCORE * ((self.raw - lowest) / (highest - lowest))).astype(np.int64)

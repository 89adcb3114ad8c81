"""Front door of the allocator: prepare a problem once, then ask node by node."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from msgspec import Struct

from apportion.alloc.explain import Explainer
from apportion.alloc.explanation import Explanation
from apportion.alloc.features import Features
from apportion.alloc.lineup import LineupIndex, PoolInput
from apportion.alloc.matching import MatcherIndex
from apportion.alloc.plan import Plan, build_plan
from apportion.alloc.pool_view import PoolView
from apportion.alloc.rejection import CANNOT_ALLOCATE
from apportion.alloc.result import ResultBuilder
from apportion.alloc.search import STEPS_MAX, Outcome, Search
from apportion.alloc.table import DeviceTable
from apportion.api.resource import AllocationResult, ResourceClaimSpec
from apportion.base import InvariantError

PLANS_MAX: Final = 2048
PROBLEMS_MAX: Final = 4096
ANSWERS_MAX: Final = 65536

_K = TypeVar("_K")
_V = TypeVar("_V")


class ClaimInput(Struct, frozen=True):
    """A claim to allocate; equal ``spec_id`` means equal ``spec`` (the caller interns)."""

    uid: str
    namespace: str
    name: str
    spec: ResourceClaimSpec
    spec_id: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether all claims can be allocated on the node.

    ``score`` is 8 minus the position of the chosen sub-request, summed over prioritized requests.
    """

    fits: bool
    reason: str = ""
    score: int = 0


class _Prepared:
    """A plan with what was learned about devices for it."""

    __slots__ = ("class_version", "lineups", "plain_lineups", "plan")

    def __init__(self, plan: Plan, features: Features, class_version: int) -> None:
        self.plan = plan
        self.lineups = LineupIndex(plan, features)
        # for nodes that cannot skip operations; the same ones when no node can
        self.plain_lineups = self.lineups
        if features.optional_node_operations:
            self.plain_lineups = LineupIndex(plan, replace(features, optional_node_operations=False))
        self.class_version = class_version

    @property
    def needs_names(self) -> bool:
        """Whether an answer may name a claim: All can be refused so, and so can a selector that fails."""
        plan = self.plan
        has_failures = self.lineups.has_failures or self.plain_lineups.has_failures
        return plan.rejection is not None or has_failures or any(a.takes_all for a in plan.alternatives)


def _keep(cache: OrderedDict[_K, _V], key: _K, value: _V, entries_max: int) -> _V:
    """Put an entry in; when the cache is full, the one not used for longest goes."""
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > entries_max:
        cache.popitem(last=False)
    return value


@dataclass(frozen=True, slots=True)
class Problem:
    """Claims to allocate together; made by ``Allocator.prepare``."""

    prepared: _Prepared
    claims: tuple[str, ...]  # namespace/name

    @property
    def fault(self) -> str | None:
        """Why no node needs to be asked, in the words of the PreFilter answer; None when all is well."""
        return self.prepared.plan.fault


@dataclass(frozen=True, slots=True)
class _Known:
    outcome: Outcome
    answer: Answer | None  # None when its text names claims or devices


class Allocator:
    """Answers per node whether claims can be allocated, and with which devices.

    Behaviour: ``dynamic-resource-allocation/structured`` of Kubernetes 1.37, all features in one search.
    """

    def __init__(self, table: DeviceTable, steps_max: int = STEPS_MAX) -> None:
        """``steps_max`` bounds the search on one node. ``work`` is what all searches so far have cost, in steps."""
        self._table = table
        self.steps_max = steps_max
        self.work = 0
        self._matchers = MatcherIndex()
        self._prepared: OrderedDict[tuple[int, ...], _Prepared] = OrderedDict()
        self._problems: OrderedDict[tuple[_Prepared, tuple[str, ...]], Problem] = OrderedDict()
        self._answers: OrderedDict[tuple[object, ...], _Known] = OrderedDict()

    @property
    def channel(self) -> str:
        """Which of upstream's allocators the features in use correspond to: stable, incubating or experimental."""
        return self._table.features.channel

    def prepare(self, claims: Sequence[ClaimInput]) -> Problem:
        """Read the claims; a dict lookup when the same specs were met before and classes are unchanged.

        Claims with equal specs get the very same Problem, unless its answers have to name the claims.
        """
        specs = tuple([c.spec_id for c in claims])
        prepared = self._prepared.get(specs)
        if prepared is None or not self._is_current(prepared):
            prepared = _keep(self._prepared, specs, self._build(claims), PLANS_MAX)
        names = tuple([f"{c.namespace}/{c.name}" for c in claims])
        key = (prepared, names if prepared.needs_names else ())
        return self._problems.get(key) or _keep(self._problems, key, Problem(prepared, names), PROBLEMS_MAX)

    def _is_current(self, prepared: _Prepared) -> bool:
        if prepared.class_version != self._table.class_version:
            if any(self._table.find_class(name) is not known for name, known in prepared.plan.classes):
                return False
            prepared.class_version = self._table.class_version
        return True

    def _build(self, claims: Sequence[ClaimInput]) -> _Prepared:
        table = self._table
        plan = build_plan([c.spec for c in claims], table.find_class, table.features, self._matchers)
        return _Prepared(plan, table.features, table.class_version)

    def judge(self, problem: Problem, node_name: str) -> Answer:
        """Return whether the claims can be allocated on the node; cost O(pools) when its state was met before.

        The reason is "cannot allocate all claims", or the text of what upstream treats as an error.
        """
        views = self._table.get_pools_at(node_name)
        known = self._find_known(problem.prepared, views, node_name)
        if known.answer is not None:
            return known.answer
        assert known.outcome.rejection is not None
        return Answer(False, known.outcome.rejection.describe(problem.claims, views))

    def would_fit(self, problem: Problem, node_name: str, holders: Collection[str]) -> bool:
        """Return whether the claims could be allocated if these holders had given back what they have."""
        views = self._table.get_pools_without(node_name, holders)
        return self._find_known(problem.prepared, views, node_name).outcome.picks is not None

    def _choose_lineups(self, prepared: _Prepared, node: str) -> LineupIndex:
        return prepared.lineups if self._table.may_skip_operations(node) else prepared.plain_lineups

    def _find_known(self, prepared: _Prepared, views: Sequence[PoolView], node: str) -> _Known:
        get_input = self._choose_lineups(prepared, node).get_input
        inputs = tuple([get_input(v.state) for v in views])
        key = (prepared, inputs)
        known = self._answers.get(key)
        if known is None:
            return _keep(self._answers, key, self._search(prepared, inputs), ANSWERS_MAX)
        self._answers.move_to_end(key)
        return known

    def _search(self, prepared: _Prepared, inputs: tuple[PoolInput, ...]) -> _Known:
        search = Search(prepared.plan, inputs, self._table.features, self.steps_max)
        outcome = search.run()
        self.work += search.work
        if outcome.picks is not None:
            return _Known(outcome, Answer(True, score=outcome.score))
        return _Known(outcome, None if outcome.rejection else Answer(False, CANNOT_ALLOCATE))

    def allocate(
        self, problem: Problem, node_name: str, make_share_id: Callable[[], str]
    ) -> tuple[AllocationResult, ...]:
        """Return the allocation of each claim, in order; the decision is that of ``judge``.

        ``make_share_id`` gives a new lower-case UUID for each share of a device. Raises InvariantError when
        the claims do not fit on the node.
        """
        views = self._table.get_pools_at(node_name)
        outcome = self._find_known(problem.prepared, views, node_name).outcome
        if outcome.picks is None:
            raise InvariantError(f"claims {', '.join(problem.claims)} were not judged to fit on {node_name}")
        builder = ResultBuilder(problem.prepared.plan, views, node_name, self._table.features, make_share_id)
        return builder.build(outcome.picks)

    def explain(self, problem: Problem, node_name: str) -> Explanation:
        """Say what the node has for each request and what stands in the way; slower than ``judge``."""
        views = self._table.get_pools_at(node_name)
        answer = self.judge(problem, node_name)
        plan, lineups = problem.prepared.plan, self._choose_lineups(problem.prepared, node_name)
        explainer = Explainer(self._table, self._matchers, views, problem.claims)
        return explainer.explain(plan, lineups, node_name, answer.fits, answer.reason)

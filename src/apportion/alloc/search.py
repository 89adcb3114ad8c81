"""The exact search for one node: depth first, first fit, the first complete solution wins.

Order of choices as upstream: claims, their requests, a request's alternatives, devices by pool and position,
the devices of one request in ascending order. Differences are only in what is skipped: branches that counting
shows to be empty, devices interchangeable with one that failed in the same place, and requests that have failed
before on just what is left.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from apportion.alloc.checks import (
    Check,
    CompatibilityGroups,
    ConsumableCapacity,
    DistinctAttribute,
    MatchAttribute,
    Pick,
    SharedCounters,
)
from apportion.alloc.demand import Demand, Place, reject_failure
from apportion.alloc.features import Features
from apportion.alloc.lineup import PoolInput
from apportion.alloc.occupancy import Occupancy
from apportion.alloc.plan import RESULTS_MAX, Alternative, Plan
from apportion.alloc.rejection import INVALID_POOLS, Rejected, Rejection

STEPS_MAX: Final = 50_000

# A level of the search: each step tries the next choice and yields the level below it (None: all is placed);
# when it ends, all its choices have failed.
_Level: TypeAlias = Iterator["_Level | None"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer for one node, in positions; ``picks`` is None when the claims cannot be allocated there."""

    picks: tuple[Pick, ...] | None
    rejection: Rejection | None = None  # a reason beyond "cannot allocate all claims"
    steps: int = 0

    @property
    def score(self) -> int:
        """Sum of the scores of the chosen alternatives, each request counted once."""
        chosen = {p.alternative.request: p.alternative for p in self.picks or ()}
        return sum(a.score for a in chosen.values())


class Search:
    """One run over the pools of a node, ``pools`` in first-fit order."""

    def __init__(self, plan: Plan, pools: Sequence[PoolInput], features: Features, steps_max: int = STEPS_MAX) -> None:
        self._plan = plan
        self._pools = pools
        self._steps_max = steps_max
        self._occupancy = Occupancy(pools)
        self._capacity = ConsumableCapacity(pools)
        self._all_checks: list[Check] = []
        self._checks = self._choose_checks(features)
        self._failed: set[Hashable] = set()  # (request, all that decides about it) that led nowhere
        self.work = 0  # levels entered or left, and devices that a check refused
        self._picks: list[Pick] = []
        self._claim_sizes = [0] * len(plan.specs)

    def run(self) -> Outcome:
        """Find the first solution, or say why there is none; at most ``steps_max`` steps."""
        try:
            if self._plan.rejection is not None:
                raise Rejected(self._plan.rejection)
            self._demand = Demand(self._plan, self._pools)
            if self._demand.is_hopeless(self._occupancy):
                return self._give_up(0)
            return self._descend()
        except Rejected as error:
            return Outcome(None, error.rejection)

    def _choose_checks(self, features: Features) -> list[tuple[Check, ...]]:
        """Choose the checks of each alternative, leaving out those that nothing here can fail."""
        pools = self._pools
        first: list[Check] = []
        if any(any(p.lineup.consumes) for p in pools):
            first.append(SharedCounters(pools))
        if any(p.groups or any(k.groups for k in p.lineup.kinds) for p in pools):
            first.append(CompatibilityGroups(pools))
        constraints: list[Check] = [
            DistinctAttribute(i, pools) if c.is_distinct else MatchAttribute(i, pools, features.list_type_attributes)
            for i, c in enumerate(self._plan.constraints)
        ]
        last: list[Check] = [self._capacity] if any(p.lineup.multi for p in pools) else []
        self._all_checks = [*first, *constraints, *last]
        return [(*first, *(constraints[c] for c in a.constraints), *last) for a in self._plan.alternatives]

    def _descend(self) -> Outcome:
        # The levels are generators on a stack of our own: a claim may be deeper than Python's call stack.
        stack = [self._choose(0)]
        while self.work < self._steps_max:
            self.work += 1
            try:
                deeper = next(stack[-1])
            except StopIteration:
                stack.pop()
                if not stack:
                    return self._give_up(self.work)
                continue
            if deeper is None:
                return Outcome(tuple(self._picks), None, self.work)
            stack.append(deeper)
        text = "search limit: no allocation was found in {detail} steps; fewer requests, alternatives or "
        raise Rejected(Rejection(f"{text}constraints make the search shorter", detail=str(self._steps_max)))

    def _give_up(self, steps: int) -> Outcome:
        has_invalid = any(p.lineup.fault_state == "invalid" for p in self._pools)
        return Outcome(None, Rejection(INVALID_POOLS) if has_invalid else None, steps)

    # ---- the levels ----------------------------------------------------------------------------------------

    def _choose(self, request_index: int) -> _Level:
        """Try the alternatives of a request, the preferred first."""
        if request_index == len(self._plan.requests):
            yield None
            return
        if self._failed and self._describe_rest(request_index) in self._failed:
            return
        request = self._plan.requests[request_index]
        room = RESULTS_MAX - self._claim_sizes[request.claim] - self._demand.least_after[request_index]
        for alternative in request.alternatives:
            if alternative.takes_all:
                if 0 < self._demand.get_count(alternative) <= room:
                    yield self._place_all(alternative, 0)
            elif alternative.count <= room:
                yield self._place(alternative, 0, (0, 0))
        if request_index:
            self._failed.add(self._describe_rest(request_index))  # every pick since has been given back

    def _describe_rest(self, request_index: int) -> Hashable:
        """Return all that decides whether the requests from here on can be served."""
        states = tuple([check.state() for check in self._all_checks])
        return (request_index, tuple(self._claim_sizes), self._occupancy.state(), states)

    def _place_all(self, alternative: Alternative, done: int) -> _Level:
        places = self._demand.all_places[alternative.id]
        if done == len(places):
            yield self._choose(alternative.request + 1)
            return
        pick = Pick(alternative, *places[done])
        if self._occupancy.is_free(pick) and self._take(pick):
            yield self._place_all(alternative, done + 1)
            self._give_back(pick)

    def _place(self, alternative: Alternative, done: int, start: Place) -> _Level:
        """Try the devices from ``start`` on as number ``done`` of an ExactCount request."""
        if done == alternative.count:
            yield self._choose(alternative.request + 1)
            return
        if not self._occupancy.can_supply(alternative, alternative.count - done, start):
            return
        tried: set[tuple[object, ...]] = set()
        for pool, device in self._occupancy.find_candidates(alternative, start):
            if self._pools[pool].lineup.failing[alternative.id] >> device & 1:
                raise reject_failure(self._pools[pool], alternative, pool, device)
            twin = self._describe_twin(alternative, pool, device)
            if twin in tried:
                continue
            tried.add(twin)
            pick = Pick(alternative, pool, device)
            if self._take(pick):
                yield self._place(alternative, done + 1, (pool, device + 1))
                self._give_back(pick)
            else:
                self.work += 1

    def _describe_twin(self, alternative: Alternative, pool: int, device: int) -> tuple[object, ...]:
        """Devices with equal descriptions lead to equal results from here on."""
        lineup = self._pools[pool].lineup
        kind = lineup.kinds[device]
        return (
            lineup.kind_ids[device],
            # Counters and compatibility groups belong to a pool, so twins of another pool are none.
            pool if kind.consumes or kind.groups else -1,
            self._capacity.get_used(pool, device) if kind.multi else (),
            # An admin may look at a device that others hold; which one decides what is left for the rest.
            alternative.admin_access and self._occupancy.is_busy(pool, device),
        )

    # ---- picks ---------------------------------------------------------------------------------------------

    def _take(self, pick: Pick) -> bool:
        if self._pools[pick.pool].lineup.refused[pick.alternative.id] >> pick.device & 1:
            return False
        checks = self._checks[pick.alternative.id]
        for i, check in enumerate(checks):
            if not check.take(pick):
                for passed in reversed(checks[:i]):
                    passed.give_back(pick)
                self._refuse_must(pick, check)
                return False
        self._occupancy.take(pick)
        self._picks.append(pick)
        self._claim_sizes[pick.alternative.claim] += 1
        return True

    def _refuse_must(self, pick: Pick, check: Check) -> None:
        """Stop at a device that All must have and a constraint forbids: upstream calls that an error."""
        if pick.alternative.takes_all and isinstance(check, MatchAttribute | DistinctAttribute):
            text = (
                "claim {claim}, request {request}: cannot add device {device} because a claim constraint "
                "would not be satisfied"
            )
            own = pick.alternative
            raise Rejected(Rejection(text, own.claim, own.own_name, pool=pick.pool, device=pick.device))

    def _give_back(self, pick: Pick) -> None:
        self._claim_sizes[pick.alternative.claim] -= 1
        self._picks.pop()
        self._occupancy.give_back(pick)
        for check in reversed(self._checks[pick.alternative.id]):
            check.give_back(pick)

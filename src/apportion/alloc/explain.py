"""Explains a node's answer by counting devices per request and by leaving out constraints one at a time."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from apportion.alloc.attributes import describe_values
from apportion.alloc.explanation import (
    ClaimExplanation,
    ConstraintExplanation,
    Explanation,
    PoolProblem,
    RequestExplanation,
    SelectorError,
)
from apportion.alloc.lineup import Kind, LineupIndex, PoolInput
from apportion.alloc.matching import MatcherIndex, SelectorFailure
from apportion.alloc.plan import Alternative, Plan, build_plan
from apportion.alloc.pool_view import PoolView
from apportion.alloc.search import Search
from apportion.alloc.sentence import describe_blocker
from apportion.alloc.table import DeviceTable
from apportion.api.resource import ResourceClaimSpec
from apportion.api.selectors import tolerates

_MISSING_KEY: Final = re.compile(r"no such key: ([A-Za-z_][A-Za-z0-9_]*)")
# A trial only has to tell "possible" from "not found"; an explanation must not take seconds.
_TRIAL_STEPS_MAX: Final = 10_000
_PLENTY: Final = 1 << 80


class Explainer:
    """Looks at the pools of one node; nothing that it tries is remembered."""

    def __init__(
        self, table: DeviceTable, matchers: MatcherIndex, views: Sequence[PoolView], claims: Sequence[str]
    ) -> None:
        self._table = table
        self._matchers = matchers
        self._views = views
        self._claims = claims

    def explain(self, plan: Plan, lineups: LineupIndex, node: str, fits: bool, reason: str) -> Explanation:
        """Explain the answer (``fits``, ``reason``) for ``plan`` on ``node``."""
        pools = tuple(self._list_pool_problems())
        claims: tuple[ClaimExplanation, ...] = ()
        if plan.rejection is None:
            inputs = [lineups.get_input(v.state) for v in self._views]
            claims = tuple(self._explain_claim(plan, inputs, i) for i in range(len(plan.specs)))
        detail = describe_blocker(fits, reason, claims, pools, has_pools=bool(self._views))
        return Explanation(node, fits, reason, claims, pools, detail)

    def _list_pool_problems(self) -> Iterator[PoolProblem]:
        for view in self._views:
            driver, name = view.pool.key
            if view.fault is not None:
                yield PoolProblem(driver, name, view.fault.state, view.fault.why)
            elif view.pool.content is not None and view.pool.content.colliding_names:
                names = ", ".join(view.pool.content.colliding_names)
                why = f"published by more than one slice, can be allocated only once: {names}"
                yield PoolProblem(driver, name, "colliding", why)

    # ---- one claim -----------------------------------------------------------------------------------------

    def _explain_claim(self, plan: Plan, inputs: Sequence[PoolInput], claim: int) -> ClaimExplanation:
        spec = plan.specs[claim]
        own = [a for a in plan.alternatives if a.claim == claim]
        fits_alone = self._can_allocate(spec)
        return ClaimExplanation(
            claim=self._claims[claim],
            fits_alone=fits_alone,
            requests=tuple(self._explain_request(a, inputs) for a in own),
            unmet_constraints=() if fits_alone else tuple(self._find_unmet(plan, inputs, claim)),
            exhausted=() if fits_alone else tuple(self._find_exhausted(spec)),
        )

    def _find_exhausted(self, spec: ResourceClaimSpec) -> Iterator[str]:
        """Yield what the claim would need more of: tried with plenty of each."""
        if self._can_allocate(spec, _fill_counters):
            yield "shared counters"
        if self._can_allocate(spec, _free_shares):
            yield "shared capacity"

    def _can_allocate(self, spec: ResourceClaimSpec, change: Callable[[PoolInput], PoolInput] | None = None) -> bool:
        """Try the claim on its own, with the pools as they are or changed."""
        table = self._table
        plan = build_plan([spec], table.find_class, table.features, self._matchers)
        lineups = LineupIndex(plan, table.features)
        inputs = [lineups.get_input(v.state) for v in self._views]
        if change is not None:
            inputs = [change(pool) for pool in inputs]
        return Search(plan, inputs, table.features, _TRIAL_STEPS_MAX).run().picks is not None

    def _find_unmet(self, plan: Plan, inputs: Sequence[PoolInput], claim: int) -> Iterator[ConstraintExplanation]:
        """Yield the constraints whose absence alone would make the claim possible."""
        spec = plan.specs[claim]
        for at, constraint in enumerate(plan.constraints):
            if constraint.claim != claim:
                continue
            others = tuple(c for i, c in enumerate(spec.devices.constraints) if i != constraint.index)
            trial = msgspec.structs.replace(spec, devices=msgspec.structs.replace(spec.devices, constraints=others))
            if self._can_allocate(trial):
                yield ConstraintExplanation(
                    index=constraint.index,
                    kind="distinctAttribute" if constraint.is_distinct else "matchAttribute",
                    attribute=constraint.attribute,
                    requests=constraint.spec.requests,
                    values=self._list_values(plan, inputs, at),
                )

    def _list_values(self, plan: Plan, inputs: Sequence[PoolInput], constraint: int) -> tuple[str, ...]:
        covered = [a for a in plan.alternatives if constraint in a.constraints]
        counts = Counter(
            describe_values(kind.values[constraint])
            for pool in inputs
            for i, kind in enumerate(pool.lineup.kinds)
            if any(kind.fits[a.id] == 1 for a in covered) and not pool.taken >> i & 1
        )
        return tuple(f"{value} on {count}" for value, count in sorted(counts.items()))

    # ---- one request ---------------------------------------------------------------------------------------

    def _explain_request(self, alternative: Alternative, inputs: Sequence[PoolInput]) -> RequestExplanation:
        matching = taken = free = 0
        for pool in inputs:
            fits, refused = pool.lineup.fits[alternative.id], pool.lineup.refused[alternative.id]
            # Admin access does not mind what others hold.
            held = 0 if alternative.admin_access else pool.taken
            matching += (fits | refused).bit_count()
            taken += ((fits | refused) & held).bit_count()
            free += (fits & ~held).bit_count()
        return RequestExplanation(
            request=alternative.name,
            device_class=alternative.class_name,
            wanted=None if alternative.takes_all else alternative.count,
            seen=sum(len(p.lineup.kinds) for p in inputs),
            matching=matching,
            taken=taken,
            tainted=sum(self._count_tainted(alternative, p, v) for p, v in self._pairs(inputs)),
            free=free,
            errors=self._list_errors(alternative, inputs),
        )

    def _pairs(self, inputs: Sequence[PoolInput]) -> Iterator[tuple[PoolInput, PoolView]]:
        return zip(inputs, self._views, strict=True)

    def _count_tainted(self, alternative: Alternative, pool: PoolInput, view: PoolView) -> int:
        refused = pool.lineup.refused[alternative.id]
        return sum(
            any(
                not any(tolerates(toleration, taint) for toleration in alternative.tolerations)
                for taint in device.signature.blocking_taints
            )
            for i, device in enumerate(view.devices)
            if refused >> i & 1
        )

    def _list_errors(self, alternative: Alternative, inputs: Sequence[PoolInput]) -> tuple[SelectorError, ...]:
        devices: dict[SelectorFailure, list[str]] = {}
        for pool, view in self._pairs(inputs):
            for kind, device in zip(pool.lineup.kinds, view.devices, strict=True):
                failure = _find_failure(kind, alternative)
                if failure is not None:
                    devices.setdefault(failure, []).append(f"{view.text}/{device.name}")
        return tuple(self._describe(alternative, f, names) for f, names in devices.items())

    def _describe(self, alternative: Alternative, failure: SelectorFailure, devices: list[str]) -> SelectorError:
        missing = _MISSING_KEY.search(failure.text)
        is_class = failure.origin == "class"
        return SelectorError(
            origin=failure.origin,
            owner=failure.class_name if is_class else self._claims[alternative.claim],
            index=failure.position,
            expression=failure.expression,
            text=failure.text,
            attribute=missing[1] if missing else None,
            device=devices[0],
            device_count=len(devices),
        )


def _fill_counters(pool: PoolInput) -> PoolInput:
    return pool._replace(remaining_nano=(_PLENTY,) * len(pool.remaining_nano))


def _free_shares(pool: PoolInput) -> PoolInput:
    return pool._replace(shares=())


def _find_failure(kind: Kind, alternative: Alternative) -> SelectorFailure | None:
    fit = kind.fits[alternative.id]
    return None if isinstance(fit, int) else fit

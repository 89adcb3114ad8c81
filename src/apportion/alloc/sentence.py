"""One sentence that says what stands in the way."""

from collections.abc import Iterator, Sequence

from apportion.alloc.explanation import (
    ClaimExplanation,
    ConstraintExplanation,
    PoolProblem,
    RequestExplanation,
    SelectorError,
)
from apportion.alloc.rejection import CANNOT_ALLOCATE, INVALID_POOLS


def describe_blocker(
    fits: bool,
    reason: str,
    claims: Sequence[ClaimExplanation],
    pools: Sequence[PoolProblem],
    has_pools: bool,
) -> str:
    """Pick the most telling fact: what must change first for the claims to be allocated here."""
    if fits:
        return "all claims can be allocated"
    if not claims:
        return reason
    if not has_pools:
        return "no driver publishes devices for this node"
    facts = [*_list_claim_facts(claims), *map(_describe_pool, pools)]
    if reason not in (CANNOT_ALLOCATE, INVALID_POOLS) and not any(r.errors for c in claims for r in c.requests):
        return reason
    return facts[0] if facts else "the claims fit one by one, but not together: their devices run out"


def _list_claim_facts(claims: Sequence[ClaimExplanation]) -> Iterator[str]:
    for claim in claims:
        if claim.fits_alone:
            continue
        errors = [e for r in claim.requests for e in r.errors]
        if errors:
            yield describe_error(errors[0])
        short = [r for r in claim.requests if _is_short(r)]
        if claim.unmet_constraints:
            yield describe_constraint(claim.unmet_constraints[0])
        yield from map(describe_request, short)
        if not short:
            yield _describe_conflict(claim)


def _describe_conflict(claim: ClaimExplanation) -> str:
    """Each request finds enough devices, yet they cannot all be had."""
    names = ", ".join(r.request for r in claim.requests)
    cause = f"; {' and '.join(claim.exhausted)} cannot supply them" if claim.exhausted else ""
    if len(claim.requests) > 1:
        return f"requests {names}: enough devices match and are free for each, but not for all together{cause}"
    return f"request {names}: {claim.requests[0].free} devices match and are free, but not together{cause}"


def _is_short(request: RequestExplanation) -> bool:
    if request.wanted is None:
        return request.matching == 0 or request.free < request.matching
    return request.free < request.wanted


def describe_error(error: SelectorError) -> str:
    """``class gpu, selector #0: no such key: model (3 devices, first d/p/gpu-0)``."""
    count = f"{error.device_count} device{'s' if error.device_count > 1 else ''}"
    return f"{error.origin} {error.owner}, selector #{error.index}: {error.text} ({count}, first {error.device})"


def describe_constraint(constraint: ConstraintExplanation) -> str:
    """``too few free devices share one value of numa (constraint #0, matchAttribute): 0 on 2, 1 on 1``."""
    values = ", ".join(constraint.values) or "there are none"
    what = "share one value" if constraint.kind == "matchAttribute" else "have different values"
    return (
        f"too few free devices {what} of {constraint.attribute} "
        f"(constraint #{constraint.index}, {constraint.kind}): {values}"
    )


def describe_request(request: RequestExplanation) -> str:
    """``request gpu: 8 devices match, all 8 are taken``."""
    name = f"request {request.request}"
    if not request.seen:
        return f"{name}: no usable device is published for this node"
    if not request.matching:
        return f"{name}: none of {request.seen} devices matches class {request.device_class} and the selectors"
    parts = [f"{request.matching} device{' matches' if request.matching == 1 else 's match'}"]
    for count, word in ((request.taken, "taken"), (request.tainted, "tainted")):
        if count:
            parts.append(f"{_count(count, request.matching)} {word}")
    if request.wanted is not None and request.free:
        parts.append(f"{request.free} free, {request.wanted} wanted")
    return f"{name}: {', '.join(parts)}"


def _count(count: int, of: int) -> str:
    if count == of:
        return "it is" if of == 1 else f"all {of} are"
    return f"{count} {'is' if count == 1 else 'are'}"


def _describe_pool(problem: PoolProblem) -> str:
    return f"pool {problem.driver}/{problem.pool} is {problem.state}: {problem.why}"

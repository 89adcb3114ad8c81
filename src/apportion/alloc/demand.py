"""How many devices each request needs on a node, found out before the search."""

from collections.abc import Iterator, Sequence
from typing import Final

from apportion.alloc.constraint_supply import Need, is_unsatisfiable
from apportion.alloc.lineup import PoolInput
from apportion.alloc.occupancy import Occupancy
from apportion.alloc.plan import RESULTS_MAX, Alternative, Plan, Request
from apportion.alloc.rejection import Rejected, Rejection
from apportion.alloc.share_supply import ShareSupply
from apportion.alloc.supply import Effort, has_enough

EFFORT_MAX: Final = 10_000  # what counting for constraints may cost before it is left to the search
Place = tuple[int, int]  # pool, device


class Demand:
    """The places of every All request and the least number of devices of every request.

    Raises Rejected when a pool or selector forbids to tell what "all" is, or a claim must get too many
    devices.
    """

    def __init__(self, plan: Plan, pools: Sequence[PoolInput]) -> None:
        self._plan = plan
        self._pools = pools
        self.all_places = {a.id: self._collect_places(a) for a in plan.alternatives if a.takes_all}
        least = [min(map(self.get_count, r.alternatives)) for r in plan.requests]
        self._least = least
        # Least number of devices for the requests of the same claim that follow each request.
        self.least_after = [
            sum(n for n, r in zip(least[i + 1 :], plan.requests[i + 1 :], strict=True) if r.claim == q.claim)
            for i, q in enumerate(plan.requests)
        ]
        self._check_claim_sizes()

    def get_count(self, alternative: Alternative) -> int:
        """Return how many devices the alternative needs here; 0 for All where nothing matches."""
        if alternative.takes_all:
            return len(self.all_places[alternative.id])
        return alternative.count

    def _collect_places(self, alternative: Alternative) -> list[Place]:
        """List every matching device, taken or not: all of them must be had."""
        places: list[Place] = []
        for i, pool in enumerate(self._pools):
            lineup, a = pool.lineup, alternative.id
            if lineup.fault_state:
                state = "being updated" if lineup.fault_state == "incomplete" else "invalid"
                text = "claim {claim}, request {request}: asks for all devices, but resource pool {pool} is "
                raise Rejected(Rejection(f"{text}currently {state}", alternative.claim, alternative.own_name, pool=i))
            for device in _positions(lineup.failing[a]):
                raise reject_failure(pool, alternative, i, device)
            places += [(i, d) for d in _positions(lineup.fits[a] | lineup.refused[a])]
        return places

    def _check_claim_sizes(self) -> None:
        for claim in range(len(self._plan.specs)):
            pairs = zip(self._least, self._plan.requests, strict=True)
            least = sum(n for n, r in pairs if r.claim == claim)
            if least > RESULTS_MAX:
                text = "claim {claim}: number of requested devices {detail} exceeds the claim limit of 32"
                raise Rejected(Rejection(text, claim, detail=str(least)))

    def is_hopeless(self, occupancy: Occupancy) -> bool:
        """Return whether counting free devices shows that not all requests can be served together.

        False where the search might stop with a reason of its own before it runs out of devices.
        """
        if any(a.takes_all and a.constraints for a in self._plan.alternatives):
            return False
        needs = []
        shares = ShareSupply(self._pools)
        for least, request in zip(self._least, self._plan.requests, strict=True):
            supply = self._find_supply(occupancy, request, shares)
            if supply is None:
                return False
            # Admin access holds nothing, so it takes nothing from the others.
            if not any(a.admin_access for a in request.alternatives):
                needs.append(Need(request, max(least, 1), supply, shares.layers))
        if not has_enough([n.least for n in needs], [n.supply for n in needs]):
            return True
        return is_unsatisfiable(self._plan.constraints, needs, self._pools, Effort(EFFORT_MAX))

    def _find_supply(self, occupancy: Occupancy, request: Request, shares: ShareSupply) -> int | None:
        mask, offset = 0, 0
        for i, pool in enumerate(self._pools):
            found = occupancy.find_supply(i, request.alternatives)
            if found is None:
                return None
            mask |= shares.spread(i, found, request.alternatives) << offset
            offset += len(pool.lineup.kinds)
        return mask


def reject_failure(pool: PoolInput, alternative: Alternative, pool_at: int, device: int) -> Rejected:
    """Return the rejection for a selector that failed on a device."""
    fit = pool.lineup.kinds[device].fits[alternative.id]
    assert not isinstance(fit, int)
    return Rejected(Rejection("", alternative.claim, pool=pool_at, device=device, failure=fit))


def _positions(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low

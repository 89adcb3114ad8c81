"""Whose eviction would free the devices that a pod lacks. Preemption does not do that; whoever reads this may.

Upstream leaves devices out of preemption as well (enhancements#5690), so pods of low priority keep theirs.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from apportion.alloc import Allocator, Problem
from apportion.sched.plugins.claim_lookup import name_claims
from apportion.sched.state import ClaimInfo, ClusterState, PodInfo

_NODES_MAX: Final = 32
_NAMES_MAX: Final = 3


def tell_who_holds_devices(
    state: ClusterState,
    pod: PodInfo,
    names: Sequence[str],
    allocator: Allocator,
    problem_at: Callable[[str], Problem | None],
) -> Iterator[str]:
    """Say which pods of lower priority would have to go, on the node with the fewest.

    Cost: one allocation for each such pod with claims, on the first 32 of the nodes ``names``.
    """
    best: tuple[int, str, list[PodInfo]] | None = None
    for name in names[:_NODES_MAX]:
        problem = problem_at(name)
        victims = [] if problem is None else _find_victims(state, pod, name, allocator, problem)
        if victims and (best is None or len(victims) < best[0]):
            best = (len(victims), name, victims)
    if best is not None:
        count, name, victims = best
        shown = ", ".join(v.key for v in victims[:_NAMES_MAX])
        more = f" and {count - _NAMES_MAX} more" if count > _NAMES_MAX else ""
        yield f"on {name}: evicting {shown}{more} would free enough devices, but preemption evicts nobody for devices"


def _find_victims(
    state: ClusterState, pod: PodInfo, node: str, allocator: Allocator, problem: Problem
) -> list[PodInfo]:
    """Return pods whose eviction would help, those that matter least; [] when none would."""
    on_node = state.pods_on(state.nodes.row_of[node]).values()
    lower = [p for p in on_node if p.priority < pod.priority and _claims_of(state, p)]
    lower.sort(key=lambda p: (-p.priority, p.key))
    if not lower or not _would_fit(state, node, allocator, problem, lower):
        return []
    victims = list(lower)
    for spared in lower:
        fewer = [v for v in victims if v is not spared]
        if _would_fit(state, node, allocator, problem, fewer):
            victims = fewer
    return victims


def _would_fit(
    state: ClusterState, node: str, allocator: Allocator, problem: Problem, victims: Sequence[PodInfo]
) -> bool:
    gone = {v.uid for v in victims}
    claims = {c.uid: c for v in victims for c in _claims_of(state, v)}
    freed = [uid for uid, c in claims.items() if all(r.uid in gone for r in c.status.reserved_for)]
    return allocator.would_fit(problem, node, freed)


def _claims_of(state: ClusterState, pod: PodInfo) -> list[ClaimInfo]:
    """Return the allocated claims that a pod uses."""
    found = [state.claims.find(key) for key in name_claims(pod)]
    found.append(state.claims.find_extended(pod.uid))
    return [c for c in found if c is not None and c.allocation is not None]

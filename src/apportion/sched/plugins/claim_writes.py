"""What a binding writes into the claims of its pod, tried again on the fresh claim when that has changed meanwhile.

Behaviour: bindClaim of plugins/dynamicresources, which retries conflicts the same way.
"""

from collections.abc import Generator
from typing import Final, TypeAlias

from apportion.api.allocations import is_same_decision
from apportion.api.resource import AllocationResult
from apportion.sched.framework import (
    AddClaimFinalizer,
    AllocateClaim,
    Command,
    CommandGenerator,
    GetClaim,
    Outcome,
    ReserveClaim,
    error,
)
from apportion.sched.state import ClaimInfo, ClusterState, PodInfo, consumer_of

FINALIZER: Final = "resource.kubernetes.io/delete-protection"
ATTEMPTS_MAX: Final = 5
_NOT_FOUND: Final = 404
# another version than expected, or (JSON patch) other content
_OVERTAKEN: Final = (409, 422)


class ClaimWriter:
    """Writes allocations and reservations. ``is_timed``: whether allocations say when they were made."""

    def __init__(self, state: ClusterState, plugin: str, is_timed: bool) -> None:
        self._claims = state.claims
        self._plugin = plugin
        self._is_timed = is_timed

    def write(self, pod: PodInfo, claim: ClaimInfo, allocation: AllocationResult | None) -> CommandGenerator:
        """Allocate a claim if ``allocation`` was decided for it, and reserve it for the pod, unless it is already."""
        name = claim.meta.name
        message = ""
        for _ in range(ATTEMPTS_MAX):
            current = self._claims.find(claim.key)
            if current is None or current.uid != claim.uid:
                return error(self._plugin, f"claim {name} got deleted in the meantime")
            problem = _find_problem(pod, current, allocation or claim.allocation, allocation is None)
            if problem is not None:
                return error(self._plugin, f"claim {name} {problem} in the meantime")
            if current.is_reserved_for(pod.uid):
                return None
            steps = self._reserve(pod, current) if allocation is None else self._allocate(pod, current, allocation)
            outcome = yield from steps
            if outcome is None:
                return None
            message = outcome.message
            if outcome.code not in _OVERTAKEN:
                break
            read: Outcome = yield GetClaim(claim.meta.namespace, name)
            if read.code == _NOT_FOUND:
                return error(self._plugin, f"claim {name} got deleted in the meantime")
            if not read.is_ok:
                break
            fresh = self._claims.read(read.body)
            if fresh.uid != claim.uid:
                return error(self._plugin, f"claim {name} got deleted in the meantime")
            self._claims.assume(fresh)
        what = "reserve" if allocation is None else "allocate"
        return error(self._plugin, f"{what} claim {name}: {message}")

    def _allocate(self, pod: PodInfo, claim: ClaimInfo, allocation: AllocationResult) -> "ClaimSteps":
        """Add the finalizer if it is missing, then write allocation and first consumer in one go."""
        meta = claim.meta
        version = meta.resource_version
        if FINALIZER not in meta.finalizers:
            finalizers = (*meta.finalizers, FINALIZER)
            added: Outcome = yield AddClaimFinalizer(meta.namespace, meta.name, meta.uid, version, finalizers)
            if not added.is_ok:
                return added
            version = self._claims.read(added.body).meta.resource_version
        consumer = consumer_of(pod.uid, pod.name)
        outcome: Outcome = yield AllocateClaim(
            meta.namespace, meta.name, meta.uid, version, allocation, consumer, self._is_timed
        )
        if not outcome.is_ok:
            return outcome
        self._claims.assume(self._claims.read(outcome.body))
        self._claims.remove_pending(claim.key, meta.uid, force=True)
        return None

    def _reserve(self, pod: PodInfo, claim: ClaimInfo) -> "ClaimSteps":
        meta, allocation = claim.meta, claim.allocation
        assert allocation is not None  # the caller looked
        where = (meta.namespace, meta.name, meta.uid, meta.resource_version)
        is_first = not claim.status.reserved_for
        outcome: Outcome = yield ReserveClaim(
            *where, allocation, consumer_of(pod.uid, pod.name), is_first, claim.stored
        )  # fmt: skip
        if not outcome.is_ok:
            return outcome
        self._claims.assume(self._claims.read(outcome.body))
        return None


def _find_problem(
    pod: PodInfo, current: ClaimInfo, decided: AllocationResult | None, was_allocated: bool
) -> str | None:
    """Return why the pod may not have the claim as it is now, None if it may."""
    allocation = current.allocation
    if was_allocated and allocation is None:
        return "got deallocated elsewhere"
    if allocation is None:
        return None
    # the node was chosen for the devices that were decided; others may be anywhere
    is_ours = decided is not None and is_same_decision(allocation, decided)
    is_open = was_allocated or current.is_reserved_for(pod.uid)
    return None if is_ours and is_open else "was allocated elsewhere"


# Yields commands; returns the outcome that failed, None when all went well.
ClaimSteps: TypeAlias = Generator[Command, Outcome, Outcome | None]

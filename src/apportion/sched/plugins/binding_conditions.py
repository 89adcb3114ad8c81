"""Devices that have to be made ready before a pod is bound: what their conditions say, and waiting for them.

Behaviour: KEP-5007 and plugins/dynamicresources, except that a shared device is looked up with its share and that a
change of the claim is noticed when it comes, not every five seconds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apportion.api.resource import DeviceRequestAllocationResult
from apportion.api.view import Condition
from apportion.base import Clock, parse_time
from apportion.sched.framework import CommandGenerator, Status, Wait, error, pod_event
from apportion.sched.plugins.claim_metrics import ERROR, FAILED, SUCCESS, TIMEOUT, ClaimMetrics, list_drivers
from apportion.sched.state import ClaimInfo, ClusterState, PodInfo


@dataclass(frozen=True, slots=True)
class Readiness:
    """How far the devices of a claim are; ``failure`` is the text of the first condition that says they failed."""

    is_ready: bool
    failure: str | None = None


READY = Readiness(True)


def has_conditions(claim: ClaimInfo) -> bool:
    """Return whether some device of the claim has to be made ready."""
    return claim.allocation is not None and any(r.binding_conditions for r in claim.allocation.devices.results)


def find_readiness(claim: ClaimInfo) -> Readiness:
    """Return what the conditions of an allocated claim's devices say."""
    results = claim.allocation.devices.results if claim.allocation is not None else ()
    is_ready = True
    for result in results:
        if not result.binding_conditions:
            continue
        true = {c.type: c for c in _conditions_of(claim, result) if c.status == "True"}
        failed = next((true[name] for name in result.binding_failure_conditions if name in true), None)
        if failed is not None:
            text = f"device binding failed: claim={claim.meta.name}, reason={failed.reason}, message={failed.message}"
            return Readiness(False, text)
        is_ready = is_ready and all(name in true for name in result.binding_conditions)
    return READY if is_ready else Readiness(False)


def _conditions_of(claim: ClaimInfo, result: DeviceRequestAllocationResult) -> Iterator[Condition]:
    place = (result.driver, result.pool, result.device, result.share_id)
    for device in claim.status.devices:
        if (device.driver, device.pool, device.device, device.share_id) == place:
            yield from device.conditions


class BindingConditions:
    """Waits until the devices of a pod's claims are ready, at most ``timeout_s`` after they were allocated."""

    def __init__(
        self, state: ClusterState, clock: Clock, plugin: str, timeout_s: float, metrics: ClaimMetrics, profile: str
    ) -> None:
        self._claims = state.claims
        self._metrics = metrics
        self._profile = profile
        self._clock = clock
        self._plugin = plugin
        self._timeout_s = timeout_s

    def has_failed(self, claim: ClaimInfo) -> bool:
        """Return whether an allocated claim cannot be used any more: its devices failed or were not ready in time."""
        if not has_conditions(claim):
            return False
        readiness = find_readiness(claim)
        if readiness.failure is not None:
            return True
        return not readiness.is_ready and self._deadline_s(claim) < self._clock.now()

    def _deadline_s(self, claim: ClaimInfo) -> float:
        allocated = claim.allocation.allocation_timestamp if claim.allocation is not None else None
        return (parse_time(allocated) if allocated else self._clock.now()) + self._timeout_s

    def wait(self, pod: PodInfo, node: str, claims: Sequence[ClaimInfo]) -> CommandGenerator:
        """Return when all devices are ready; otherwise what went wrong."""
        current = [self._claims.find(c.key) or c for c in claims]
        if not any(has_conditions(c) for c in current):
            return None
        note = f"waiting for binding conditions for device on node {node}"
        yield pod_event(pod, "Normal", "BindingConditionsPending", "Scheduling", note)
        begun_s = self._clock.now()
        deadline_s = min(self._deadline_s(c) for c in current if has_conditions(c))
        status = yield from self._wait_until(claims, deadline_s)
        for claim in current:
            self._count(claim, self._clock.now() - begun_s, deadline_s)
        return status

    def _count(self, claim: ClaimInfo, waited_s: float, deadline_s: float) -> None:
        """Count how the wait for one claim ended; one that was given up because of another is not counted."""
        current = self._claims.find(claim.key)
        drivers = list_drivers(claim.allocation)
        if current is None or current.uid != claim.uid or current.allocation is None:
            return self._metrics.count_wait(self._profile, drivers, ERROR, waited_s)
        readiness = find_readiness(current)
        if readiness.failure is not None:
            self._metrics.count_wait(self._profile, drivers, FAILED, waited_s)
        elif readiness.is_ready:
            self._metrics.count_wait(self._profile, drivers, SUCCESS, waited_s)
        elif self._clock.now() >= deadline_s:
            self._metrics.count_wait(self._profile, drivers, TIMEOUT, waited_s)
        return None

    def _wait_until(self, claims: Sequence[ClaimInfo], deadline_s: float) -> CommandGenerator:
        while True:
            status, is_ready = self._look(claims)
            if status is not None or is_ready:
                return status
            if self._clock.now() >= deadline_s:
                return error(self._plugin, "device binding timeout")
            answer = yield from self._wait_for_change(claims, deadline_s)
            if answer is not None:
                return answer

    def _look(self, claims: Sequence[ClaimInfo]) -> tuple[Status | None, bool]:
        is_ready = True
        for claim in claims:
            current = self._claims.find(claim.key)
            if current is None or current.uid != claim.uid or current.allocation is None:
                return error(self._plugin, f"claim {claim.meta.name} got deallocated elsewhere in the meantime"), False
            readiness = find_readiness(current)
            if readiness.failure is not None:
                return error(self._plugin, readiness.failure), False
            is_ready = is_ready and readiness.is_ready
        return None, is_ready

    def _wait_for_change(self, claims: Sequence[ClaimInfo], deadline_s: float) -> CommandGenerator:
        """Wait for news of one of the claims; a status says that the wait was ended from outside."""
        wait = Wait(deadline_s)

        def note() -> None:
            wait.resolve(True)

        for claim in claims:
            self._claims.listeners.add(claim.key, note)
        try:
            answer = yield wait
        finally:
            for claim in claims:
                self._claims.listeners.remove(claim.key, note)
        return answer if isinstance(answer, Status) else None

"""What a binding writes for extended resources that devices serve: the claim, and where the pod's status names it.

Behaviour: bindClaim and deleteClaim of plugins/dynamicresources; the claim's name is drawn here, so that a lost answer
never leaves a second claim.
"""

from collections.abc import Sequence
from typing import Final

from apportion.api.validation.metadata import GENERATED_BASE_MAX
from apportion.base import Clock, Rng
from apportion.sched.framework import (
    Command,
    CommandGenerator,
    CreateClaim,
    DeleteClaim,
    Outcome,
    RecordExtendedClaim,
    ReleaseClaim,
    Status,
    Wait,
    error,
)
from apportion.sched.plugins.claim_metrics import ClaimMetrics
from apportion.sched.plugins.claim_writes import FINALIZER, ClaimWriter
from apportion.sched.plugins.extended_claims import ExtendedClaim
from apportion.sched.state import ClaimInfo, ClusterState, PodInfo

WATCH_TIMEOUT_S: Final = 120.0


class ExtendedClaimWriter:
    """Makes the claim, has it allocated like any other, and records it."""

    def __init__(
        self, state: ClusterState, writer: ClaimWriter, clock: Clock, rng: Rng, plugin: str, metrics: ClaimMetrics
    ) -> None:
        self._metrics = metrics
        self._claims = state.claims
        self._writer = writer
        self._clock = clock
        self._rng = rng
        self._plugin = plugin

    def write(self, pod: PodInfo, claim: ExtendedClaim) -> CommandGenerator:
        """Yield what has to be done; afterwards ``claim.created`` is the claim in the API."""
        assert claim.variant is not None and claim.allocation is not None  # decided in Reserve
        prefix = f"{pod.name}-extended-resources-"[:GENERATED_BASE_MAX]
        command = CreateClaim(
            pod.namespace, prefix + self._rng.suffix(), prefix, pod.name, pod.uid, claim.variant.spec
        )  # fmt: skip
        outcome: Outcome = yield command
        self._metrics.count_create(outcome.is_ok)
        if not outcome.is_ok:
            return error(self._plugin, f"create claim for extended resources: {outcome.message}")
        created = claim.created = self._claims.read(outcome.body)
        self._claims.move_pending(created.key, claim.uid, created.uid)
        claim.uid = created.uid
        status = yield from self._wait_for_watch(created)
        if status is None:
            status = yield from self._writer.write(pod, created, claim.allocation)
        if status is not None:
            return status
        mappings = tuple((m.container, m.resource, m.request) for m in claim.variant.mappings)
        recorded: Outcome = yield RecordExtendedClaim(pod.namespace, pod.name, pod.uid, created.meta.name, mappings)
        if not recorded.is_ok:
            return error(self._plugin, f"record claim for extended resources: {recorded.message}")
        return None

    def _wait_for_watch(self, created: ClaimInfo) -> CommandGenerator:
        """Wait until the watch has brought the claim: what is known from an answer alone, no watch would take back."""
        if self._claims.find(created.key) is not None:
            return None
        wait = Wait(self._clock.now() + WATCH_TIMEOUT_S)

        def note() -> None:
            wait.resolve(True)

        self._claims.listeners.add(created.key, note)
        try:
            answer = yield wait
        finally:
            self._claims.listeners.remove(created.key, note)
        if isinstance(answer, Status):
            return answer
        return None if answer else error(self._plugin, f"claim {created.meta.name} was made and never seen")


def delete_claim(claim: ClaimInfo) -> Sequence[Command]:
    """Return the commands that delete a claim of the scheduler's own."""
    meta = claim.meta
    return (
        ReleaseClaim(meta.namespace, meta.name, meta.uid, FINALIZER),
        DeleteClaim(meta.namespace, meta.name, meta.uid),
    )

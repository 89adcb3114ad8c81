"""DynamicResources: pods with resource claims go to nodes where their devices can be had."""

from collections.abc import Sequence

from apportion.alloc import Allocator
from apportion.api.resource import AllocationResult
from apportion.sched.framework.columns import ZeroScore
from apportion.sched.framework.commands import (
    Command,
    RecordFootprint,
    UnreserveClaim,
)
from apportion.sched.framework.diagnosis import Diagnosis
from apportion.sched.framework.plugin import (
    NOTHING_TO_FILTER,
    PostFilterResult,
    PreFilterResult,
)
from apportion.sched.framework.probe import NodeProbe
from apportion.sched.framework.status import Status, error, unresolvable
from apportion.sched.framework.waits import CommandGenerator
from apportion.sched.plugins.binding_conditions import BindingConditions
from apportion.sched.plugins.claim_events import ClaimEvents
from apportion.sched.plugins.claim_footprints import FootprintColumn, Footprints
from apportion.sched.plugins.claim_freeing import free_claims
from apportion.sched.plugins.claim_lookup import find_claims
from apportion.sched.plugins.claim_state import ClaimState
from apportion.sched.plugins.claim_writes import ClaimWriter
from apportion.sched.plugins.device_columns import (
    DeviceColumns,
    DeviceScore,
    ExtendedDeviceColumn,
    RefusedEverywhere,
)
from apportion.sched.plugins.dynamic_resources_args import read_args
from apportion.sched.plugins.extended_claims import (
    IN_MEMORY_NAME,
    ExtendedClaim,
    ExtendedProblems,
    ExtendedRequest,
    ExtendedRequests,
)
from apportion.sched.plugins.extended_writes import ExtendedClaimWriter, delete_claim
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import Registration
from apportion.sched.state import ClaimInfo, PodInfo

_NAME = "DynamicResources"
_LEFT_OVER = unresolvable(_NAME, "cannot schedule extended resource claim")


class DynamicResources:
    """Structured DRA. Behaviour: plugins/dynamicresources and KEP-4381."""

    name = _NAME
    per_pod = True
    is_about = "devices"
    allows_parallel_pre_bind = True

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._rng = handle.rng
        self._zero = ZeroScore()
        has_conditions = handle.state.devices.features.binding_conditions
        args = read_args(handle.args, handle.gates.enabled("DRASchedulerFilterTimeout"), has_conditions)
        self._allocator = Allocator(handle.state.devices, args.steps_max)
        self._columns = DeviceColumns(handle.state, self._allocator)
        self._writer = ClaimWriter(handle.state, self.name, has_conditions)
        metrics = handle.claim_metrics
        self._conditions = BindingConditions(
            handle.state, handle.clock, self.name, args.binding_timeout_s, metrics, handle.profile
        )
        self._extended = ExtendedRequests(handle.state)
        self._extended_writer = ExtendedClaimWriter(
            handle.state, self._writer, handle.clock, handle.rng, self.name, metrics
        )
        self._footprints = Footprints(handle.state, self._allocator, self.name)
        self._events = ClaimEvents(handle.state, self.name)

    # ---- before the queue ---------------------------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keep the pod waiting while one of its claims is missing or unusable."""
        if not pod.kind.template.spec.resource_claims:
            return None
        problem = find_claims(self._state, pod).problem
        return None if problem is None else unresolvable(self.name, problem)

    # ---- filter and score ---------------------------------------------------------------------------------

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes where the allocated claims can be used and the others allocated."""
        extended = self._extended.find(pod)
        if extended is None and not pod.kind.template.spec.resource_claims:
            return NOTHING_TO_FILTER
        found = find_claims(self._state, pod)
        if found.problem is not None:
            return PreFilterResult(status=unresolvable(self.name, found.problem))
        if not found.claims and extended is None:
            return NOTHING_TO_FILTER
        to_allocate = []
        for claim in found.claims:
            if claim.allocation is None:
                if self._state.claims.find_pending(claim.uid) is not None:
                    text = f"resource claim {claim.key} is in the process of being allocated"
                    return PreFilterResult(status=unresolvable(self.name, text))
                to_allocate.append(claim)
        return self._judge(pod, found.claims, tuple(to_allocate), extended)

    def _judge(
        self,
        pod: PodInfo,
        claims: tuple[ClaimInfo, ...],
        to_allocate: tuple[ClaimInfo, ...],
        extended: ExtendedRequest | None,
    ) -> PreFilterResult:
        inputs = [c.input for c in to_allocate]
        problem = self._allocator.prepare(inputs) if inputs else None
        if problem is not None and problem.fault is not None:
            return PreFilterResult(status=unresolvable(self.name, problem.fault))
        selectors = tuple(
            c.allocation.node_selector
            for c in claims
            if c.allocation is not None and c.allocation.node_selector is not None
        )
        is_shut = any(self._conditions.has_failed(c) for c in claims)
        if extended is None:
            column = self._columns.get(problem, selectors, is_shut)
            return self._weigh(pod, ClaimState(claims, to_allocate, column))
        if self._state.claims.find_extended(pod.uid) is not None:
            # left over from an earlier attempt; PostFilter removes it
            return PreFilterResult(column=RefusedEverywhere(self._state.nodes, _LEFT_OVER))
        problems = ExtendedProblems(self._allocator, inputs, pod.namespace, extended)
        extended_column = self._columns.get_extended(problems, selectors, is_shut)
        claim = ExtendedClaim()
        return self._weigh(pod, ClaimState(claims, to_allocate, extended_column, claim))

    def _weigh(self, pod: PodInfo, state: ClaimState) -> PreFilterResult:
        """Return the claims' column, with what their devices take of the node if that counts."""
        if not self._state.devices.has_node_allocatable:
            return PreFilterResult(column=state.column, state=state)
        shared = self._footprints.find_shared(pod, state.claims)
        if shared is not None:
            return PreFilterResult(status=shared)
        column = FootprintColumn(self._state, state.column, self._footprints, pod, state.claims)
        return PreFilterResult(column=column, state=state)

    def pre_score(self, pod: PodInfo, state: object) -> ZeroScore | DeviceScore:
        """Return the column that prefers nodes offering the earlier alternatives of prioritized lists."""
        if not isinstance(state, ClaimState) or not state.to_allocate:
            return self._zero
        return state.column.score

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe) -> PostFilterResult:
        """See `free_claims`."""
        return free_claims(self._state, self._conditions, pod, self.name)

    # ---- reserve ------------------------------------------------------------------------------------------

    def reserve(self, pod: PodInfo, row: int, state: object) -> Status | None:
        """Decide the devices on the chosen node and keep them in memory until they are in the API."""
        if not isinstance(state, ClaimState):
            return None
        status = self._reserve_devices(pod, row, state)
        if status is None and self._state.devices.has_node_allocatable:
            decided = {c.meta.name: state.allocations.get(c.uid, c.allocation) for c in state.claims}
            if state.extended is not None:
                decided[IN_MEMORY_NAME] = state.extended.allocation
            state.footprint = self._footprints.find(pod, {n: a for n, a in decided.items() if a is not None})
            self._footprints.count(pod, state.footprint)
        return status

    def _reserve_devices(self, pod: PodInfo, row: int, state: ClaimState) -> Status | None:
        problem = state.column.problem_at(row)
        if problem is None:
            return None
        for claim in state.to_allocate:
            current = self._state.claims.find(claim.key)
            if current is None or current.uid != claim.uid or current.allocation is not None:
                return error(self.name, f"claim {claim.key} was allocated elsewhere in the meantime")
        results = self._allocator.allocate(problem, self._state.nodes.name(row), self._rng.uid)
        for claim, allocation in zip(state.to_allocate, results, strict=False):
            self._state.claims.signal_pending(claim.key, claim.uid, allocation)
            state.allocations[claim.uid] = allocation
        if len(results) > len(state.to_allocate):
            self._reserve_extended(pod, row, state, results[-1])
        return None

    def _reserve_extended(self, pod: PodInfo, row: int, state: ClaimState, allocation: AllocationResult) -> None:
        extended, column = state.extended, state.column
        assert extended is not None and isinstance(column, ExtendedDeviceColumn)
        extended.uid = self._rng.uid()
        extended.variant = column.problems.request.find_variant(row)
        extended.allocation = allocation
        self._state.claims.signal_pending(f"{pod.namespace}/{IN_MEMORY_NAME}", extended.uid, allocation)

    def unreserve(self, pod: PodInfo, row: int, state: object) -> Sequence[Command]:
        """Give the devices back; a reservation that reached the API is removed there as well."""
        if not isinstance(state, ClaimState):
            return ()
        commands: list[Command] = []
        for claim in state.claims:
            if claim.uid in state.allocations:
                self._state.claims.remove_pending(claim.key, claim.uid, force=False)
            current = self._state.claims.find(claim.key)
            if current is not None and current.uid == claim.uid and current.is_reserved_for(pod.uid):
                commands.append(UnreserveClaim(claim.meta.namespace, claim.meta.name, claim.uid, pod.uid))
        state.allocations.clear()
        if state.footprint:
            self._footprints.count(pod, ())
            if state.is_footprint_written:
                commands.append(RecordFootprint(pod.namespace, pod.name, pod.uid, ()))
        return commands + self._unreserve_extended(pod, state.extended)

    def _unreserve_extended(self, pod: PodInfo, extended: ExtendedClaim | None) -> list[Command]:
        if extended is None or extended.allocation is None:
            return []
        created, extended.allocation = extended.created, None
        key = f"{pod.namespace}/{IN_MEMORY_NAME}" if created is None else created.key
        self._state.claims.remove_pending(key, extended.uid, force=True)
        return [] if created is None else list(delete_claim(self._state.claims.find(created.key) or created))

    # ---- bind ---------------------------------------------------------------------------------------------

    def pre_bind_pre_flight(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether the pod has claims, or is to get one for extended resources."""
        return isinstance(state, ClaimState) and state.is_writing

    def waits_in_pre_bind(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether devices have to be made ready."""
        assert isinstance(state, ClaimState)
        decided = [state.allocations.get(c.uid, c.allocation) for c in state.claims]
        decided.append(state.extended.allocation if state.extended is not None else None)
        return any(r.binding_conditions for a in decided if a is not None for r in a.devices.results)

    def pre_bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        """Write allocations and reservations, claim by claim; then wait for devices that have to be made ready.

        The first thing that fails stops the binding.
        """
        assert isinstance(state, ClaimState)
        for claim in state.claims:
            status = yield from self._writer.write(pod, claim, state.allocations.get(claim.uid))
            if status is not None:
                return status
        claims = list(state.claims)
        if state.extended is not None and state.extended.variant is not None:
            status = yield from self._extended_writer.write(pod, state.extended)
            if status is not None:
                return status
            assert state.extended.created is not None
            claims.append(state.extended.created)
        if state.footprint:
            state.is_footprint_written = True
            created = state.extended.created if state.extended is not None else None
            name = created.meta.name if created is not None else ""
            status = yield from self._footprints.write(pod, state.footprint, name)
            if status is not None:
                return status
        return (yield from self._conditions.wait(pod, self._state.nodes.name(row), claims))

    # ---- events -------------------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[Registration]:
        """See `ClaimEvents`."""
        return self._events.list()

    def interests(self, pod: PodInfo) -> tuple[str, ...]:
        """Return the keys of the pod's claims."""
        return self._events.interests(pod)

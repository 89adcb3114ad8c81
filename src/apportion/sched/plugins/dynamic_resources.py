"""DynamicResources: pods with resource claims go to nodes where their devices can be had."""

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.alloc import Allocator, Problem
from apportion.api.resource import AllocationResult
from apportion.api.selectors import compile_node_selector
from apportion.api.view import NodeSelector
from apportion.sched.framework.columns import ZeroScore
from apportion.sched.framework.commands import (
    Command,
    DeallocateClaim,
    UnreserveClaim,
)
from apportion.sched.framework.diagnosis import Diagnosis
from apportion.sched.framework.plugin import (
    NOTHING_TO_FILTER,
    NodeProbe,
    PostFilterResult,
    PreFilterResult,
)
from apportion.sched.framework.status import Status, error, unresolvable, unschedulable
from apportion.sched.framework.waits import CommandGenerator
from apportion.sched.plugins.binding_conditions import BindingConditions
from apportion.sched.plugins.claim_events import ClaimEvents
from apportion.sched.plugins.claim_lookup import find_claims
from apportion.sched.plugins.claim_writes import ClaimWriter
from apportion.sched.plugins.device_columns import DeviceColumn, DeviceScore
from apportion.sched.plugins.dynamic_resources_args import read_args
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import Registration
from apportion.sched.state import ClaimInfo, PodInfo

_COLUMNS_MAX = 512
_NAME = "DynamicResources"


@dataclass(slots=True)
class ClaimState:
    """What one cycle found out about a pod's claims; Reserve adds the allocations it decided."""

    claims: tuple[ClaimInfo, ...]
    to_allocate: tuple[ClaimInfo, ...]
    problem: Problem | None
    column: DeviceColumn
    allocations: dict[str, AllocationResult]


class DynamicResources:
    """Structured DRA. Behaviour: plugins/dynamicresources and KEP-4381."""

    name = _NAME
    per_pod = True
    is_about_claims = True
    allows_parallel_pre_bind = True

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._rng = handle.rng
        self._allocator = Allocator(handle.state.devices)
        self._columns: dict[tuple[object, ...], DeviceColumn] = {}
        self._zero = ZeroScore()
        has_conditions = handle.state.devices.features.binding_conditions
        args = read_args(handle.args, handle.gates.enabled("DRASchedulerFilterTimeout"), has_conditions)
        self._writer = ClaimWriter(handle.state, self.name, has_conditions)
        self._conditions = BindingConditions(handle.state, handle.clock, self.name, args.binding_timeout_s)
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
        if not pod.kind.template.spec.resource_claims:
            return NOTHING_TO_FILTER
        found = find_claims(self._state, pod)
        if found.problem is not None:
            return PreFilterResult(status=unresolvable(self.name, found.problem))
        if not found.claims:
            return NOTHING_TO_FILTER
        to_allocate = []
        for claim in found.claims:
            if claim.allocation is None:
                if self._state.claims.find_pending(claim.uid) is not None:
                    text = f"resource claim {claim.key} is in the process of being allocated"
                    return PreFilterResult(status=unresolvable(self.name, text))
                to_allocate.append(claim)
        return self._judge(found.claims, tuple(to_allocate))

    def _judge(self, claims: tuple[ClaimInfo, ...], to_allocate: tuple[ClaimInfo, ...]) -> PreFilterResult:
        problem = None
        if to_allocate:
            problem = self._allocator.prepare([c.input for c in to_allocate])
            if problem.fault is not None:
                return PreFilterResult(status=unresolvable(self.name, problem.fault))
        selectors = tuple(
            c.allocation.node_selector
            for c in claims
            if c.allocation is not None and c.allocation.node_selector is not None
        )
        column = self._column(problem, selectors, any(self._conditions.has_failed(c) for c in claims))
        return PreFilterResult(column=column, state=ClaimState(claims, to_allocate, problem, column, {}))

    def _column(self, problem: Problem | None, selectors: tuple[NodeSelector, ...], is_shut: bool) -> DeviceColumn:
        prepared = None if problem is None else problem.prepared
        key = (id(prepared), selectors, is_shut)
        column = self._columns.get(key)
        if column is None or column.prepared is not prepared:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            column = self._columns[key] = DeviceColumn(self._state, self._allocator, problem, selectors, is_shut)
        column.problem = problem  # claims with equal specs share the column; its texts name the pod's own
        return column

    def pre_score(self, pod: PodInfo, state: object) -> ZeroScore | DeviceScore:
        """Return the column that prefers nodes offering the earlier alternatives of prioritized lists."""
        if not isinstance(state, ClaimState) or state.problem is None:
            return self._zero
        return state.column.score

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe) -> PostFilterResult:
        """Free one allocated claim of the pod that nobody else uses, to place it anew.

        It must be one that some node cannot use, or whose devices could not be made ready.
        """
        for claim in find_claims(self._state, pod).claims:
            if claim.allocation is None or any(r.uid != pod.uid for r in claim.status.reserved_for):
                continue
            if self._conditions.has_failed(claim) or self._is_shut_out(claim.allocation.node_selector):
                meta = claim.meta
                command = DeallocateClaim(meta.namespace, meta.name, meta.uid, meta.resource_version)
                status = unschedulable(self.name, "deallocation of ResourceClaim completed")
                return PostFilterResult(status, commands=(command,))
        return PostFilterResult(unschedulable(self.name, "still not schedulable"))

    def _is_shut_out(self, selector: NodeSelector | None) -> bool:
        """Return whether some node cannot use a claim whose allocation has this selector."""
        if selector is None:
            return False
        nodes = self._state.nodes
        matcher = compile_node_selector(selector)
        return any(
            view is not None and not matcher.matches(view.metadata.name, view.metadata.labels) for view in nodes.views
        )

    # ---- reserve ------------------------------------------------------------------------------------------

    def reserve(self, pod: PodInfo, row: int, state: object) -> Status | None:
        """Decide the devices on the chosen node and keep them in memory until they are in the API."""
        if not isinstance(state, ClaimState) or state.problem is None:
            return None
        node = self._state.nodes.name(row)
        for claim in state.to_allocate:
            current = self._state.claims.find(claim.key)
            if current is None or current.uid != claim.uid or current.allocation is not None:
                return error(self.name, f"claim {claim.key} was allocated elsewhere in the meantime")
        results = self._allocator.allocate(state.problem, node, self._rng.uid)
        for claim, allocation in zip(state.to_allocate, results, strict=True):
            self._state.claims.signal_pending(claim.key, claim.uid, allocation)
            state.allocations[claim.uid] = allocation
        return None

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
        return commands

    # ---- bind ---------------------------------------------------------------------------------------------

    def pre_bind_pre_flight(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether the pod has claims."""
        return isinstance(state, ClaimState)

    def waits_in_pre_bind(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether devices have to be made ready."""
        assert isinstance(state, ClaimState)
        decided = (state.allocations.get(c.uid, c.allocation) for c in state.claims)
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
        return (yield from self._conditions.wait(pod, self._state.nodes.name(row), state.claims))

    # ---- events -------------------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[Registration]:
        """See `ClaimEvents`."""
        return self._events.list()

    def interests(self, pod: PodInfo) -> tuple[str, ...]:
        """Return the keys of the pod's claims."""
        return self._events.interests(pod)

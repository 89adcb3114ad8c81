"""What the devices of a pod's claims take of the node's own resources: whether there is enough, and writing it down.

Behaviour: KEP-5517 (alpha) and plugins/dynamicresources/nodeallocatabledynamicresources.go. A pod's footprint counts on
its node like its requests, from Reserve on.
"""

from collections.abc import Mapping

import numpy as np
from msgspec.structs import replace

from apportion.alloc import Allocator
from apportion.api.core import NodeAllocatableClaim
from apportion.api.node_allocatable import find_footprint, find_uncovered, list_users, sum_footprints
from apportion.api.resource import AllocationResult
from apportion.sched.framework import (
    Code,
    CommandGenerator,
    Outcome,
    RecordFootprint,
    RowGroups,
    Status,
    error,
    unresolvable,
)
from apportion.sched.plugins.device_columns import DeviceColumn
from apportion.sched.plugins.extended_claims import IN_MEMORY_NAME
from apportion.sched.state import Bools, ClaimInfo, ClusterState, Int64s, PodInfo, Usage

Footprint = tuple[NodeAllocatableClaim, ...]


class Footprints:
    """Works out footprints for the plugin called ``plugin``."""

    def __init__(self, state: ClusterState, allocator: Allocator, plugin: str) -> None:
        self._state = state
        self._allocator = allocator
        self.plugin = plugin

    def find_shared(self, pod: PodInfo, claims: tuple[ClaimInfo, ...]) -> Status | None:
        """Return why a pod cannot use a claim: what a device gives of the node is for one pod alone."""
        for claim in claims:
            others = any(r.uid != pod.uid for r in claim.status.reserved_for)
            if others and claim.allocation is not None:
                found = find_footprint(claim.meta.name, claim.allocation, (), self._state.devices.find_device)
                if found is not None and found.mapping:
                    text = f"node allocatable resource claim {claim.meta.name} has a mapped device"
                    return unresolvable(self.plugin, f"{text} and cannot be shared across pods")
        return None

    def find(self, pod: PodInfo, allocations: Mapping[str, AllocationResult]) -> Footprint:
        """Return what the claims (allocations by claim name) take of the node for a pod."""
        users = list_users(pod.spec, _entries_of(pod))
        found = (
            find_footprint(name, allocation, users.get(name, ()), self._state.devices.find_device)
            for name, allocation in allocations.items()
        )
        return tuple(f for f in found if f is not None)

    def preview(self, pod: PodInfo, claims: tuple[ClaimInfo, ...], column: DeviceColumn, row: int) -> Footprint:
        """Return the footprint if the pod went to a node where its claims fit."""
        allocations = {c.meta.name: c.allocation for c in claims if c.allocation is not None}
        problem = column.problem_at(row)
        if problem is not None:
            names = [c.meta.name for c in claims if c.allocation is None]
            names.append(IN_MEMORY_NAME)  # if the node is one where devices serve extended resources
            results = self._allocator.allocate(problem, self._state.nodes.name(row), lambda: "")
            allocations |= dict(zip(names, results, strict=False))
        return self.find(pod, allocations)

    def count(self, pod: PodInfo, footprint: Footprint) -> None:
        """Count a footprint on the node that the pod is assumed on; an empty one takes it back."""
        self._state.reweigh(pod, self.weigh(pod, sum_footprints(footprint)))

    def weigh(self, pod: PodInfo, extra: Mapping[str, int]) -> Usage:
        """Return what the pod takes with what its devices take of the node (column units) beside."""
        template = pod.kind.template
        return self._state.reader.add_to_usage(template, extra) if extra else template.usage

    def write(self, pod: PodInfo, footprint: Footprint, extended: str) -> CommandGenerator:
        """Write the footprint into the pod's status; ``extended`` is what the claim kept in memory is called by now."""
        named = [replace(f, resource_claim_name=extended) if _is_in_memory(f) else f for f in footprint]
        written = tuple(sorted(named, key=lambda f: f.resource_claim_name))
        outcome: Outcome = yield RecordFootprint(pod.namespace, pod.name, pod.uid, written)
        return None if outcome.is_ok else error(self.plugin, f"record what devices take of the node: {outcome.message}")


def _is_in_memory(footprint: NodeAllocatableClaim) -> bool:
    return footprint.resource_claim_name == IN_MEMORY_NAME


def _entries_of(pod: PodInfo) -> dict[str, str]:
    """Return the claim behind each entry of a pod's spec, as far as it is known."""
    made = {s.name: s.resource_claim_name for s in pod.claim_statuses}
    named = {e.name: e.resource_claim_name or made.get(e.name) for e in pod.spec.resource_claims}
    return {entry: claim for entry, claim in named.items() if claim}


class FootprintColumn:
    """Nodes where the claims fit, and where what their devices take of the node is left beside the pod's requests."""

    __slots__ = ("_base", "_base_stamp", "_claims", "_cursor", "_footprints", "_pod", "_state", "ok", "stamp")

    def __init__(
        self,
        state: ClusterState,
        base: DeviceColumn,
        footprints: Footprints,
        pod: PodInfo,
        claims: tuple[ClaimInfo, ...],
    ) -> None:
        self._state = state
        self._base = base
        self._footprints = footprints
        self._pod = pod
        self._claims = claims
        self.stamp = 0
        self._compute()

    def _compute(self) -> None:
        self._base_stamp = self._base.stamp
        self._cursor = self._state.nodes.usage.head
        self.ok: Bools = self._base.ok.copy()
        for row in np.flatnonzero(self.ok).tolist():
            self.ok[row] = self._find_refusal(row) is None
        self.stamp += 1

    def _find_refusal(self, row: int) -> Status | None:
        """Return why what the devices take is too much for the pod or for the node, None when it is not."""
        footprint = self._footprints.preview(self._pod, self._claims, self._base, row)
        uncovered = find_uncovered(self._pod.spec, footprint)
        if uncovered is not None:
            return unresolvable(self._footprints.plugin, uncovered)
        short = self._find_shortages(row, footprint)
        if not short:
            return None
        hopeless = any(is_hopeless for _, is_hopeless in short)
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
        return Status(code, tuple(f"Insufficient {name}" for name, _ in short), self._footprints.plugin)

    def _find_shortages(self, row: int, footprint: Footprint) -> list[tuple[str, bool]]:
        """Return (resource, whether the whole node is too small) for what there is too little of."""
        nodes = self._state.nodes
        taken = sum_footprints(footprint)
        wanted = dict(self._footprints.weigh(self._pod, taken).requests)
        short = []
        for name in sorted(taken):
            resource, amount = nodes.resource_id(name), wanted.get(name, 0)
            allocatable = int(nodes.allocatable[resource, row])
            if allocatable - int(nodes.requested[resource, row]) < amount:
                short.append((name, allocatable < amount))
        return short

    def refresh(self) -> None:
        """Bring ``ok`` up to date with devices and with what lies on the nodes."""
        self._base.refresh()
        nodes = self._state.nodes
        if self._base.stamp != self._base_stamp or len(self.ok) != nodes.rows:
            self._compute()
            return
        rows = nodes.usage.since(self._cursor, 32)
        if rows is None:
            self._compute()
            return
        self._cursor = nodes.usage.head
        for row in rows:
            self.ok[row] = self._base.ok[row] and self._find_refusal(row) is None

    def statuses(self, rows: Int64s) -> RowGroups:
        """What the claims' column says, or what there is too little of."""
        groups: RowGroups = []
        refused = rows[~self._base.ok[rows]]
        if len(refused):
            groups += self._base.statuses(refused)
        for row in rows[self._base.ok[rows]].tolist():
            status = self._find_refusal(row)
            if status is not None:
                groups.append((status, np.array([row], np.int64)))
        return groups

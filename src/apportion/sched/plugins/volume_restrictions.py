"""VolumeRestrictions: disks that one node may write to, and claims that one pod may use."""

from collections.abc import Sequence

import numpy as np

from apportion.api.pod_volumes import (
    AWSElasticBlockStoreVolumeSource,
    DiskSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
)
from apportion.sched.framework.columns import RowGroups
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import unresolvable, unschedulable
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.volume_claims import hint_own_claim, mounted_claims
from apportion.sched.queue import (
    PERSISTENT_VOLUME_CLAIM,
    ActionType,
    ClusterEvent,
    Hint,
    Registration,
)
from apportion.sched.state import Bools, ClusterState, Int64s, PodInfo, VolumeUsage, claim_keys_of, volumes_of

_NAME = "VolumeRestrictions"
_DISK_CONFLICT = unschedulable(_NAME, "node(s) had no available disk")
_CLAIM_IN_USE = unschedulable(
    _NAME,
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
)


class VolumeRestrictions:
    """Behaviour: plugins/volumerestrictions of kube-scheduler."""

    name = _NAME
    per_pod = True
    is_about = "volumes"

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Turn the pod down when a claim is missing; otherwise return the column, if anything is restricted."""
        exclusive: list[str] = []
        for mounted in mounted_claims(self._state.volumes, pod):
            if mounted.is_ephemeral:
                continue  # nobody else can use it
            claim = mounted.claim
            if claim is None:
                text = f'persistentvolumeclaim "{mounted.name}" not found'
                return PreFilterResult(status=unresolvable(self.name, text))
            if "ReadWriteOncePod" in claim.spec.access_modes:
                exclusive.append(claim.metadata.key)
        disks = volumes_of(pod).disks
        if not disks and not _is_any_used(self._state.volumes.usage, exclusive):
            return NOTHING_TO_FILTER
        return PreFilterResult(column=RestrictionColumn(self._state, disks, tuple(exclusive)))

    def events_to_register(self) -> Sequence[Registration]:
        """A pod that used the same disk or claim goes; a claim or a node appears."""
        gone = ClusterEvent("AssignedPod", ActionType.DELETE)
        claim = ClusterEvent(PERSISTENT_VOLUME_CLAIM, ActionType.ADD | ActionType.UPDATE)
        return [
            Registration(self.name, gone, self._hint_pod),
            Registration(self.name, claim, hint_own_claim),
            Registration(self.name, ClusterEvent("Node", ActionType.ADD), None),
        ]

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(old, PodInfo):
            return Hint.SKIP
        freed = volumes_of(old).disks
        if any(_conflicts(mine, theirs) for mine in volumes_of(pod).disks for theirs in freed):
            return Hint.QUEUE
        shared = set(claim_keys_of(pod)) & set(claim_keys_of(old))
        return Hint.QUEUE if shared else Hint.SKIP


class RestrictionColumn:
    """Rows where the pod's disks are free, if no pod anywhere uses a claim that has to be the pod's alone."""

    __slots__ = ("_blocked", "_cursor", "_disks", "_exclusive", "_state", "ok", "stamp")
    keeps_reasons = True

    def __init__(self, state: ClusterState, disks: tuple[DiskSource, ...], exclusive: tuple[str, ...]) -> None:
        self._state = state
        self._disks = disks
        self._exclusive = exclusive
        self.stamp = 0
        self._compute()

    def _compute(self) -> None:
        nodes = self._state.nodes
        self._cursor = nodes.usage.head
        self._blocked = _is_any_used(self._state.volumes.usage, self._exclusive)
        self.ok: Bools = nodes.valid & (not self._blocked)
        for row in range(nodes.rows) if self._disks else ():
            self.ok[row] &= not self._has_conflict(row)
        self.stamp += 1

    def _has_conflict(self, row: int) -> bool:
        used = self._state.volumes.usage.disks(row)
        return any(_conflicts(mine, theirs) for theirs in used for mine in self._disks)

    def refresh(self) -> None:
        """Bring ``ok`` up to date: changed rows only, unless one of the claims became free or taken."""
        nodes = self._state.nodes
        if self._cursor == nodes.usage.head:
            return
        rows = nodes.usage.since(self._cursor, 1024)
        blocked = _is_any_used(self._state.volumes.usage, self._exclusive)
        if rows is None or len(self.ok) != nodes.rows or blocked != self._blocked:
            self._compute()
            return
        self._cursor = nodes.usage.head
        for row in rows:
            self.ok[row] = nodes.valid[row] and not blocked and not self._has_conflict(row)

    def statuses(self, rows: Int64s) -> RowGroups:
        """A conflict over a disk comes before one over a claim."""
        conflict = np.fromiter((self._has_conflict(row) for row in rows.tolist()), np.bool_, len(rows))
        groups = ((_DISK_CONFLICT, rows[conflict]), (_CLAIM_IN_USE, rows[~conflict]))
        return [(status, found) for status, found in groups if len(found)]


def _is_any_used(usage: VolumeUsage, claims: Sequence[str]) -> bool:
    return any(usage.count_users(key) for key in claims)


def _conflicts(one: DiskSource, other: DiskSource) -> bool:
    """Return whether pods on one node cannot both have these disks: the same disk, and not both only read it.

    An EBS volume cannot be shared even for reading.
    """
    if isinstance(one, AWSElasticBlockStoreVolumeSource):
        return isinstance(other, AWSElasticBlockStoreVolumeSource) and one.volume_id == other.volume_id
    return _is_same(one, other) and not (one.read_only and other.read_only)


def _is_same(one: DiskSource, other: DiskSource) -> bool:
    if isinstance(one, RBDVolumeSource) and isinstance(other, RBDVolumeSource):
        reachable = bool(set(one.monitors) & set(other.monitors))
        return reachable and (one.pool, one.image) == (other.pool, other.image)
    if isinstance(one, GCEPersistentDiskVolumeSource) and isinstance(other, GCEPersistentDiskVolumeSource):
        return one.pd_name == other.pd_name
    return isinstance(one, ISCSIVolumeSource) and isinstance(other, ISCSIVolumeSource) and one.iqn == other.iqn

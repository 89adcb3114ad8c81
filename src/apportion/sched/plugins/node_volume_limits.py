"""NodeVolumeLimits: a CSI driver can attach only so many volumes to one node."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from apportion.api.storage import CSINode, VolumeAttachment
from apportion.sched.framework.columns import RowGroups
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import Status, unschedulable
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.volume_claims import find_foreign_owner, hint_own_claim, mounted_claims
from apportion.sched.queue import (
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    VOLUME_ATTACHMENT,
    ActionType,
    ClusterEvent,
    Hint,
    Registration,
)
from apportion.sched.state import Bools, ClusterState, CsiVolume, Int64s, PodInfo, volumes_of

_COLUMNS_MAX: Final = 512
_NAME = "NodeVolumeLimits"
_TOO_MANY = unschedulable(_NAME, "node(s) exceed max volume count")


class NodeVolumeLimits:
    """Behaviour: plugins/nodevolumelimits (CSILimits) of kube-scheduler, without in-tree volumes.

    Pods that add equally many volumes of the same drivers share a column, unless a volume is attached somewhere.
    """

    name = _NAME
    per_pod = True
    is_about = "volumes"

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._checks_presence = handle.gates.enabled("VolumeLimitScaling")
        self._columns: dict[tuple[CsiVolume, ...], LimitColumn] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes that can attach the pod's volumes; nothing for a pod without CSI volumes.

        A claim that is missing or not the pod's does not count here: VolumeBinding turns such a pod down.
        """
        volumes = self._new_volumes(pod)
        if not volumes:
            return NOTHING_TO_FILTER
        column = self._columns.get(volumes)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            column = self._columns[volumes] = LimitColumn(self._state, volumes, self._checks_presence)
        return PreFilterResult(column=column)

    def _new_volumes(self, pod: PodInfo) -> tuple[CsiVolume, ...]:
        """Return the pod's volumes; those attached nowhere are alike and get a number in place of their handle."""
        store = self._state.volumes
        attached: set[CsiVolume] = set()
        others: dict[CsiVolume, None] = {}
        for mounted in mounted_claims(store, pod):
            claim = mounted.claim
            if claim is None or (mounted.is_ephemeral and find_foreign_owner(pod, claim) is not None):
                continue
            volume = store.find_csi_volume(claim)
            if volume is None:
                continue
            if store.usage.is_in_use(volume) or store.is_attached(claim.spec.volume_name):
                attached.add(volume)
            else:
                others[volume] = None
        counts = Counter(driver for driver, _ in others)
        numbered = [(driver, f"new {i}") for driver, count in counts.items() for i in range(count)]
        return tuple(sorted([*attached, *numbered]))

    # ---- events -------------------------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[Registration]:
        """Limits that appear or rise, pods with volumes that go, volumes that are detached, the pod's claims."""
        csi_node = ClusterEvent(CSI_NODE, ActionType.ADD | ActionType.UPDATE)
        gone = ClusterEvent("AssignedPod", ActionType.DELETE)
        claim = ClusterEvent(PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        detached = ClusterEvent(VOLUME_ATTACHMENT, ActionType.DELETE)
        return [
            Registration(self.name, csi_node, self._hint_csi_node),
            Registration(self.name, gone, self._hint_pod),
            Registration(self.name, claim, hint_own_claim),
            Registration(self.name, detached, self._hint_attachment),
            Registration(self.name, ClusterEvent("Node", ActionType.ADD), None),
        ]

    def _hint_csi_node(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(old, CSINode) or not isinstance(new, CSINode):
            return Hint.QUEUE
        before, after = _limits(old), _limits(new)
        rose = any(_is_more(after[driver], before[driver]) for driver in after.keys() & before.keys())
        return Hint.QUEUE if rose or after.keys() != before.keys() else Hint.SKIP

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        return Hint.QUEUE if isinstance(old, PodInfo) and volumes_of(old).claims else Hint.SKIP

    def _hint_attachment(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(old, VolumeAttachment):
            return Hint.QUEUE
        drivers = {driver for driver, _ in self._new_volumes(pod)}
        return Hint.QUEUE if old.spec.attacher in drivers else Hint.SKIP


class LimitColumn:
    """Rows that can attach some volumes, given what pods there use and what VolumeAttachments say."""

    __slots__ = ("_checks_presence", "_cursor", "_drivers_version", "_state", "_wanted", "ok", "stamp")
    keeps_reasons = True

    def __init__(self, state: ClusterState, volumes: tuple[CsiVolume, ...], checks_presence: bool) -> None:
        self._state = state
        self._checks_presence = checks_presence
        self._wanted: dict[str, set[str]] = {}
        for driver, handle in volumes:
            self._wanted.setdefault(driver, set()).add(handle)
        self.stamp = 0
        self._compute()

    def _compute(self) -> None:
        nodes = self._state.nodes
        self._cursor = nodes.usage.head
        self._drivers_version = self._state.versions.get("CSIDriver", 0)
        self.ok: Bools = nodes.valid.copy()
        for row in np.flatnonzero(nodes.valid).tolist():
            self.ok[row] = self._find_rejection(row) is None
        self.stamp += 1

    def _find_rejection(self, row: int) -> Status | None:
        node_name = self._state.nodes.name(row)
        csi_node = self._state.volumes.csi_nodes.get(node_name)
        limits = {} if csi_node is None else _limits(csi_node)
        if self._checks_presence:
            for driver in self._wanted:
                if driver not in limits and self._must_be_present(driver):
                    return unschedulable(_NAME, f"{driver} CSI driver is not installed on the node")
        for driver, handles in self._wanted.items():
            limit = limits.get(driver)
            if limit is None:
                continue
            attached = {h for d, h in self._state.volumes.attached_to(node_name) if d == driver}
            attached.update(self._state.volumes.usage.attached(row, driver))
            added = len(handles - attached)
            if added and len(attached) + added > limit:
                return _TOO_MANY
        return None

    def _must_be_present(self, driver: str) -> bool:
        found = self._state.volumes.drivers.get(driver)
        return found is not None and found.spec.prevent_pod_scheduling_if_missing

    def refresh(self) -> None:
        """Bring ``ok`` up to date: changed rows only, unless a CSIDriver changed."""
        nodes = self._state.nodes
        same_drivers = self._drivers_version == self._state.versions.get("CSIDriver", 0)
        if self._cursor == nodes.usage.head and same_drivers:
            return
        rows = nodes.usage.since(self._cursor, 1024)
        if rows is None or len(self.ok) != nodes.rows or not same_drivers:
            self._compute()
            return
        self._cursor = nodes.usage.head
        for row in rows:
            self.ok[row] = nodes.valid[row] and self._find_rejection(row) is None

    def statuses(self, rows: Int64s) -> RowGroups:
        """Too many volumes, or a driver that is missing."""
        groups: dict[Status, list[int]] = {}
        for row in rows.tolist():
            groups.setdefault(self._find_rejection(row) or _TOO_MANY, []).append(row)
        return [(status, np.array(found, np.int64)) for status, found in groups.items()]


def _limits(csi_node: CSINode) -> dict[str, int | None]:
    """Return the drivers on a node with how many volumes each can attach; None is no limit."""
    return {d.name: d.allocatable.count if d.allocatable is not None else None for d in csi_node.spec.drivers}


def _is_more(limit: int | None, than: int | None) -> bool:
    return than is not None and (limit is None or limit > than)

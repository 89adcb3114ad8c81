"""VolumeZone: volumes with zone or region labels can be used only by nodes that carry the same."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from apportion.api.storage import PersistentVolume, StorageClass
from apportion.sched.framework.columns import MaskColumn
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import unresolvable
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.volume_claims import MountedClaim, hint_own_claim, mounted_claims
from apportion.sched.queue import (
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    ActionType,
    ClusterEvent,
    Hint,
    Registration,
)
from apportion.sched.state import Bools, LabelColumn, NodeMask, NodeTable, PodInfo

_COLUMNS_MAX: Final = 1024
_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_OLD_ZONE, _OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
_KEYS: Final = (_OLD_ZONE, _OLD_REGION, _ZONE, _REGION)
_SUCCESSORS: Final = {_OLD_ZONE: _ZONE, _OLD_REGION: _REGION}

Topology = tuple[str, tuple[str, ...]]  # label key, values of which the node needs one


class VolumeZone:
    """Behaviour: plugins/volumezone of kube-scheduler. Columns are shared by pods whose volumes lie alike."""

    name = "VolumeZone"
    per_pod = True
    is_about = "volumes"

    def __init__(self, handle: Handle) -> None:
        self._nodes = handle.state.nodes
        self._volumes = handle.state.volumes
        self._status = unresolvable(self.name, "node(s) had no available volume zone")
        self._columns: dict[tuple[Topology, ...], MaskColumn] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes in the right zones; nothing when no volume is tied to one."""
        wanted: dict[Topology, None] = {}
        for mounted in mounted_claims(self._volumes, pod):
            found = self._topologies(mounted)
            if isinstance(found, str):
                return PreFilterResult(status=unresolvable(self.name, found))
            wanted.update(dict.fromkeys(found))
        return PreFilterResult(column=self._column(tuple(sorted(wanted)))) if wanted else NOTHING_TO_FILTER

    def _topologies(self, mounted: MountedClaim) -> tuple[Topology, ...] | str:
        """Return what the volume behind a claim demands of a node, or the text of what is missing."""
        claim = mounted.claim
        if claim is None:
            return f'persistentvolumeclaim "{mounted.name}" not found'
        if claim.spec.volume_name:
            volume = self._volumes.find_volume(claim.spec.volume_name)
            return f'persistentvolume "{claim.spec.volume_name}" not found' if volume is None else topologies_of(volume)
        if not claim.class_name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self._volumes.classes.get(claim.class_name)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{claim.class_name}" not found'
        return () if _is_delayed(storage_class) else "PersistentVolume had no name"

    def _column(self, wanted: tuple[Topology, ...]) -> MaskColumn:
        column = self._columns.get(wanted)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            mask = NodeMask(self._nodes, lambda: _compute(self._nodes, wanted))
            column = self._columns[wanted] = MaskColumn(mask, self._status)
        return column

    def events_to_register(self) -> Sequence[Registration]:
        """Classes that bind late, nodes with other labels, the pod's claims, and volumes that lie elsewhere now."""
        update = ActionType.ADD | ActionType.UPDATE
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT)
        return [
            Registration(self.name, ClusterEvent(STORAGE_CLASS, ActionType.ADD), self._hint_class),
            Registration(self.name, node, None),
            Registration(self.name, ClusterEvent(PERSISTENT_VOLUME_CLAIM, update), hint_own_claim),
            Registration(self.name, ClusterEvent(PERSISTENT_VOLUME, update), self._hint_volume),
        ]

    def _hint_class(self, pod: PodInfo, old: object, new: object) -> Hint:
        return Hint.QUEUE if isinstance(new, StorageClass) and _is_delayed(new) else Hint.SKIP

    def _hint_volume(self, pod: PodInfo, old: object, new: object) -> Hint:
        """Only labels that are zones or regions count."""
        if isinstance(old, PersistentVolume) and isinstance(new, PersistentVolume):
            return Hint.SKIP if topologies_of(old) == topologies_of(new) else Hint.QUEUE
        return Hint.QUEUE


def _is_delayed(storage_class: StorageClass) -> bool:
    return storage_class.volume_binding_mode == "WaitForFirstConsumer"


def topologies_of(volume: PersistentVolume) -> tuple[Topology, ...]:
    """Return the zones and regions in a volume's labels, several joined by ``__``; a malformed label says nothing."""
    found = []
    for key in _KEYS:
        raw = volume.metadata.labels.get(key)
        values = tuple(sorted({v.strip() for v in raw.split("__")})) if raw is not None else ()
        if values and "" not in values:
            found.append((key, values))
    return tuple(found)


def _compute(nodes: NodeTable, wanted: tuple[Topology, ...]) -> Bools:
    """Return [row] bool; a node without any zone or region label will do, as in a cluster of one zone."""
    columns = {key: nodes.label_column(key) for key in _KEYS}
    labelled: Bools = np.logical_or.reduce([c.has() for c in columns.values()])
    fits: Bools = nodes.valid.copy()
    for key, values in wanted:
        accepted = _has_one_of(columns[key], values)
        if key in _SUCCESSORS:  # the old label is looked for first, then the one that took its place
            accepted = np.where(columns[key].has(), accepted, _has_one_of(columns[_SUCCESSORS[key]], values))
        fits &= accepted
    return fits | (nodes.valid & ~labelled)


def _has_one_of(column: LabelColumn, values: tuple[str, ...]) -> Bools:
    return column.test(lambda value: value in values)

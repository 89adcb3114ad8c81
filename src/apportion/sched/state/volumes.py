"""Volumes, claims on them and what describes their storage: as the API says, and as the scheduler assumes."""

from collections.abc import Iterable, Mapping
from typing import Final

from apportion.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from apportion.api.view import View
from apportion.base import ChangeLog
from apportion.sched.state.assumed_views import AssumedViews
from apportion.sched.state.listeners import Listeners
from apportion.sched.state.nodes import NodeTable
from apportion.sched.state.volume_attachments import VolumeAttachments, drop_entry
from apportion.sched.state.volume_usage import CsiVolume, VolumeUsage

STORAGE_KINDS: Final = frozenset(
    {
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
    }
)


class VolumeStore:
    """Everything that the volume plugins read, with the indexes they need.

    ``changes`` lists the names of volumes that changed. What is in use on nodes is told by ``usage``; rows whose
    attached volumes or limits changed are noted in the node table.
    """

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._claims: AssumedViews[PersistentVolumeClaim] = AssumedViews()
        self._volumes: AssumedViews[PersistentVolume] = AssumedViews()
        self.classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[str, CSIStorageCapacity] = {}
        self._attachments = VolumeAttachments()
        self._of_class: dict[str, dict[str, None]] = {}  # names of volumes
        self._meant_for: dict[str, dict[str, None]] = {}  # claim -> names of volumes
        self._users_of: dict[str, dict[str, None]] = {}  # volume -> claims that name it
        self.changes: ChangeLog[str] = ChangeLog()
        self.listeners = Listeners()
        self.usage = VolumeUsage(nodes.touch_usage, self._resolve)

    # ---- reading ------------------------------------------------------------------------------------------

    def find_claim(self, key: str) -> PersistentVolumeClaim | None:
        """Return a claim, assumed changes included."""
        return self._claims.latest.get(key)

    def find_volume(self, name: str) -> PersistentVolume | None:
        """Return a volume, assumed changes included."""
        return self._volumes.latest.get(name)

    def find_actual_claim(self, key: str) -> PersistentVolumeClaim | None:
        """Return a claim as the API showed it last."""
        return self._claims.find_actual(key)

    def find_actual_volume(self, name: str) -> PersistentVolume | None:
        """Return a volume as the API showed it last."""
        return self._volumes.find_actual(name)

    def volumes_of_class(self, class_name: str) -> list[str]:
        """Return the names of the volumes of a storage class."""
        return list(self._of_class.get(class_name, ()))

    def has_volume_for(self, claim: PersistentVolumeClaim) -> bool:
        """Return whether some volume's claimRef names the claim."""
        meta = claim.metadata
        names = self._meant_for.get(meta.key, ())
        return any(self._volumes.latest[n].is_meant_for(meta.namespace, meta.name, meta.uid) for n in names)

    def find_csi_volume(self, claim: PersistentVolumeClaim) -> CsiVolume | None:
        """Return which CSI volume counts for a claim; for one that is not provisioned yet a stand-in of its driver.

        None for volumes that are not CSI. Behaviour: getCSIDriverInfo of plugins/nodevolumelimits, without the
        translation of in-tree volumes.
        """
        volume = self.find_volume(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is not None:
            csi = volume.spec.csi
            return (csi.driver, csi.volume_handle) if csi is not None and csi.driver and csi.volume_handle else None
        storage_class = self.classes.get(claim.class_name)
        if storage_class is None or not storage_class.provisioner:
            return None
        return storage_class.provisioner, f"unprovisioned {claim.metadata.key}"

    def attached_to(self, node_name: str) -> list[CsiVolume]:
        """Return the CSI volumes that VolumeAttachments tie to a node."""
        volumes = (self.find_volume(name) for name in self._attachments.volumes_on(node_name))
        return [(v.spec.csi.driver, v.spec.csi.volume_handle) for v in volumes if v is not None and v.spec.csi]

    def is_attached(self, volume_name: str) -> bool:
        """Return whether a VolumeAttachment names the volume."""
        return bool(self._attachments.nodes_of(volume_name))

    def _resolve(self, claim_key: str) -> CsiVolume | None:
        claim = self.find_claim(claim_key)
        return None if claim is None else self.find_csi_volume(claim)

    # ---- what the API says --------------------------------------------------------------------------------

    def apply(self, kind: str, key: str, view: View | None) -> View | None:
        """Store an object of one of the ``STORAGE_KINDS``, None when it is gone. Returns what was known before."""
        if kind == "PersistentVolume":
            assert view is None or isinstance(view, PersistentVolume)
            volume_before = self._change_volume(key, view)
            self.listeners.tell(key)
            return volume_before
        if kind == "PersistentVolumeClaim":
            assert view is None or isinstance(view, PersistentVolumeClaim)
            claim_before = self._change_claim(key, view)
            self.listeners.tell(key)
            return claim_before
        if kind == "VolumeAttachment":
            assert view is None or isinstance(view, VolumeAttachment)
            return self._change_attachment(key, view)
        before = _set(self._table(kind), key, view)
        if kind == "CSINode":
            self._touch(key)
        elif kind == "StorageClass":
            for claim in self.usage.claims_in_use():
                self.usage.resolve_again(claim)
        return before

    def _table(self, kind: str) -> dict[str, View]:
        tables: Mapping[str, object] = {
            "StorageClass": self.classes,
            "CSINode": self.csi_nodes,
            "CSIDriver": self.drivers,
            "CSIStorageCapacity": self.capacities,
        }
        return tables[kind]  # type: ignore[return-value]

    def _change_volume(self, name: str, view: PersistentVolume | None) -> PersistentVolume | None:
        seen = self._volumes.latest.get(name)
        before = self._volumes.apply(name, view)
        self._index_volume(name, seen)
        return before

    def _index_volume(self, name: str, before: PersistentVolume | None) -> None:
        after = self._volumes.latest.get(name)
        if before is not None:
            drop_entry(self._of_class, before.class_name, name)
            drop_entry(self._meant_for, _meant_key(before), name)
        if after is not None:
            self._of_class.setdefault(after.class_name, {})[name] = None
            if after.spec.claim_ref is not None:
                self._meant_for.setdefault(_meant_key(after), {})[name] = None
        self.changes.add(name)
        for claim in self._users_of.get(name, ()):
            self.usage.resolve_again(claim)
        for node in self._attachments.nodes_of(name):
            self._touch(node)

    def _change_claim(self, key: str, view: PersistentVolumeClaim | None) -> PersistentVolumeClaim | None:
        before = self._claims.apply(key, view)
        if before is not None:
            drop_entry(self._users_of, before.spec.volume_name, key)
        if view is not None and view.spec.volume_name:
            self._users_of.setdefault(view.spec.volume_name, {})[key] = None
        self.usage.resolve_again(key)
        return before

    def _change_attachment(self, name: str, view: VolumeAttachment | None) -> VolumeAttachment | None:
        before = self._attachments.apply(name, view)
        for attachment in (before, view):
            if attachment is not None:
                self._touch(attachment.spec.node_name)
        return before

    def _touch(self, node_name: str) -> None:
        row = self._nodes.row_of.get(node_name)
        if row is not None:
            self._nodes.touch_usage(row)

    # ---- what the scheduler decided -----------------------------------------------------------------------

    def assume_volume(self, volume: PersistentVolume) -> None:
        """Take a volume as bound to a claim before the API shows it."""
        name = volume.metadata.name
        seen = self._volumes.latest.get(name)
        self._volumes.assume(name, volume)
        self._index_volume(name, seen)

    def assume_claim(self, claim: PersistentVolumeClaim) -> None:
        """Take a claim as annotated before the API shows it."""
        self._claims.assume(claim.metadata.key, claim)

    def restore(self, volumes: Iterable[str], claims: Iterable[str]) -> None:
        """Take back what was assumed of volumes and claims."""
        for name in volumes:
            seen = self._volumes.latest.get(name)
            if self._volumes.restore(name):
                self._index_volume(name, seen)
        for key in claims:
            self._claims.restore(key)


def _meant_key(volume: PersistentVolume) -> str:
    ref = volume.spec.claim_ref
    return f"{ref.namespace}/{ref.name}" if ref is not None else ""


def _set(table: dict[str, View], key: str, view: View | None) -> View | None:
    before = table.get(key)
    if view is None:
        table.pop(key, None)
    else:
        table[key] = view
    return before

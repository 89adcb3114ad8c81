"""What VolumeBinding writes: a volume's claimRef, a claim's selected node. Assumed first, then sent."""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from apportion.api.storage import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from apportion.api.view import ObjectMeta
from apportion.sched.framework.commands import BindVolume, Outcome, SelectNode
from apportion.sched.framework.status import Status, error
from apportion.sched.framework.waits import CommandGenerator
from apportion.sched.state import VolumeStore

_NAME: Final = "VolumeBinding"


@dataclass(slots=True)
class Writes:
    """The bindings decided for one pod. Only what this pod assumed itself is taken back for it."""

    bindings: dict[str, PersistentVolumeClaim] = field(default_factory=dict)  # by volume
    nodes: dict[str, tuple[PersistentVolumeClaim, str]] = field(default_factory=dict)  # by claim
    assumed_volumes: list[str] = field(default_factory=list)
    assumed_claims: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)  # by volume or claim: the version of our write

    # ---- in memory ----------------------------------------------------------------------------------------

    def assume_binding(self, store: VolumeStore, name: str, claim: PersistentVolumeClaim) -> None:
        """Take a volume as bound to ``claim``."""
        self.bindings[name] = claim
        volume = store.find_volume(name)
        if volume is None or _is_tied(volume, claim):
            return
        store.assume_volume(_tie(volume, claim))
        self.assumed_volumes.append(name)

    def assume_node(self, store: VolumeStore, claim: PersistentVolumeClaim, node_name: str) -> None:
        """Take a claim as on its way to a node, where its volume is to be made."""
        key = claim.metadata.key
        self.nodes[key] = (claim, node_name)
        if claim.metadata.annotations.get(SELECTED_NODE) == node_name:
            return
        store.assume_claim(msgspec.structs.replace(claim, metadata=_annotate(claim.metadata, SELECTED_NODE, node_name)))
        self.assumed_claims.append(key)

    def restore(self, store: VolumeStore) -> None:
        """Take back what was assumed."""
        store.restore(self.assumed_volumes, self.assumed_claims)
        self.assumed_volumes.clear()
        self.assumed_claims.clear()

    # ---- in the API ---------------------------------------------------------------------------------------

    def commands(self, store: VolumeStore) -> CommandGenerator:
        """Yield what is not in the API yet; end with a status when something else happened in the meantime."""
        for name, claim in self.bindings.items():
            status = yield from self._note(name, _bind(store, name, claim))
            if status is not None:
                return status
        for claim, node_name in self.nodes.values():
            status = yield from self._note(claim.metadata.key, _select_node(store, claim, node_name))
            if status is not None:
                return status
        return None

    def _note(self, name: str, task: CommandGenerator) -> CommandGenerator:
        """Run a task of one write at most, and note the version that the write has made."""
        try:
            outcome = yield next(task)
            if outcome.is_ok:
                self.written[name] = _read_version(outcome)
            task.send(outcome)
        except StopIteration as end:
            status: Status | None = end.value
            return status
        raise AssertionError("one write has become two")


class _Versioned(msgspec.Struct):
    metadata: ObjectMeta = ObjectMeta()


def _read_version(outcome: Outcome) -> str:
    try:
        return msgspec.json.decode(outcome.body, type=_Versioned).metadata.resource_version
    except msgspec.DecodeError:
        return ""


def is_outdated(meta: ObjectMeta, written: str | None) -> bool:
    """Return whether what the API showed last is older than our write. Versions that cannot be compared are not."""
    known = meta.resource_version
    return written is not None and written.isdecimal() and known.isdecimal() and int(known) < int(written)


def _bind(store: VolumeStore, name: str, claim: PersistentVolumeClaim) -> CommandGenerator:
    volume = store.find_actual_volume(name)
    if volume is None:
        return _failure(f"volume {name} got deleted in the meantime")
    if volume.spec.claim_ref is not None and not _is_meant(volume, claim):
        return _failure(f"volume {name} got bound to another claim in the meantime")
    if _is_tied(volume, claim):
        return None
    meta, ref = volume.metadata, _tie(volume, claim).spec.claim_ref
    assert ref is not None
    outcome = yield BindVolume(name, meta.uid, meta.resource_version, ref, volume.spec.claim_ref is None)
    return None if outcome.is_ok else _failure(f"bind volume {name}: {outcome.message}")


def _select_node(store: VolumeStore, claim: PersistentVolumeClaim, node_name: str) -> CommandGenerator:
    current = store.find_actual_claim(claim.metadata.key)
    if current is None or current.metadata.uid != claim.metadata.uid:
        return _failure(f"claim {claim.metadata.key} got deleted in the meantime")
    meta = current.metadata
    selected = meta.annotations.get(SELECTED_NODE)
    if current.spec.volume_name or selected not in (None, node_name):
        return _failure(f"claim {meta.key} got another node or volume in the meantime")
    if selected == node_name:
        return None
    outcome = yield SelectNode(meta.namespace, meta.name, meta.uid, meta.resource_version, node_name)
    return None if outcome.is_ok else _failure(f"select node {node_name} for claim {meta.key}: {outcome.message}")


def _failure(text: str) -> Status:
    return error(_NAME, text)


def _is_meant(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return volume.is_meant_for(claim.metadata.namespace, claim.metadata.name, claim.metadata.uid)


def _is_tied(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Return whether the volume names this claim, uid included."""
    ref = volume.spec.claim_ref
    return ref is not None and bool(ref.uid) and _is_meant(volume, claim)


def _tie(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    """Return the volume as bound to the claim (storage/volume.GetBindVolumeToClaim).

    A volume that did not name the claim already is marked, so that the controller may free it again.
    """
    meta = claim.metadata
    ref = ObjectReference(
        kind="PersistentVolumeClaim",
        api_version="v1",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
    own = volume.metadata
    if volume.spec.claim_ref is None:
        own = _annotate(own, BOUND_BY_CONTROLLER, "yes")
    return msgspec.structs.replace(volume, metadata=own, spec=msgspec.structs.replace(volume.spec, claim_ref=ref))


def _annotate(meta: ObjectMeta, key: str, value: str) -> ObjectMeta:
    return msgspec.structs.replace(meta, annotations={**meta.annotations, key: value})

"""Which claims a pod mounts, what keeps it from using one, and the hints that all volume plugins share."""

from dataclasses import dataclass

from apportion.api.storage import PersistentVolumeClaim
from apportion.sched.queue import Hint
from apportion.sched.state import PodInfo, VolumeStore, claim_keys_of, claim_name, volumes_of


@dataclass(frozen=True, slots=True)
class MountedClaim:
    """One claim that a pod mounts; ``claim`` is None while there is no such object."""

    name: str
    is_ephemeral: bool
    claim: PersistentVolumeClaim | None


def mounted_claims(volumes: VolumeStore, pod: PodInfo) -> list[MountedClaim]:
    """Return the claims of ``pod`` in the order of its spec; one that two volumes name comes twice, as upstream.

    So a claim named twice that waits for its pod needs two volumes to choose from.
    """
    found: list[MountedClaim] = []
    for entry, is_ephemeral in volumes_of(pod).claims:
        name = claim_name(pod, entry, is_ephemeral)
        found.append(MountedClaim(name, is_ephemeral, volumes.find_claim(f"{pod.namespace}/{name}")))
    return found


def find_foreign_owner(pod: PodInfo, claim: PersistentVolumeClaim) -> str | None:
    """Return what is wrong when an ephemeral volume's claim was not made for ``pod`` (ephemeral.VolumeIsForPod)."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.uid:
        return None
    return f"PVC {claim.metadata.key} was not created for pod {pod.key} (pod is not owner)"


def hint_own_claim(pod: PodInfo, old: object, new: object) -> Hint:
    """Queue when the claim that appeared or changed is one that the pod mounts."""
    mine = isinstance(new, PersistentVolumeClaim) and new.metadata.key in claim_keys_of(pod)
    return Hint.QUEUE if mine else Hint.SKIP

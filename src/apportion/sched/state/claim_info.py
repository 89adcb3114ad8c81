"""One resource claim as the API shows it."""

from typing import Final

import msgspec
from msgspec import Raw

from apportion.alloc import ClaimInput
from apportion.api.extended_resources import EXTENDED_CLAIM
from apportion.api.resource import AllocationResult, ResourceClaimConsumerReference, ResourceClaimStatus
from apportion.api.view import OwnerReference, View


class ClaimMeta(View):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class ClaimHead(View):
    """A claim whose spec is left as bytes, to be looked up among those met before."""

    metadata: ClaimMeta = ClaimMeta()
    spec: Raw = Raw(b"{}")
    status: ResourceClaimStatus = ResourceClaimStatus()


class _StoredDevices(View):
    results: Raw = Raw(b"")


class _StoredAllocation(View):
    devices: _StoredDevices = _StoredDevices()
    node_selector: Raw = Raw(b"")


class _StoredStatus(View):
    allocation: _StoredAllocation | None = None


class _StoredClaim(View):
    """The parts of a claim that tell one allocation from another, left as the API wrote them."""

    status: _StoredStatus = _StoredStatus()


class ClaimInfo:
    """One resource claim as read; never changed.

    ``uid`` is what holds its devices in the device table, ``allocation`` the one in this version of the claim.
    """

    __slots__ = ("allocation", "input", "key", "meta", "status", "stored", "uid")

    def __init__(
        self,
        meta: ClaimMeta,
        status: ResourceClaimStatus,
        claim: ClaimInput,
        stored: tuple[tuple[str, bytes], ...] = (),
    ) -> None:
        """``stored``: what names the allocation, as pairs of JSON pointer and value; only where pods may share it."""
        self.meta = meta
        self.status = status
        self.input = claim
        self.stored = stored
        self.key = f"{meta.namespace}/{meta.name}"
        self.uid = meta.uid
        self.allocation: AllocationResult | None = status.allocation

    def is_reserved_for(self, pod_uid: str) -> bool:
        """Return whether the pod with this uid may use the claim."""
        return any(ref.uid == pod_uid for ref in self.status.reserved_for)

    @property
    def extended_owner(self) -> str | None:
        """The uid of the pod whose extended resources the scheduler made this claim for."""
        if self.meta.annotations.get(EXTENDED_CLAIM) != "true":
            return None
        owner = self.find_controller()
        return owner.uid if owner is not None else None

    def find_controller(self) -> OwnerReference | None:
        """Return the owner that controls the claim."""
        for owner in self.meta.owner_references:
            if owner.controller:
                return owner
        return None


_DECODE_STORED: Final = msgspec.json.Decoder(_StoredClaim).decode
# bytes -> head
decode_claim: Final = msgspec.json.Decoder(ClaimHead).decode


def _is_of_a_pod(meta: ClaimMeta) -> bool:
    """Return whether only one pod may ever use the claim."""
    return any(o.controller and o.kind == "Pod" for o in meta.owner_references)


def find_stored(head: ClaimHead, raw: bytes) -> tuple[tuple[str, bytes], ...]:
    """Return what names the allocation of a claim that pods may share, see `ClaimInfo`; () where nothing does."""
    if head.status.allocation is None or _is_of_a_pod(head.metadata):
        return ()
    allocation = _DECODE_STORED(raw).status.allocation
    results = bytes(allocation.devices.results) if allocation is not None else b""
    if allocation is None or not results:
        return ()
    selector = bytes(allocation.node_selector)
    named = (("/status/allocation/devices/results", results),)
    return (*named, ("/status/allocation/nodeSelector", selector)) if selector else named


def consumer_of(pod_uid: str, pod_name: str) -> ResourceClaimConsumerReference:
    """Return the reservedFor entry of a pod."""
    return ResourceClaimConsumerReference(resource="pods", name=pod_name, uid=pod_uid)

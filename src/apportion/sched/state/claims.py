"""Resource claims: what the API said, what was assumed after a write, and allocations still on their way.

Stored, assumed and pending allocations are one picture: whichever is newest for a claim is what the device table
holds for it, so two decisions can never take the same device. Behaviour: kube-scheduler's claim tracker
(assume cache plus in-flight allocations with a share count).
"""

from typing import Final

import msgspec
from msgspec import Raw

from apportion.alloc import ClaimInput, DeviceTable
from apportion.api.resource import AllocationResult, ResourceClaimSpec
from apportion.sched.state.claim_info import ClaimInfo, decode_claim, find_stored
from apportion.sched.state.interning import Interner
from apportion.sched.state.listeners import Listeners


class PendingAllocation:
    """An allocation that was decided and is not in the API yet, and how many pods share it."""

    __slots__ = ("allocation", "sharers")

    def __init__(self, allocation: AllocationResult) -> None:
        self.allocation = allocation
        self.sharers = 1


RECENT_MAX: Final = 64
_DECODE_SPEC: Final = msgspec.json.Decoder(ResourceClaimSpec).decode


class ClaimStore:
    """All claims by ``namespace/name``. The one writer of what claims hold in the device table."""

    def __init__(self, devices: DeviceTable) -> None:
        self._devices = devices
        self._api: dict[str, ClaimInfo] = {}
        self._assumed: dict[str, ClaimInfo] = {}
        self._pending: dict[str, PendingAllocation] = {}
        self._held: dict[str, AllocationResult] = {}
        self._by_extended_owner: dict[str, str] = {}  # pod uid -> key
        self.listeners = Listeners()
        self._recent: dict[bytes, ClaimInfo] = {}
        self._spec_ids: Interner[bytes] = Interner()
        self._specs: list[ResourceClaimSpec] = []

    # ---- reading ------------------------------------------------------------------------------------------

    def read(self, raw: bytes | Raw) -> ClaimInfo:
        """Return the claim in ``raw``; its spec is parsed once for all claims with the same bytes.

        The answer to a write and the watch event that follows hold the same bytes, so the last claims are kept.
        """
        key = bytes(raw)
        known = self._recent.get(key)
        if known is None:
            known = self._recent[key] = self._decode(key)
            if len(self._recent) > RECENT_MAX:
                del self._recent[next(iter(self._recent))]
        return known

    def _decode(self, raw: bytes) -> ClaimInfo:
        head = decode_claim(raw)
        spec_id = self._intern_spec(bytes(head.spec))
        meta = head.metadata
        claim = ClaimInput(meta.uid, meta.namespace, meta.name, self._specs[spec_id], spec_id)
        return ClaimInfo(meta, head.status, claim, find_stored(head, raw))

    def _intern_spec(self, raw: bytes) -> int:
        spec_id = self._spec_ids.intern(raw)
        if spec_id == len(self._specs):
            self._specs.append(_DECODE_SPEC(raw))
        return spec_id

    def intern_spec(self, spec: ResourceClaimSpec) -> int:
        """Return the id of a spec that no claim need have."""
        return self._intern_spec(msgspec.json.encode(spec))

    def find(self, key: str) -> ClaimInfo | None:
        """Return the newest known version of a claim: assumed, or else as the API said."""
        return self._assumed.get(key) or self._api.get(key)

    def find_extended(self, pod_uid: str) -> ClaimInfo | None:
        """Return the claim that was made for the extended resources of a pod."""
        key = self._by_extended_owner.get(pod_uid)
        return None if key is None else self.find(key)

    def find_pending(self, uid: str) -> PendingAllocation | None:
        """Return the allocation on its way for the claim with this uid."""
        return self._pending.get(uid)

    def values(self) -> list[ClaimInfo]:
        """Return all claims in their newest version, in the order in which they appeared."""
        return [self._assumed.get(key, claim) for key, claim in self._api.items()]

    # ---- what the API says --------------------------------------------------------------------------------

    def apply(self, claim: ClaimInfo) -> ClaimInfo | None:
        """Store the API's version and return the API's version before it.

        What was assumed in between does not count: pods that wait for the claim are woken by this event. An assumed
        version that is newer stays current.
        """
        replaced = self._api.get(claim.key)
        self._api[claim.key] = claim
        owner = claim.extended_owner
        if owner is not None:
            self._by_extended_owner[owner] = claim.key
        if replaced is not None and replaced.uid != claim.uid:
            self._hold(replaced.uid, None)
        assumed = self._assumed.get(claim.key)
        if assumed is claim:  # our own write; what it decided is held since then
            del self._assumed[claim.key]
            self.listeners.tell(claim.key)
            return replaced
        if assumed is not None and (assumed.uid != claim.uid or not _is_older(claim, assumed)):
            del self._assumed[claim.key]
        self._settle(claim.key, claim.uid)
        self.listeners.tell(claim.key)
        return replaced

    def remove(self, key: str) -> ClaimInfo | None:
        """Forget a claim that is gone from the API; returns its last version."""
        before = self.find(key)
        self._api.pop(key, None)
        self._assumed.pop(key, None)
        if before is not None:
            if self._by_extended_owner.get(before.extended_owner or "") == key:
                del self._by_extended_owner[before.extended_owner or ""]
            self._settle(key, before.uid)
            self.listeners.tell(key)
        return before

    # ---- what the scheduler decided -----------------------------------------------------------------------

    def assume(self, claim: ClaimInfo) -> None:
        """Take the answer of our own write as current until the watch brings it."""
        current = self.find(claim.key)
        if current is None or current.uid != claim.uid or _is_older(claim, current):
            return
        self._assumed[claim.key] = claim
        self._settle(claim.key, claim.uid)

    def signal_pending(self, key: str, uid: str, allocation: AllocationResult) -> bool:
        """Record a decided allocation, or share the one on its way. False when the claim is allocated already."""
        found = self._pending.get(uid)
        if found is not None:
            found.sharers += 1
            return True
        current = self.find(key)
        if current is not None and current.uid == uid and current.allocation is not None:
            return False
        self._pending[uid] = PendingAllocation(allocation)
        self._settle(key, uid)
        return True

    def remove_pending(self, key: str, uid: str, force: bool) -> bool:
        """Drop the allocation on its way when nobody else shares it, or in any case with ``force``."""
        found = self._pending.get(uid)
        if found is None:
            return False
        if found.sharers > 1 and not force:
            found.sharers -= 1
            return False
        del self._pending[uid]
        self._settle(key, uid)
        return True

    def move_pending(self, key: str, old_uid: str, new_uid: str) -> None:
        """Let the allocation on its way belong to a claim that has only now got its uid."""
        self._pending[new_uid] = self._pending.pop(old_uid)
        self._settle(key, old_uid)
        self._settle(key, new_uid)

    # ---- devices ------------------------------------------------------------------------------------------

    def _settle(self, key: str, uid: str) -> None:
        pending = self._pending.get(uid)
        if pending is not None:
            self._hold(uid, pending.allocation)
            return
        claim = self.find(key)
        self._hold(uid, claim.allocation if claim is not None and claim.uid == uid else None)

    def _hold(self, uid: str, allocation: AllocationResult | None) -> None:
        held = self._held.get(uid)
        if held is allocation or held == allocation:
            return
        if allocation is None:
            del self._held[uid]
            self._devices.give_back(uid)
        else:
            self._held[uid] = allocation
            self._devices.take(uid, allocation)


def _is_older(claim: ClaimInfo, than: ClaimInfo) -> bool:
    """Compare resource versions; versions that are not numbers are taken as newer (they come in order)."""
    mine, other = claim.meta.resource_version, than.meta.resource_version
    return mine.isdigit() and other.isdigit() and int(mine) < int(other)

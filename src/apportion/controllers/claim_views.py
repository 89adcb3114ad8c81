"""What the claim controller reads of pods, claims and templates, and the indexes it looks them up in."""

from typing import Any, Final

import msgspec
from msgspec import Raw

from apportion.api.core import PodResourceClaim, PodResourceClaimStatus
from apportion.api.resource import ResourceClaimConsumerReference
from apportion.api.view import ObjectMeta, View

POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"


class _PodSpec(View):
    node_name: str = ""
    resource_claims: tuple[PodResourceClaim, ...] = ()


class _ExtendedStatus(View):
    resource_claim_name: str = ""


class _PodStatus(View):
    phase: str = "Pending"
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: _ExtendedStatus | None = None


class PodView(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()

    @property
    def is_done(self) -> bool:
        """Whether the pod needs its claims no longer: it has ended, or it is deleted and never got a node."""
        ended = self.status.phase in ("Succeeded", "Failed")
        return ended or (self.metadata.deletion_timestamp is not None and not self.spec.node_name)

    @property
    def extended_claim(self) -> str:
        """The name of the claim for extended resources, "" when there is none."""
        recorded = self.status.extended_resource_claim_status
        return recorded.resource_claim_name if recorded is not None else ""

    def find_recorded(self, entry: str) -> PodResourceClaimStatus | None:
        """Return what the status says of an entry of spec.resourceClaims."""
        return next((s for s in self.status.resource_claim_statuses if s.name == entry), None)


class _ClaimStatus(View):
    allocation: Raw = Raw(b"null")
    reserved_for: tuple[ResourceClaimConsumerReference, ...] = ()


class ClaimView(View):
    metadata: ObjectMeta = ObjectMeta()
    status: _ClaimStatus = _ClaimStatus()

    @property
    def is_allocated(self) -> bool:
        """Whether devices are allocated for the claim."""
        return bytes(self.status.allocation) != b"null"

    def is_owned_by(self, pod: PodView) -> bool:
        """Return whether the pod controls the claim."""
        owner = self.metadata.controller
        return owner is not None and owner.kind == "Pod" and owner.uid == pod.metadata.uid

    def is_reserved_for(self, pod: PodView) -> bool:
        """Return whether the pod may use the claim."""
        return any(r.uid == pod.metadata.uid for r in self.status.reserved_for)


class _TemplateSpec(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: Raw = Raw(b"{}")


class TemplateView(View):
    metadata: ObjectMeta = ObjectMeta()
    spec: _TemplateSpec = _TemplateSpec()


class ClaimIndex:
    """The objects by ``namespace/name``, and what refers to what."""

    def __init__(self) -> None:
        self.pods: dict[str, PodView] = {}
        self.claims: dict[str, ClaimView] = {}
        self.templates: dict[str, TemplateView] = {}
        self._by_owner: dict[str, dict[str, None]] = {}

    def set_claim(self, claim: ClaimView) -> None:
        """Store a claim, also one that was just created and that the watch has not brought yet."""
        key = claim.metadata.key
        self.remove_claim(key)
        self.claims[key] = claim
        owner = claim.metadata.controller
        if owner is not None:
            self._by_owner.setdefault(owner.uid, {})[key] = None

    def remove_claim(self, key: str) -> None:
        """Forget a claim."""
        old = self.claims.pop(key, None)
        owner = old.metadata.controller if old is not None else None
        if owner is not None:
            owned = self._by_owner.get(owner.uid, {})
            owned.pop(key, None)
            if not owned:
                self._by_owner.pop(owner.uid, None)

    def owned_by(self, pod: PodView) -> list[ClaimView]:
        """Return the claims that the pod controls, in the order in which they appeared."""
        return [self.claims[key] for key in self._by_owner.get(pod.metadata.uid, ())]

    def names_of(self, pod: PodView) -> list[str]:
        """Return the names of all claims of a pod that are known by name."""
        names = []
        for entry in pod.spec.resource_claims:
            recorded = pod.find_recorded(entry.name)
            name = entry.resource_claim_name or (recorded.resource_claim_name if recorded else None)
            if name:
                names.append(name)
        return [*names, pod.extended_claim] if pod.extended_claim else names

    def pods_waiting_for(self, template: str) -> list[str]:
        """Return the keys of pods with an entry for a template whose claim is not recorded. Walks the pods."""
        namespace, _, name = template.partition("/")
        return [
            key
            for key, pod in self.pods.items()
            if pod.metadata.namespace == namespace
            and any(
                e.resource_claim_template_name == name and pod.find_recorded(e.name) is None
                for e in pod.spec.resource_claims
            )
        ]


DECODE_POD: Final = msgspec.json.Decoder(PodView).decode
DECODE_CLAIM: Final = msgspec.json.Decoder(ClaimView).decode
DECODE_TEMPLATE: Final = msgspec.json.Decoder(TemplateView).decode


def to_tree(raw: Raw) -> Any:
    """Return the JSON value that ``raw`` holds."""
    return msgspec.json.decode(raw)

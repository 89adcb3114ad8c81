"""What the deciding side asks the doing side to carry out. Each command is answered by exactly one ``Outcome``."""

from typing import Literal, TypeAlias

from msgspec import Struct

from apportion.api.core import NodeAllocatableClaim
from apportion.api.resource import AllocationResult, ResourceClaimConsumerReference, ResourceClaimSpec
from apportion.api.storage import ObjectReference
from apportion.sched.framework.config_fields import Extender


class BindPod(Struct, frozen=True):
    """Create the binding of a pod to a node. The uid guards against a pod of the same name made since."""

    namespace: str
    name: str
    uid: str
    node_name: str


class AddClaimFinalizer(Struct, frozen=True):
    """Protect a claim from deletion while it is used. Carries the resource version the decision was made on."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    finalizers: tuple[str, ...]  # all of them, the new one included


class AllocateClaim(Struct, frozen=True):
    """Write an allocation with its first consumer. Carries the resource version; anything newer is a conflict."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    allocation: AllocationResult
    consumer: ResourceClaimConsumerReference
    is_timed: bool = False  # whether the time of the allocation is written into it


class ReserveClaim(Struct, frozen=True):
    """Add a consumer to an allocated claim. Fails when the uid or the allocation is another one by now.

    The first consumer makes the list and carries the resource version. Later ones do not conflict with each other:
    they name the allocation by ``stored``, the very bytes that the API showed, since a view encodes what others wrote
    another way. Without these bytes they carry the resource version too.
    """

    namespace: str
    name: str
    uid: str
    resource_version: str
    allocation: AllocationResult
    consumer: ResourceClaimConsumerReference
    is_first: bool
    stored: tuple[tuple[str, bytes], ...] = ()  # JSON pointer, JSON value


class UnreserveClaim(Struct, frozen=True):
    """Remove one consumer from a claim."""

    namespace: str
    name: str
    uid: str
    consumer_uid: str


class DeallocateClaim(Struct, frozen=True):
    """Clear the allocation of a claim that nobody else uses; carries the resource version."""

    namespace: str
    name: str
    uid: str
    resource_version: str


class CreateClaim(Struct, frozen=True):
    """Make the claim for the extended resources of a pod that devices serve. The name is drawn by the scheduler."""

    namespace: str
    name: str
    generate_name: str
    pod_name: str
    pod_uid: str
    spec: ResourceClaimSpec


class ReleaseClaim(Struct, frozen=True):
    """Take our finalizer from a claim that is to be deleted, see `DeleteClaim`; either may come first."""

    namespace: str
    name: str
    uid: str
    finalizer: str


class DeleteClaim(Struct, frozen=True):
    """Delete a claim that the scheduler made."""

    namespace: str
    name: str
    uid: str


class RecordExtendedClaim(Struct, frozen=True):
    """Write into a pod's status which requests of which claim serve its extended resources."""

    namespace: str
    name: str
    uid: str
    claim_name: str
    mappings: tuple[tuple[str, str, str], ...]  # container, resource, request


class RecordFootprint(Struct, frozen=True):
    """Write into a pod's status what its devices take of the node; nothing clears it."""

    namespace: str
    name: str
    uid: str
    claims: tuple[NodeAllocatableClaim, ...]


class BindVolume(Struct, frozen=True):
    """Tie a persistent volume to a claim; carries the resource version. ``mark`` says that it was free before."""

    name: str
    uid: str
    resource_version: str
    claim: ObjectReference
    mark: bool


class SelectNode(Struct, frozen=True):
    """Name the node for which a claim's volume shall be provisioned; carries the resource version."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    node_name: str


class PatchPodCondition(Struct, frozen=True):
    """Set the PodScheduled condition to False with a reason, and the nominated node unless it is None."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    reason: str
    message: str
    nominated_node_name: str | None = None
    generation: int = 0  # of the pod that was judged; 0 when the API counts none


class GetPod(Struct, frozen=True):
    """Read a pod as the API has it now; the outcome carries it."""

    namespace: str
    name: str


class GetClaim(Struct, frozen=True):
    """Read a resource claim as the API has it now; the outcome carries it."""

    namespace: str
    name: str


class NominatePod(Struct, frozen=True):
    """Write down on which node a pod is expected while its binding waits for something."""

    namespace: str
    name: str
    uid: str
    node_name: str


class MarkDisrupted(Struct, frozen=True):
    """Set the DisruptionTarget condition of a pod that is about to be evicted."""

    namespace: str
    name: str
    uid: str
    message: str


class DeletePod(Struct, frozen=True):
    """Delete a pod to make room. The uid guards against a pod of the same name made since."""

    namespace: str
    name: str
    uid: str


class ClearNomination(Struct, frozen=True):
    """Take back the nominated node of a pod that has lost its place there."""

    namespace: str
    name: str
    uid: str


class PodRef(Struct, frozen=True, rename="camel"):
    """A pod as an event names it, laid out as in the API; of the version that was looked at."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    kind: str = "Pod"
    api_version: str = "v1"


class EmitEvent(Struct, frozen=True):
    """Record an API event about a pod, and on account of another one where ``related`` says so."""

    pod: PodRef
    reporter: str  # the name of the scheduler
    type: str  # Normal, Warning
    reason: str
    action: str
    note: str  # at most 1024 bytes
    related: PodRef | None = None


class CallExtender(Struct, frozen=True):
    """Ask an HTTP extender about a pod. Whoever carries it out adds the whole objects that it has to send along.

    ``victims`` are by node: the uids of pods that would have to go, and how many budgets that would violate.
    """

    extender: Extender
    action: Literal["filter", "prioritize", "preempt", "bind"]
    namespace: str
    name: str
    uid: str
    node_names: tuple[str, ...] = ()
    victims: tuple[tuple[str, tuple[str, ...], int], ...] = ()


Command: TypeAlias = (
    BindPod
    | AddClaimFinalizer
    | AllocateClaim
    | ReserveClaim
    | UnreserveClaim
    | DeallocateClaim
    | CreateClaim
    | ReleaseClaim
    | DeleteClaim
    | RecordExtendedClaim
    | RecordFootprint
    | BindVolume
    | SelectNode
    | PatchPodCondition
    | GetPod
    | GetClaim
    | NominatePod
    | MarkDisrupted
    | DeletePod
    | ClearNomination
    | EmitEvent
    | CallExtender
)


class Outcome(Struct, frozen=True):
    """How a command ended: the HTTP status code, the API's text when it failed, the object when it answered one."""

    code: int
    message: str = ""
    body: bytes = b""

    @property
    def is_ok(self) -> bool:
        """Whether the API carried the command out."""
        return 200 <= self.code < 300

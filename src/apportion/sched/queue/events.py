"""The vocabulary of cluster events: what happened, to which kind of object, and what counts as a match.

Names, bits and labels are upstream's (kube-scheduler ``framework/types.go``), so that plugins, metrics and
logs read the same on both sides.
"""

from dataclasses import dataclass, field
from enum import IntFlag
from typing import Final


class ActionType(IntFlag):
    """What was done to the object; one bit each, so that a registration can name several."""

    NONE = 0
    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4  # taints or spec.unschedulable
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_NODE_DECLARED_FEATURE = 1 << 7
    UPDATE_NODE_PREEMPTION_POLICY = 1 << 8
    UPDATE_POD_LABEL = 1 << 9
    UPDATE_POD_SCALE_DOWN = 1 << 10
    UPDATE_POD_SCALE_UP = 1 << 11
    UPDATE_POD_TOLERATION = 1 << 12
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 13
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 14
    UPDATE_POD_OTHER = 1 << 15  # an update that no other bit describes; met only by registering UPDATE
    ALL = (1 << 16) - 1
    UPDATE = ALL & ~(ADD | DELETE)

    @property
    def text(self) -> str:
        """The name in camel case as labels carry it (``UpdateNodeTaint``); bits are joined by ``|``."""
        if self in _TEXTS:
            return _TEXTS[self]
        whole = [ActionType.UPDATE] if ActionType.UPDATE in self else []
        rest = [bit for bit in ActionType if bit & self and not (whole and bit in ActionType.UPDATE)]
        return "|".join(_TEXTS[part] for part in (*rest, *whole))


def _camel_case(action: ActionType) -> str:
    return "".join(word.capitalize() for word in str(action.name).split("_"))


_TEXTS: Final[dict[ActionType, str]] = {
    **{bit: _camel_case(bit) for bit in ActionType},
    ActionType.UPDATE_POD_OTHER: "Update",
    ActionType.UPDATE: "Update",
    ActionType.ALL: "All",
    ActionType.NONE: "None",
}

# The kinds of objects, as upstream spells them. Plugins may name others as ``plural.version.group``.
WILDCARD: Final = "*"
POD: Final = "Pod"  # registered for: any of the three below
ASSIGNED_POD: Final = "AssignedPod"  # a pod that has a node
UNSCHEDULED_POD: Final = "UnscheduledPod"  # another pod that has none
TARGET_POD: Final = "TargetPod"  # the very pod that is judged
NODE: Final = "Node"
NAMESPACE: Final = "Namespace"
PERSISTENT_VOLUME: Final = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM: Final = "PersistentVolumeClaim"
CSI_NODE: Final = "storage.k8s.io/CSINode"
CSI_DRIVER: Final = "storage.k8s.io/CSIDriver"
CSI_STORAGE_CAPACITY: Final = "storage.k8s.io/CSIStorageCapacity"
STORAGE_CLASS: Final = "storage.k8s.io/StorageClass"
VOLUME_ATTACHMENT: Final = "storage.k8s.io/VolumeAttachment"
RESOURCE_CLAIM: Final = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE: Final = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS: Final = "resource.k8s.io/DeviceClass"
POD_GROUP: Final = "scheduling.k8s.io/PodGroup"
COMPOSITE_POD_GROUP: Final = "scheduling.k8s.io/CompositePodGroup"

_POD_KINDS: Final = frozenset({ASSIGNED_POD, UNSCHEDULED_POD, TARGET_POD})


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """Something that happened in the cluster, or (in a registration) what a plugin wants to hear of.

    ``label`` is what metrics and logs show; left out, it is resource and action (``NodeUpdateNodeTaint``).
    """

    resource: str
    action: ActionType
    label: str = ""
    # Looked up for every event: hashing the flag anew each time would cost more than the rest of the lookup.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.resource + self.action.text)
        object.__setattr__(self, "_hash", hash((self.resource, int(self.action), self.label)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def is_wildcard(self) -> bool:
        """Whether this concerns every pod, whatever rejected it (the periodic flush, a forced activation)."""
        return self.resource == WILDCARD and self.action == ActionType.ALL

    def matches(self, incoming: "ClusterEvent") -> bool:
        """Return whether ``incoming`` is what this registered event asks for."""
        same_kind = (
            self.resource in (incoming.resource, WILDCARD)
            or (self.resource == POD and incoming.resource in _POD_KINDS)
        )  # fmt: skip
        return same_kind and bool(self.action & incoming.action)


ASSIGNED_POD_ADD: Final = ClusterEvent(ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_DELETE: Final = ClusterEvent(ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD: Final = ClusterEvent(UNSCHEDULED_POD, ActionType.ADD)
UNSCHEDULED_POD_DELETE: Final = ClusterEvent(UNSCHEDULED_POD, ActionType.DELETE)
NODE_ADD: Final = ClusterEvent(NODE, ActionType.ADD)
NODE_DELETE: Final = ClusterEvent(NODE, ActionType.DELETE)
UNSCHEDULABLE_TIMEOUT: Final = ClusterEvent(WILDCARD, ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE: Final = ClusterEvent(WILDCARD, ActionType.ALL, "ForceActivate")

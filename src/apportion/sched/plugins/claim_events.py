"""Which events may make a pod schedulable that DynamicResources rejected.

Behaviour: EventsToRegister, isSchedulableAfterClaimChange and isSchedulableAfterPodChange of plugins/dynamicresources.
"""

from collections.abc import Sequence
from typing import Final

from apportion.sched.plugins.claim_lookup import find_claims, name_claims
from apportion.sched.queue import (
    DEVICE_CLASS,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    ActionType,
    ClusterEvent,
    Hint,
    Registration,
)
from apportion.sched.state import ClaimInfo, ClusterState, PodInfo

# What pods are interested in whose claims are there: devices that they could have. No claim has such a key.
_DEVICES: Final = "devices"


class ClaimEvents:
    """Registrations and hints of the plugin called ``plugin``."""

    def __init__(self, state: ClusterState, plugin: str) -> None:
        self._state = state
        self._plugin = plugin

    def list(self) -> Sequence[Registration]:
        """Claims, slices, classes, nodes, and the pod's own generated claims."""
        claim = ClusterEvent(RESOURCE_CLAIM, ActionType.ADD | ActionType.UPDATE | ActionType.DELETE)
        mine = ClusterEvent("TargetPod", ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
        changes = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        if self._state.devices.features.optional_node_operations:
            changes |= ActionType.UPDATE_NODE_DECLARED_FEATURE
        node = ClusterEvent("Node", changes)
        update = ActionType.ADD | ActionType.UPDATE
        return [
            Registration(self._plugin, claim, self._hint_claim, self._narrow_claim),
            Registration(self._plugin, mine, self._hint_pod),
            Registration(self._plugin, node, None),
            Registration(self._plugin, ClusterEvent(DEVICE_CLASS, update), None),
            Registration(self._plugin, ClusterEvent(RESOURCE_SLICE, update | ActionType.DELETE), None),
        ]

    def interests(self, pod: PodInfo) -> tuple[str, ...]:
        """Return the keys of the pod's claims, what stands for the one that is made for extended resources, and
        what stands for devices unless the pod waits for its claims."""
        named = name_claims(pod)
        if pod.kind.template.extended_resources:
            return (*named, _DEVICES, _extended_of(pod.uid))
        if not named or find_claims(self._state, pod).problem is not None:
            return named
        return (*named, _DEVICES)

    def _narrow_claim(self, old: object, new: object) -> tuple[str, ...] | None:
        """What frees no devices can only help the pods that name the claim; see `_hint_claim`.

        Devices that are free now are no help to pods whose claims are not there yet.
        """
        claim = new if isinstance(new, ClaimInfo) else old
        owner = claim.extended_owner if isinstance(claim, ClaimInfo) else None
        named = (new.key,) if isinstance(new, ClaimInfo) else ()
        if owner is not None:
            named = (_extended_of(owner),)
        return (_DEVICES, *named) if _frees_devices(old, new) else named

    def _hint_claim(self, pod: PodInfo, old: object, new: object) -> Hint:
        """A claim that lost its allocation frees devices for anybody; otherwise only the pod's own claims count."""
        if _frees_devices(old, new):
            return Hint.QUEUE
        before = old if isinstance(old, ClaimInfo) else None
        after = new if isinstance(new, ClaimInfo) else None
        if after is None:  # the pod itself waits until a claim left over from an earlier attempt is gone
            return Hint.QUEUE if before is not None and before.extended_owner == pod.uid else Hint.SKIP
        found = find_claims(self._state, pod)
        if found.problem is not None or all(c.uid != after.uid for c in found.claims):
            return Hint.SKIP
        return Hint.SKIP if before is not None and before.status == after.status else Hint.QUEUE

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        updated = new if isinstance(new, PodInfo) else pod
        if updated.uid != pod.uid:
            return Hint.SKIP
        return Hint.SKIP if find_claims(self._state, updated).problem is not None else Hint.QUEUE


def _extended_of(pod_uid: str) -> str:
    return f"extended/{pod_uid}"


def _frees_devices(old: object, new: object) -> bool:
    """Return whether a claim lost its allocation."""
    was_allocated = isinstance(old, ClaimInfo) and old.allocation is not None
    return was_allocated and not (isinstance(new, ClaimInfo) and new.allocation is not None)

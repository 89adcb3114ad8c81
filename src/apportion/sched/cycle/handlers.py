"""What happened in the API, applied to the state and told to the queue. Order matters: see the comments.

Behaviour: pkg/scheduler/eventhandlers.go.
"""

from collections.abc import Callable

from apportion.api.core import Namespace, Node
from apportion.api.resource import DeviceClass, DeviceTaintRule, ResourceSlice
from apportion.api.view import View
from apportion.sched.cycle.scheduler import Scheduler
from apportion.sched.queue import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    ActionType,
    ClusterEvent,
)
from apportion.sched.state import ClaimInfo, PodInfo

_NODE_ADD = ClusterEvent("Node", ActionType.ADD)
_NODE_DELETE = ClusterEvent("Node", ActionType.DELETE)
_CLAIM_ADD = ClusterEvent(RESOURCE_CLAIM, ActionType.ADD)
_CLAIM_UPDATE = ClusterEvent(RESOURCE_CLAIM, ActionType.UPDATE)
_CLAIM_DELETE = ClusterEvent(RESOURCE_CLAIM, ActionType.DELETE)
_POD_CHANGES = {action: ClusterEvent("TargetPod", action) for action in ActionType}
_ASSIGNED_POD_CHANGES = {action: ClusterEvent("AssignedPod", action) for action in ActionType}
_NODE_CHANGES = {action: ClusterEvent("Node", action) for action in ActionType}
# kinds whose events plugins may have registered for, by the names they use for that
_RESOURCES = {
    "PersistentVolume": PERSISTENT_VOLUME,
    "PersistentVolumeClaim": PERSISTENT_VOLUME_CLAIM,
    "StorageClass": STORAGE_CLASS,
    "CSINode": CSI_NODE,
    "CSIDriver": CSI_DRIVER,
    "CSIStorageCapacity": CSI_STORAGE_CAPACITY,
    "VolumeAttachment": VOLUME_ATTACHMENT,
}


class EventHandlers:
    """One method for each kind of object that the scheduler watches; ``None`` as object means that it is gone."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._state = scheduler.state
        self._queue = scheduler.queue
        self._pending = scheduler.pending

    # ---- pods ---------------------------------------------------------------------------------------------

    def pod(self, pod: PodInfo) -> None:
        """A pod was added or changed."""
        if pod.is_terminal:
            self.pod_gone(pod.uid)
        elif pod.node_name:
            self._assigned(pod)
        elif pod.scheduler_name in self._scheduler.profiles:
            self._unassigned(pod)

    def _assigned(self, pod: PodInfo) -> None:
        known = self._state.pods.get(pod.uid)
        was_assigned = known is not None and pod.uid not in self._state.assumed
        # the pod must be on its node in the state before the queue forgets it
        self._state.add_pod(pod)
        if self._pending.pop(pod.uid, None) is not None:
            self._queue.delete(pod)
        if not was_assigned:
            self._queue.move_all(ASSIGNED_POD_ADD, None, pod)
            return
        assert known is not None
        for action in pod_changes(known, pod):
            self._queue.move_all(_ASSIGNED_POD_CHANGES[action], known, pod)

    def _unassigned(self, pod: PodInfo) -> None:
        known = self._pending.get(pod.uid)
        self._pending[pod.uid] = pod
        if known is None:
            if pod.uid not in self._state.pods:
                self._queue.add(pod)
            return
        if pod.uid in self._state.assumed:
            return  # its binding is under way; the event that shows its node follows
        events = [_POD_CHANGES[action] for action in pod_changes(known, pod)]
        nominated = self._queue.nominator.find_node(pod.uid)
        self._queue.update(known, pod, events)
        if nominated and self._queue.nominator.find_node(pod.uid) != nominated:
            self._release_nomination(known)

    def pod_touched(self, pod: PodInfo) -> None:
        """Something about a pod with a node was written that nobody here reads."""
        event = _ASSIGNED_POD_CHANGES[ActionType.UPDATE_POD_OTHER]
        if self._queue.is_of_interest(event):
            self._queue.move_all(event, pod, pod)

    def pod_gone(self, uid: str) -> None:
        """A pod was deleted or has ended."""
        pending, nominated = self._pending.pop(uid, None), None
        if pending is not None:
            nominated = self._queue.nominator.find_node(uid)
            self._queue.delete(pending)
        known = self._state.remove_pod(uid)
        self._scheduler.abandon(uid)
        if known is not None:
            self._queue.move_all(ASSIGNED_POD_DELETE, known, None)
        elif pending is not None and nominated:
            self._release_nomination(pending)

    def _release_nomination(self, pod: PodInfo) -> None:
        """The room that was kept for a pod is free for those that had to respect it."""
        self._queue.move_all(ASSIGNED_POD_DELETE, pod, None, lambda other: other.priority <= pod.priority)

    # ---- nodes --------------------------------------------------------------------------------------------

    def node(self, node: Node) -> None:
        """A node was added or changed; a change that scheduling does not read costs nothing."""
        nodes = self._state.nodes
        row = nodes.row_of.get(node.metadata.name)
        known = nodes.views[row] if row is not None else None
        if known is None:
            self._state.apply_node(node)
            self._queue.move_all(_NODE_ADD, None, node)
            return
        actions = node_changes(known, node)
        if actions or known.status.images != node.status.images:
            self._state.apply_node(node)
        for action in actions:
            self._queue.move_all(_NODE_CHANGES[action], known, node)

    def node_gone(self, name: str) -> None:
        """A node was deleted. The queue hears of it before the state forgets the node."""
        row = self._state.nodes.row_of.get(name)
        known = self._state.nodes.views[row] if row is not None else None
        self._queue.move_all(_NODE_DELETE, known, None)
        self._state.remove_node(name)

    # ---- claims and devices -------------------------------------------------------------------------------

    def claim(self, claim: ClaimInfo) -> None:
        """A resource claim was added or changed."""
        before = self._state.claims.apply(claim)
        self._queue.move_all(_CLAIM_ADD if before is None else _CLAIM_UPDATE, before, claim)

    def claim_gone(self, key: str) -> None:
        """A resource claim was deleted."""
        before = self._state.claims.remove(key)
        if before is not None:
            self._queue.move_all(_CLAIM_DELETE, before, None)

    def resource_slice(self, view: ResourceSlice) -> None:
        """A slice was added or changed."""
        self._state.devices.apply_slice(view)
        self._queue.move_all(ClusterEvent(RESOURCE_SLICE, ActionType.ADD), None, view)

    def resource_slice_gone(self, name: str) -> None:
        """A slice was deleted."""
        self._state.devices.remove_slice(name)
        self._queue.move_all(ClusterEvent(RESOURCE_SLICE, ActionType.DELETE), None, None)

    def device_class(self, view: DeviceClass) -> None:
        """A device class was added or changed."""
        self._note_classes(lambda: self._state.devices.apply_class(view))
        self._queue.move_all(ClusterEvent(DEVICE_CLASS, ActionType.ADD), None, view)

    def device_class_gone(self, name: str) -> None:
        """A device class was deleted."""
        self._note_classes(lambda: self._state.devices.remove_class(name))

    def _note_classes(self, change: Callable[[], None]) -> None:
        """Change a class; resources that devices serve now, or no longer, are looked for elsewhere."""
        classes = self._state.devices.classes
        before = classes.names_version
        change()
        if classes.names_version != before:
            self._state.forget_plans()

    def device_taint_rule(self, view: DeviceTaintRule) -> None:
        """A device taint rule was added or changed; to the scheduler the tainted slices changed."""
        self._state.devices.apply_taint_rule(view)
        self._queue.move_all(ClusterEvent(RESOURCE_SLICE, ActionType.UPDATE), None, None)

    def device_taint_rule_gone(self, name: str) -> None:
        """A device taint rule was deleted."""
        self._state.devices.remove_taint_rule(name)
        self._queue.move_all(ClusterEvent(RESOURCE_SLICE, ActionType.UPDATE), None, None)

    # ---- the rest -----------------------------------------------------------------------------------------

    def namespace(self, view: Namespace) -> None:
        """A namespace was added or changed its labels."""
        name = view.metadata.name
        known = name in self._state.namespaces
        self._state.apply_namespace(name, view.metadata.labels)
        action = ActionType.UPDATE if known else ActionType.ADD
        self._queue.move_all(ClusterEvent("Namespace", action), None, view)

    def namespace_gone(self, name: str) -> None:
        """A namespace was deleted."""
        self._state.apply_namespace(name, None)

    def other(self, kind: str, key: str, view: View | None) -> None:
        """An object that plugins look up by kind was added, changed or deleted."""
        before = self._state.apply_object(kind, key, view)
        resource = _RESOURCES.get(kind)
        if resource is None or (before is None and view is None):
            return
        action = ActionType.ADD if before is None else ActionType.UPDATE if view is not None else ActionType.DELETE
        self._queue.move_all(ClusterEvent(resource, action), before, view)


def pod_changes(old: PodInfo, new: PodInfo) -> list[ActionType]:
    """Return what changed of a pod, as upstream's PodSchedulingPropertiesChange names it; one "other" if nothing."""
    changes: list[ActionType] = []
    if old.labels != new.labels:
        changes.append(ActionType.UPDATE_POD_LABEL)
    if old.usage is not new.usage:
        before, after = dict(old.usage.requests), dict(new.usage.requests)
        names = before.keys() | after.keys()
        if any(after.get(n, 0) < before.get(n, 0) for n in names):
            changes.append(ActionType.UPDATE_POD_SCALE_DOWN)
        if any(after.get(n, 0) > before.get(n, 0) for n in names):
            changes.append(ActionType.UPDATE_POD_SCALE_UP)
    if old.spec.tolerations != new.spec.tolerations:
        changes.append(ActionType.UPDATE_POD_TOLERATION)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        changes.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if old.claim_statuses != new.claim_statuses:
        changes.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return changes or [ActionType.UPDATE_POD_OTHER]


def node_changes(old: Node, new: Node) -> list[ActionType]:
    """Return what changed of a node, as upstream's NodeSchedulingPropertiesChange names it."""
    changes: list[ActionType] = []
    if old.status.allocatable != new.status.allocatable or old.status.capacity != new.status.capacity:
        changes.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        changes.append(ActionType.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints or old.spec.unschedulable != new.spec.unschedulable:
        changes.append(ActionType.UPDATE_NODE_TAINT)
    if [(c.type, c.status) for c in old.status.conditions] != [(c.type, c.status) for c in new.status.conditions]:
        changes.append(ActionType.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        changes.append(ActionType.UPDATE_NODE_ANNOTATION)
    if old.status.declared_features != new.status.declared_features:
        changes.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    return changes

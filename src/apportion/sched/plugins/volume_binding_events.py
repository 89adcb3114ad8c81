"""Which events may make a pod schedulable that VolumeBinding rejected."""

from collections.abc import Sequence

from apportion.api.quantity import parse_quantity
from apportion.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from apportion.api.view import QuantityText
from apportion.sched.plugins.volume_claims import hint_own_claim
from apportion.sched.queue import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    ActionType,
    ClusterEvent,
    Hint,
    Registration,
)
from apportion.sched.state import PodInfo

_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


def binding_registrations(plugin: str) -> Sequence[Registration]:
    """Return events and hints as plugins/volumebinding registers them."""
    update = ActionType.ADD | ActionType.UPDATE
    node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT)
    return [
        Registration(plugin, ClusterEvent(STORAGE_CLASS, update), _hint_class),
        Registration(plugin, ClusterEvent(PERSISTENT_VOLUME_CLAIM, update), hint_own_claim),
        Registration(plugin, ClusterEvent(PERSISTENT_VOLUME, update), None),
        Registration(plugin, node, None),
        Registration(plugin, ClusterEvent(CSI_NODE, update), _hint_csi_node),
        Registration(plugin, ClusterEvent(CSI_DRIVER, ActionType.UPDATE), _hint_driver),
        Registration(plugin, ClusterEvent(CSI_STORAGE_CAPACITY, update), _hint_capacity),
    ]


def _hint_class(pod: PodInfo, old: object, new: object) -> Hint:
    """A class that appears, or one whose topologies changed."""
    if isinstance(old, StorageClass) and isinstance(new, StorageClass):
        return _queue_if(old.allowed_topologies != new.allowed_topologies)
    return Hint.QUEUE


def _hint_csi_node(pod: PodInfo, old: object, new: object) -> Hint:
    """Only the list of in-tree plugins that moved to CSI counts."""
    if isinstance(old, CSINode) and isinstance(new, CSINode):
        return _queue_if(old.metadata.annotations.get(_MIGRATED) != new.metadata.annotations.get(_MIGRATED))
    return Hint.QUEUE


def _hint_driver(pod: PodInfo, old: object, new: object) -> Hint:
    """A driver that does not report capacity any more is not asked for it."""
    if isinstance(old, CSIDriver) and isinstance(new, CSIDriver):
        return _queue_if(old.spec.storage_capacity and not new.spec.storage_capacity)
    return Hint.QUEUE


def _hint_capacity(pod: PodInfo, old: object, new: object) -> Hint:
    """More capacity, larger volumes, or capacity elsewhere."""
    if not isinstance(old, CSIStorageCapacity) or not isinstance(new, CSIStorageCapacity):
        return Hint.QUEUE
    larger = _is_larger(new.maximum_volume_size, old.maximum_volume_size) or _is_larger(new.capacity, old.capacity)
    return _queue_if(larger or old.node_topology != new.node_topology)


def _is_larger(quantity: QuantityText | None, than: QuantityText | None) -> bool:
    return quantity is not None and (than is None or parse_quantity(quantity) > parse_quantity(than))


def _queue_if(helpful: bool) -> Hint:
    return Hint.QUEUE if helpful else Hint.SKIP

"""Which events bring a rejected pod back: each hint asked for what helps and for what does not."""

from typing import Any

import msgspec
import orjson
import pytest
from builders import Bench, pod_tree
from volume_trees import (
    ZONE,
    attachment_tree,
    capacity_tree,
    claim_tree,
    class_tree,
    csi_node_tree,
    csi_volume_tree,
    driver_tree,
    mounting,
)

from apportion.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from apportion.api.view import View
from apportion.base import ConfigError
from apportion.sched.framework.config import read_config
from apportion.sched.queue import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    ActionType,
    ClusterEvent,
    Hint,
)

_VIEWS: dict[str, tuple[str, type[View]]] = {
    "StorageClass": (STORAGE_CLASS, StorageClass),
    "CSINode": (CSI_NODE, CSINode),
    "CSIDriver": (CSI_DRIVER, CSIDriver),
    "CSIStorageCapacity": (CSI_STORAGE_CAPACITY, CSIStorageCapacity),
    "PersistentVolume": (PERSISTENT_VOLUME, PersistentVolume),
    "PersistentVolumeClaim": (PERSISTENT_VOLUME_CLAIM, PersistentVolumeClaim),
    "VolumeAttachment": (VOLUME_ATTACHMENT, VolumeAttachment),
}
_IMMEDIATE = class_tree("s", volumeBindingMode="Immediate")
_TOPOLOGY = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]


def _helps(plugin: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
    """Return whether a change of an object brings back a pod that mounts claim "c", bound to a CSI volume."""
    bench = Bench()
    bench.put("persistentvolumes", csi_volume_tree("v", phase="Bound"))
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    pod = bench.state.reader.read_tree(pod_tree("p", volumes=mounting("c")))
    resource, view = _VIEWS[(new or old or {})["kind"]]
    action = ActionType.ADD if old is None else ActionType.UPDATE if new is not None else ActionType.DELETE
    before, after = (None if t is None else msgspec.json.decode(orjson.dumps(t), type=view) for t in (old, new))
    hints = [
        r.hint is None or r.hint(pod, before, after) is Hint.QUEUE
        for r in bench.scheduler.profiles["default-scheduler"].registrations
        if r.plugin == plugin and r.event.matches(ClusterEvent(resource, action))
    ]
    return any(hints)


@pytest.mark.parametrize(
    ("plugin", "old", "new", "expected"),
    [
        ("VolumeBinding", None, class_tree("s"), True),
        ("VolumeBinding", class_tree("s"), class_tree("s", allowedTopologies=_TOPOLOGY), True),
        ("VolumeBinding", class_tree("s"), class_tree("s", "other"), False),
        ("VolumeBinding", None, claim_tree("c"), True),
        ("VolumeBinding", None, claim_tree("d"), False),
        ("VolumeBinding", None, claim_tree("c", namespace="other"), False),
        ("VolumeBinding", csi_volume_tree("v"), csi_volume_tree("v", phase="Bound"), True),
        ("VolumeBinding", csi_node_tree("n", 1), csi_node_tree("n", 2), False),
        ("VolumeBinding", driver_tree(storageCapacity=True), driver_tree(storageCapacity=False), True),
        ("VolumeBinding", driver_tree(storageCapacity=False), driver_tree(storageCapacity=True), False),
        ("VolumeBinding", None, capacity_tree("k", "s", "1Gi", "a"), True),
        ("VolumeBinding", capacity_tree("k", "s", "1Gi", "a"), capacity_tree("k", "s", "2Gi", "a"), True),
        ("VolumeBinding", capacity_tree("k", "s", "2Gi", "a"), capacity_tree("k", "s", "1Gi", "a"), False),
        ("VolumeBinding", capacity_tree("k", "s", "2Gi", "a"), capacity_tree("k", "s", "1Gi", "b"), True),
        ("NodeVolumeLimits", None, csi_node_tree("n", 1), True),
        ("NodeVolumeLimits", csi_node_tree("n", 1), csi_node_tree("n", 2), True),
        ("NodeVolumeLimits", csi_node_tree("n", 1), csi_node_tree("n", None), True),
        ("NodeVolumeLimits", csi_node_tree("n", 2), csi_node_tree("n", 1), False),
        ("NodeVolumeLimits", csi_node_tree("n", None), csi_node_tree("n", 9), False),
        ("NodeVolumeLimits", attachment_tree("a", "n", "w"), None, True),
        ("NodeVolumeLimits", None, attachment_tree("a", "n", "w"), False),
        ("VolumeZone", None, class_tree("s"), True),
        ("VolumeZone", None, _IMMEDIATE, False),
        ("VolumeZone", csi_volume_tree("v"), csi_volume_tree("v", labels={ZONE: "a"}), True),
        ("VolumeZone", csi_volume_tree("v"), csi_volume_tree("v", labels={"color": "red"}), False),
        ("VolumeRestrictions", claim_tree("c"), claim_tree("c", volume="v"), True),
        ("VolumeRestrictions", None, claim_tree("d"), False),
    ],
)
def test_hints(plugin: str, old: dict[str, Any] | None, new: dict[str, Any] | None, expected: bool) -> None:
    assert _helps(plugin, old, new) is expected


def _config(args: dict[str, Any]) -> Bench:
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": args}]}],
    }
    return Bench(read_config(tree, "test"))


def test_arguments_are_read_strictly() -> None:
    _config({"bindTimeoutSeconds": 60, "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]})
    with pytest.raises(ConfigError, match=r"args.shape\[1\].utilization: .* sorted in increasing order"):
        _config({"shape": [{"utilization": 10, "score": 0}, {"utilization": 10, "score": 10}]})
    with pytest.raises(ConfigError, match=r"args\.timeout: unknown field"):
        _config({"timeout": 1})

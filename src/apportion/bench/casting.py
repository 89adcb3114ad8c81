"""Makes the objects of operations: reads templates, names objects, completes nodes and volumes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from apportion.api.conversion import convert_to_preferred
from apportion.api.kinds import Kind, find_kind_of
from apportion.base import InputError
from apportion.bench.moulds import Mould
from apportion.bench.opcodes import Operation
from apportion.bench.templates import Template
from apportion.bench.world import Item, Tree

ENDLESS: Final = 1 << 31  # more objects than anybody takes
HOSTNAME: Final = "kubernetes.io/hostname"
DEFAULT_NODE: Final = """
apiVersion: v1
kind: Node
metadata: {generateName: scheduler-perf-}
spec: {}
status:
  capacity: {pods: "110", cpu: "4", memory: 32Gi}
  conditions: [{type: Ready, status: "True"}]
  phase: Running
"""
DEFAULT_POD: Final = """
apiVersion: v1
kind: Pod
metadata: {generateName: pod-}
spec:
  containers:
  - image: registry.example/pause:3.10
    name: pause
    ports: [{containerPort: 80}]
    resources:
      limits: {cpu: 100m, memory: 500Mi}
      requests: {cpu: 100m, memory: 500Mi}
"""
DEFAULT_NAMESPACE: Final = "{apiVersion: v1, kind: Namespace, metadata: {}}"


class Foundry:
    """Templates by path, read once, and names that never come twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._templates: dict[str, Template] = {}
        self._last_number = 0

    def find_template(self, path: str | None, default: str = "") -> Template:
        """Return the template in a file beside the workload file, or the default without a path.

        Raises InputError when it cannot be read.
        """
        if path is None:
            return Template(default)
        known = self._templates.get(path)
        if known is None:
            file = self._folder / path
            try:
                known = Template(file.read_text(encoding="utf-8"), path)
            except OSError as error:
                raise InputError(f"cannot read {file}: {error.strerror}") from None
            self._templates[path] = known
        return known

    def make(self, template: Template, values: Mapping[str, Any], count: int, namespace: str = "") -> Iterator[Item]:
        """Yield ``count`` objects with names, in the version in which they are stored.

        Raises InputError for a kind that is not known, and for a namespaced one without a namespace.
        """
        mould = Mould(template, values, count)
        for index in range(count):
            tree = orjson.loads(mould.cast(index))
            kind = find_kind_of(tree)
            if kind is None:
                raise InputError(f"{template.name}: the kind {tree['kind']} is not known")
            if kind.namespaced and not namespace:
                raise InputError(f"{template.name}: {kind.name} needs a namespace")
            yield Item(kind, self._name(convert_to_preferred(tree, kind), kind, namespace))

    def _name(self, tree: Tree, kind: Kind, namespace: str) -> Tree:
        meta = {**(tree.get("metadata") or {})}
        prefix = meta.pop("generateName", None) or f"{kind.name.lower()}-"
        if not meta.get("name"):
            self._last_number += 1
            meta["name"] = f"{prefix}{self._last_number:05d}"
        if kind.namespaced:
            meta["namespace"] = namespace
        return {**tree, "metadata": meta}


def equip_node(item: Item, index: int, operation: Operation, features: int) -> Iterator[Item]:
    """Yield the node with what the operation's strategies add, and its CSINode when it has volume limits."""
    tree = item.tree
    labels = {**(tree["metadata"].get("labels") or {}), HOSTNAME: item.name}
    by_label = operation.get("labelNodePrepareStrategy")
    if by_label:
        values = by_label.get("labelValues") or [f"{by_label['labelKey']}-{index}"]
        labels[by_label["labelKey"]] = values[index % len(values)]
    unique = operation.get("uniqueNodeLabelStrategy")
    if unique:
        labels[unique["labelKey"]] = item.name
    status = {"conditions": [{"type": "Ready", "status": "True"}], **(tree.get("status") or {})}
    limits = operation.get("nodeAllocatableStrategy") or {}
    if limits:
        status["allocatable"] = {**(status.get("allocatable") or status["capacity"]), **limits["nodeAllocatable"]}
    if features:
        status["declaredFeatures"] = [f"Feature{number:03d}" for number in range(features)]
    yield Item(item.kind, {**tree, "metadata": {**tree["metadata"], "labels": labels}, "status": status})
    if limits:
        yield _make_csi_node(item.name, limits)


def _make_csi_node(name: str, limits: Mapping[str, Any]) -> Item:
    drivers = [
        {"name": driver, "nodeID": name, "allocatable": allocatable}
        for driver, allocatable in (limits.get("csiNodeAllocatable") or {}).items()
    ]
    meta: Tree = {"name": name}
    migrated = limits.get("migratedPlugins")
    if migrated:
        meta["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(migrated)}
    tree = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta, "spec": {"drivers": drivers}}
    kind = find_kind_of(tree)
    assert kind is not None
    return Item(kind, tree)


def give_volume(pod: Item, volume: Item, claim: Item) -> Iterator[Item]:
    """Yield a volume and a claim that are bound to each other, and the pod that uses them."""
    spec = {**volume.tree["spec"]}
    name = volume.name
    if "awsElasticBlockStore" in spec:
        spec["awsElasticBlockStore"] = {**spec["awsElasticBlockStore"], "volumeID": name}
    if "csi" in spec:
        spec["csi"] = {**spec["csi"], "volumeHandle": name}
    spec["claimRef"] = {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": claim.namespace, "name": claim.name,
    }  # fmt: skip
    spec["accessModes"] = claim.tree["spec"]["accessModes"]
    yield Item(volume.kind, {**volume.tree, "spec": spec, "status": {"phase": "Bound"}})
    status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": spec["capacity"]}
    yield Item(claim.kind, {**claim.tree, "spec": {**claim.tree["spec"], "volumeName": name}, "status": status})
    used = {"name": "vol", "persistentVolumeClaim": {"claimName": claim.name}}
    volumes = [*(pod.tree["spec"].get("volumes") or ()), used]
    yield Item(pod.kind, {**pod.tree, "spec": {**pod.tree["spec"], "volumes": volumes}})

"""Small device worlds for tests: trees as in YAML in, answers out."""

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from apportion.alloc import Allocator, Answer, ClaimInput, DeviceTable, Explanation, Features
from apportion.api.decode import decode_as
from apportion.api.resource import (
    AllocationResult,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
)
from apportion.api.view import View

Tree = dict[str, Any]
V = TypeVar("V", bound=View)
DRIVER = "d.example.com"
GOLDEN = Path(__file__).parents[2] / "golden"
RECORDED_FEATURES = {
    "AdminAccess": "admin_access",
    "ConsumableCapacity": "consumable_capacity",
    "DeviceTaints": "device_taints",
    "ListTypeAttributes": "list_type_attributes",
    "PartitionableDevices": "partitionable_devices",
    "PrioritizedList": "prioritized_list",
}


def device(name: str, capacity: Tree | None = None, **fields: Any) -> Tree:
    """A device; attributes as plain values (``attributes={"model": "a", "numa": 0, "roots": ["p0"]}``)."""
    attributes = {k: attribute(v) for k, v in fields.pop("attributes", {}).items()}
    tree: Tree = {"name": name, "attributes": attributes, **fields}
    if capacity:
        tree["capacity"] = {k: v if isinstance(v, dict) else {"value": v} for k, v in capacity.items()}
    return tree


def attribute(value: Any) -> Tree:
    if isinstance(value, dict):
        return value
    items = value if isinstance(value, list) else [value]
    kind = {bool: "bool", int: "int", str: "string"}[type(items[0])]
    return {f"{kind}s": items} if isinstance(value, list) else {kind: value}


def draws(counter_set: str = "ctr", groups: Sequence[str] = (), **counters: Any) -> list[Tree]:
    """``consumesCounters`` of a device."""
    amounts = {k: {"value": v} for k, v in counters.items()}
    return [{"counterSet": counter_set, "counters": amounts, "compatibilityGroups": list(groups)}]


def slice_tree(
    *devices: Tree,
    node: str | None = "n1",
    pool: str | None = None,
    name: str | None = None,
    driver: str = DRIVER,
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> Tree:
    pool = pool or node or "net"
    place: Tree = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": name or f"{pool}-{driver}"},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": list(devices),
            **place,
            **spec,
        },
    }


def counter_set(name: str = "ctr", **counters: Any) -> Tree:
    return {"name": name, "counters": {k: {"value": v} for k, v in counters.items()}}


def class_tree(name: str, *expressions: str, **spec: Any) -> Tree:
    selectors = [{"cel": {"expression": e}} for e in expressions]
    return {"metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}


def ask(device_class: str = "any", count: int | str = 1, *expressions: str, **fields: Any) -> Tree:
    """What a request asks for; ``count`` may be "All"."""
    how: Tree = {"allocationMode": "All"} if count == "All" else {"allocationMode": "ExactCount", "count": count}
    tree: Tree = {"deviceClassName": device_class, **how, **fields}
    if expressions:
        tree["selectors"] = [{"cel": {"expression": e}} for e in expressions]
    if "capacity" in tree:
        tree["capacity"] = {"requests": tree["capacity"]}
    return tree


def request(name: str, exactly: Tree) -> Tree:
    return {"name": name, "exactly": exactly}


def first_of(name: str, *alternatives: Tree) -> Tree:
    return {"name": name, "firstAvailable": [{"name": f"s{i}", **a} for i, a in enumerate(alternatives)]}


def claim_tree(
    name: str, *requests: Tree, match: Sequence[Any] = (), distinct: Sequence[Any] = (), **devices: Any
) -> Tree:
    """A claim; ``match`` and ``distinct`` hold attribute names or (attribute, request names)."""
    constraints = [_constraint("matchAttribute", m) for m in match]
    constraints += [_constraint("distinctAttribute", d) for d in distinct]
    spec = {"requests": list(requests), "constraints": constraints, **devices}
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": spec},
    }


def _constraint(kind: str, given: Any) -> Tree:
    name, requests = (given, []) if isinstance(given, str) else given
    return {kind: name if "/" in name else f"{DRIVER}/{name}", "requests": requests}


def read(tree: Tree, view: type[V]) -> V:
    return decode_as(view, json.dumps(tree).encode())


class World:
    """A table with an allocator in front; claims are trees."""

    def __init__(self, *slices: Tree, classes: Sequence[Tree] = (), **features: bool) -> None:
        self.table = DeviceTable(Features(**features))
        self.allocator = Allocator(self.table)
        self._spec_ids: dict[bytes, int] = {}
        self._shares = 0
        for tree in (class_tree("any"), *classes):
            self.table.apply_class(read(tree, DeviceClass))
        self.publish(*slices)
        self.table.set_node("n1", {"kubernetes.io/hostname": "n1"}, ("DRAOptionalNodeOperations",))

    def publish(self, *slices: Tree) -> None:
        for tree in slices:
            self.table.apply_slice(read(tree, ResourceSlice))

    def taint(self, name: str, selector: Tree | None, effect: str = "NoSchedule") -> None:
        spec: Tree = {"taint": {"key": name, "effect": effect}}
        if selector is not None:
            spec["deviceSelector"] = selector
        self.table.apply_taint_rule(read({"metadata": {"name": name}, "spec": spec}, DeviceTaintRule))

    def prepare(self, *claims: Tree) -> Any:
        return self.allocator.prepare([self._read(c) for c in claims])

    def _read(self, tree: Tree) -> ClaimInput:
        view = read(tree, ResourceClaim)
        spec_id = self._spec_ids.setdefault(msgspec.json.encode(view.spec), len(self._spec_ids))
        meta = view.metadata
        return ClaimInput(meta.uid, meta.namespace, meta.name, view.spec, spec_id)

    def judge(self, *claims: Tree, node: str = "n1") -> Answer:
        return self.allocator.judge(self.prepare(*claims), node)

    def fits(self, *claims: Tree, node: str = "n1") -> bool:
        return self.judge(*claims, node=node).fits

    def explain(self, *claims: Tree, node: str = "n1") -> Explanation:
        return self.allocator.explain(self.prepare(*claims), node)

    def allocate(self, *claims: Tree, node: str = "n1") -> tuple[AllocationResult, ...]:
        return self.allocator.allocate(self.prepare(*claims), node, self._make_share_id)

    def _make_share_id(self) -> str:
        self._shares += 1
        return f"00000000-0000-0000-0000-{self._shares:012}"

    def take(self, *claims: Tree, node: str = "n1") -> list[list[str]]:
        """Allocate, note as taken, and return the device names by claim."""
        results = self.allocate(*claims, node=node)
        for tree, result in zip(claims, results, strict=True):
            self.table.take(tree["metadata"]["uid"], result)
        return [[r.device for r in result.devices.results] for result in results]

    def devices(self, *claims: Tree, node: str = "n1") -> list[list[str]]:
        return [[r.device for r in a.devices.results] for a in self.allocate(*claims, node=node)]

    def hold(self, holder: str, *devices: str, pool: str = "n1", driver: str = DRIVER, **more: Any) -> None:
        """Note devices as taken by a claim from elsewhere."""
        results = [{"request": "r", "driver": driver, "pool": pool, "device": d, **more} for d in devices]
        self.table.take(holder, read({"devices": {"results": results}}, AllocationResult))


# ---- recorded problems ------------------------------------------------------------------------------------


def read_recorded(group: str) -> Iterator[Tree]:
    with gzip.open(GOLDEN / f"allocation-{group}.jsonl.gz") as lines:
        for line in lines:
            yield json.loads(line)


def load_recorded(record: Tree) -> World:
    """Build the world of a recorded problem; features that it does not name are off."""
    off = dict.fromkeys((*RECORDED_FEATURES.values(), "binding_conditions", "fractional_range"), False)
    on = {RECORDED_FEATURES[name]: True for name in record["features"]}
    world = World(*record["slices"], classes=record["classes"], **(off | on))
    node = record["node"]["metadata"]
    world.table.set_node(node["name"], node.get("labels", {}))
    for tree in record["allocated"]:
        claim = read(tree, ResourceClaim)
        assert claim.status.allocation is not None
        world.table.take(claim.metadata.uid, claim.status.allocation)
    return world


def to_trees(results: Sequence[AllocationResult]) -> list[list[Tree]]:
    """Device results as recorded: without share ids and tolerations."""
    return [
        [
            {k: v for k, v in r.items() if k not in ("shareID", "tolerations")}
            for r in json.loads(msgspec.json.encode(a.devices.results))
        ]
        for a in results
    ]

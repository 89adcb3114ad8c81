"""What a resource pool has, what of it is in use and what is left, as ResourcePoolStatusRequests ask for it.

Behaviour: KEP-5677 (alpha): devices count once whoever shares them, admin access holds nothing, and devices that are
tainted against scheduling are not available.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from apportion.api import Tree
from apportion.api.quantity import Quantity, parse_quantity
from apportion.api.resource import AllocationResult, Device, DeviceRequestAllocationResult, ResourceSlice

ERROR_BYTES_MAX: Final = 256
_BLOCKING: Final = ("NoSchedule", "NoExecute")
Counters = dict[tuple[str, str], int]


@dataclass(slots=True)
class PoolUse:
    """What claims hold of one pool: devices, and for shared ones what is consumed."""

    devices: set[str] = field(default_factory=set)
    consumed: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, result: DeviceRequestAllocationResult) -> None:
        """Count one allocated device."""
        self.devices.add(result.device)
        if result.share_id is not None:
            total = self.consumed.setdefault(result.device, {})
            for name, amount in result.consumed_capacity.items():
                total[name] = total.get(name, 0) + parse_quantity(amount).nano


def collect_use(allocations: Iterable[AllocationResult]) -> dict[tuple[str, str], PoolUse]:
    """Return the use of each pool, by driver and name."""
    found: dict[tuple[str, str], PoolUse] = {}
    for allocation in allocations:
        for result in allocation.devices.results:
            if not result.admin_access:
                found.setdefault((result.driver, result.pool), PoolUse()).add(result)
    return found


def describe_pool(slices: Sequence[ResourceSlice], use: PoolUse, default_attribute: str | None) -> Tree:
    """Return the entry of one pool; ``slices`` are those of its newest generation."""
    spec = slices[0].spec
    nodes = {s.spec.node_name for s in slices}
    entry: Tree = {
        "driver": spec.driver,
        "poolName": spec.pool.name,
        "generation": spec.pool.generation,
        "resourceSliceCount": len(slices),
    }
    node = nodes.pop() if len(nodes) == 1 else None
    if node:
        entry["nodeName"] = node
    problem = find_problem(slices)
    if problem is not None:
        return {**entry, "validationError": problem[:ERROR_BYTES_MAX]}
    devices = [d for s in slices for d in s.spec.devices]
    allocated = sum(d.name in use.devices for d in devices)
    unavailable = sum(d.name not in use.devices and _is_tainted(d) for d in devices)
    entry["totalDevices"] = len(devices)
    entry["allocatedDevices"] = allocated
    entry["unavailableDevices"] = unavailable
    entry["availableDevices"] = len(devices) - allocated - unavailable
    shared = [d for d in devices if d.allow_multiple_allocations]
    if shared:
        entry["shareableSummary"] = _describe_shared(shared, use)
    return entry | _describe_partitions(slices, use, default_attribute)


def find_problem(slices: Sequence[ResourceSlice]) -> str | None:
    """Return why a pool cannot be counted."""
    stated = {s.spec.pool.resource_slice_count for s in slices}
    if len(stated) > 1:
        return "slices disagree about resourceSliceCount"
    if stated != {len(slices)}:
        return f"{len(slices)} of {next(iter(stated))} slices are published"
    names = [d.name for s in slices for d in s.spec.devices]
    twice = next((n for n in names if names.count(n) > 1), None) if len(set(names)) < len(names) else None
    return f"duplicate device name {twice}" if twice else None


def _is_tainted(device: Device) -> bool:
    return any(t.effect in _BLOCKING for t in device.taints)


def _describe_shared(devices: Sequence[Device], use: PoolUse) -> Tree:
    total: dict[str, int] = {}
    consumed: dict[str, int] = {}
    for device in devices:
        for name, capacity in device.capacity.items():
            total[name] = total.get(name, 0) + parse_quantity(capacity.value).nano
        for name, amount in use.consumed.get(device.name, {}).items():
            consumed[name] = consumed.get(name, 0) + amount
    capacities = [
        {
            "name": name,
            "total": _text(amount),
            "consumed": _text(consumed.get(name, 0)),
            "available": _text(max(amount - consumed.get(name, 0), 0)),
        }
        for name, amount in sorted(total.items())
    ]
    partly = sum(d.name in use.devices for d in devices)
    summary: Tree = {"fullyAvailableDevices": len(devices) - partly, "partiallyAvailableDevices": partly}
    return {**summary, "capacity": capacities} if capacities else summary


def _text(nano: int) -> str:
    return str(Quantity(nano, "DecimalSI"))


def _describe_partitions(slices: Sequence[ResourceSlice], use: PoolUse, default: str | None) -> Tree:
    """Count partitions by type: of each how many there are, and how many the counters still allow.

    The attribute that tells the types apart is named by the device's own slice, or else by ``default``.
    """
    left: Counters = {
        (s.name, name): parse_quantity(c.value).nano
        for view in slices
        for s in view.spec.shared_counters
        for name, c in s.counters.items()
    }
    by_type: dict[tuple[str, str], list[Device]] = {}
    for view in slices:
        attribute = view.spec.partition_type_attribute or default
        for device in view.spec.devices:
            if device.name in use.devices:
                _draw(device, left)
            kind = _find_type(device, attribute, view.spec.driver) if attribute else None
            if attribute and kind is not None:
                by_type.setdefault((attribute, kind), []).append(device)
    summary = []
    for (attribute, kind), devices in sorted(by_type.items()):
        if len({tuple(sorted(_list_draws(d).items())) for d in devices}) > 1:
            return {"validationError": f"devices of type {kind} draw differently on the counters"}
        remaining = dict(left)
        fitting = sum(d.name not in use.devices and _draw(d, remaining) for d in devices)
        summary.append({"attribute": attribute, "type": kind, "total": len(devices), "allocatable": fitting})
    return {"partitionSummary": summary} if summary else {}


def _find_type(device: Device, attribute: str, driver: str) -> str | None:
    domain, _, bare = attribute.partition("/")
    found = device.attributes.get(attribute) or (device.attributes.get(bare) if domain == driver else None)
    return found.string_value if found is not None else None


def _list_draws(device: Device) -> Counters:
    return {
        (c.counter_set, name): parse_quantity(counter.value).nano
        for c in device.consumes_counters
        for name, counter in c.counters.items()
    }


def _draw(device: Device, left: Counters) -> bool:
    """Take what a device draws; False, and nothing is taken, when there is not enough."""
    draws = _list_draws(device)
    if any(amount > left.get(key, 0) for key, amount in draws.items()):
        return False
    for key, amount in draws.items():
        left[key] -= amount
    return True

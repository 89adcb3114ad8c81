"""What devices take of a node's own resources beside what containers ask for (KEP-5517, alpha).

Behaviour: plugins/dynamicresources/nodeallocatabledynamicresources.go; the amounts stand in the pod's status, so that
whoever counts a node's pods can count them, too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from apportion.api.core import NodeAllocatableAmount, NodeAllocatableClaim, NodeAllocatableExtra, PodSpec
from apportion.api.pod_requests import is_pod_level_resource, sum_container_limits, sum_container_requests
from apportion.api.quantity import NANO, Quantity, parse_quantity
from apportion.api.resource import AllocationResult, Device, DeviceRequestAllocationResult, NodeAllocatableResource
from apportion.api.view import ResourceList

FindDevice = Callable[[str, str, str], Device | None]
_NANO_PER_MILLI: Final = NANO // 1000
# the words of Kubernetes
_UNCOVERED: Final = "pod level {} for {} is insufficient to cover the {} and node-allocatable DRA {}"


def find_footprint(
    name: str, allocation: AllocationResult, containers: Sequence[str], find_device: FindDevice
) -> NodeAllocatableClaim | None:
    """Return what a claim's devices take of the node, None for nothing.

    ``containers`` are those that use the claim, ``find_device`` looks up driver, pool and device.
    """
    mapped: dict[str, int] = {}
    per_pod: dict[str, int] = {}
    per_container: dict[str, int] = {}
    for result in allocation.devices.results:
        device = find_device(result.driver, result.pool, result.device)
        for resource, entry in (device.node_allocatable_resources if device is not None else {}).items():
            assert device is not None
            _add(mapped, resource, _map(entry, device, result))
            _add(per_pod, resource, _read(entry.overhead.per_pod if entry.overhead else None))
            _add(per_container, resource, _read(entry.overhead.per_container if entry.overhead else None))
    if not (mapped or per_pod or per_container):
        return None
    extras = [
        NodeAllocatableExtra(name=n, per_pod=_text(per_pod.get(n)), per_container=_text(per_container.get(n)))
        for n in sorted({*per_pod, *per_container})
    ]
    amounts = [NodeAllocatableAmount(name=n, quantity=_text(a) or "0") for n, a in sorted(mapped.items())]
    return NodeAllocatableClaim(
        resource_claim_name=name, containers=tuple(containers), mapping=tuple(amounts), overhead=tuple(extras)
    )


def _map(entry: NodeAllocatableResource, device: Device, result: DeviceRequestAllocationResult) -> int:
    mapping = entry.mapping
    if mapping is None:
        return 0
    if mapping.capacity_key is None:
        return _read(mapping.device_multiplier)
    capacity = device.capacity.get(mapping.capacity_key)
    amount = result.consumed_capacity.get(mapping.capacity_key) or (capacity.value if capacity is not None else None)
    return _read(amount) * _read(mapping.capacity_multiplier) // NANO


def _read(raw: object) -> int:
    return parse_quantity(raw).nano if isinstance(raw, str | int | float) else 0


def _text(nano: int | None) -> str | None:
    return None if nano is None else str(Quantity(nano, "DecimalSI"))


def _add(total: dict[str, int], name: str, nano: int) -> None:
    if nano:
        total[name] = total.get(name, 0) + nano


def sum_footprints(claims: Iterable[NodeAllocatableClaim]) -> dict[str, int]:
    """Return what claims take of a node by resource: cpu in thousandths, all else in whole units, rounded up."""
    total = _sum_nano(claims)
    return {n: -(-nano // (_NANO_PER_MILLI if n == "cpu" else NANO)) for n, nano in total.items()}


def _sum_nano(claims: Iterable[NodeAllocatableClaim]) -> dict[str, int]:
    total: dict[str, int] = {}
    for claim in claims:
        for amount in claim.mapping:
            _add(total, amount.name, _read(amount.quantity))
        for extra in claim.overhead:
            _add(total, extra.name, _read(extra.per_pod) + _read(extra.per_container) * len(claim.containers))
    return total


def find_uncovered(spec: PodSpec, claims: Sequence[NodeAllocatableClaim]) -> str | None:
    """Return why what a pod asks for as a whole does not cover its containers and its devices, None if it does.

    Requests and huge page limits must cover the sum, other limits each container with what its claims give it.
    """
    whole = spec.resources
    if whole is None or not claims:
        return None
    extra = _sum_nano(claims)
    short = _find_short(whole.requests, sum_container_requests(spec), extra, is_pod_level_resource)
    if short is not None:
        return _UNCOVERED.format("request", short, "aggregated container", "requests")
    short = _find_short(whole.limits, sum_container_limits(spec), extra, _is_huge_page)
    if short is not None:
        return _UNCOVERED.format("limit", short, "aggregated container", "limits")
    return _find_short_container(spec, whole.limits, claims)


def _find_short(
    whole: ResourceList, sums: Mapping[str, Quantity], extra: Mapping[str, int], counts: Callable[[str], bool]
) -> str | None:
    for name in sorted(n for n in whole if counts(n) and (n in sums or n in extra)):
        of_containers = sums[name].nano if name in sums else 0
        if of_containers + extra.get(name, 0) > _read(whole[name]):
            return name
    return None


def _find_short_container(spec: PodSpec, whole: ResourceList, claims: Sequence[NodeAllocatableClaim]) -> str | None:
    for container in spec.containers:
        given: dict[str, int] = {}
        for claim in claims:
            if container.name in claim.containers:
                for amount in claim.mapping:
                    _add(given, amount.name, _read(amount.quantity))
                for extra in claim.overhead:
                    _add(given, extra.name, _read(extra.per_container))
        for name, limit in sorted(container.resources.limits.items()):
            if name in whole and not _is_huge_page(name) and _read(limit) + given.get(name, 0) > _read(whole[name]):
                text = f"pod level limit for {name} is insufficient to cover the limit and DRA overhead for container"
                return f"{text} {container.name}"
    return None


def _is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def list_users(spec: PodSpec, entries: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return by claim the containers that use it; ``entries`` maps entries of spec.resourceClaims to claims."""
    users: dict[str, dict[str, None]] = {}
    for container in (*spec.init_containers, *spec.containers):
        for reference in container.resources.claims:
            if reference.name in entries:
                users.setdefault(entries[reference.name], {})[container.name] = None
    return {claim: tuple(names) for claim, names in users.items()}

"""Extended resources served by devices: which names count, and a pod's containers as device requests.

Behaviour: KEP-5004 and plugins/dynamicresources/extendeddynamicresources.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from apportion.api.core import Container, PodSpec
from apportion.api.quantity import NANO, parse_quantity
from apportion.api.resource import DeviceClaim, DeviceRequest, ExactDeviceRequest, ResourceClaimSpec

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
EXTENDED_CLAIM: Final = "resource.kubernetes.io/extended-resource-claim"  # annotation of the scheduler's own claims


def is_extended_name(name: str) -> bool:
    """Return whether a resource of this name may be served by devices: no native one, or a class's implicit name."""
    if name.startswith(IMPLICIT_PREFIX):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


class Mapping(NamedTuple):
    """Which request of the claim serves a resource of a container; as in pod.status.extendedResourceClaimStatus."""

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True)
class ContainerRequests:
    """What the claim for a pod's extended resources asks for, and for whom."""

    spec: ResourceClaimSpec
    mappings: tuple[Mapping, ...]


class _Ask(NamedTuple):
    """Devices that one container asks for by one resource name."""

    at: int  # among init containers and containers
    container: str
    request: str
    devices: int


def list_requests(spec: PodSpec, classes: Sequence[tuple[str, str]]) -> ContainerRequests:
    """Return requests and mappings for (resource name, device class) pairs.

    What an init container asks for is taken from the requests of containers that run later or beside it; of what is
    missing then, the largest request serves all init containers, since they run one after the other.
    """
    requests: list[DeviceRequest] = []
    mappings: list[Mapping] = []
    for resource, device_class in sorted(classes):
        asks, mapped = _list_of_resource(spec, resource)
        requests += [_make_request(ask, device_class) for ask in asks]
        mappings += mapped
    ordered = tuple(sorted(requests, key=lambda r: r.name))
    return ContainerRequests(ResourceClaimSpec(devices=DeviceClaim(requests=ordered)), tuple(mappings))


def _make_request(ask: _Ask, device_class: str) -> DeviceRequest:
    exactly = ExactDeviceRequest(device_class_name=device_class, allocation_mode="ExactCount", count=ask.devices)
    return DeviceRequest(name=ask.request, exactly=exactly)


def _list_of_resource(spec: PodSpec, resource: str) -> tuple[list[_Ask], list[Mapping]]:
    lasting, passing = _list_asks(spec, resource)
    mappings = [Mapping(a.container, resource, a.request) for a in lasting]
    own: list[_Ask] = []
    mapped: list[tuple[str, str, bool]] = []  # container, request, whether it is one of ``own``
    for ask in passing:
        missing = ask.devices
        for other in lasting:
            if missing > 0 and other.at >= ask.at:
                mapped.append((ask.container, other.request, False))
                missing -= other.devices
        if missing > 0:
            own.append(ask._replace(devices=missing))
            mapped.append((ask.container, ask.request, True))
    largest = max(own, key=lambda a: a.devices) if own else None
    for container, request, is_own in mapped:
        mappings.append(Mapping(container, resource, largest.request if is_own and largest else request))
    return lasting + ([largest] if largest else []), mappings


def _list_asks(spec: PodSpec, resource: str) -> tuple[list[_Ask], list[_Ask]]:
    """Return what containers that last ask for, sidecars included, and what other init containers ask for."""
    lasting: list[_Ask] = []
    passing: list[_Ask] = []
    inits = len(spec.init_containers)
    for i, container in enumerate((*spec.init_containers, *spec.containers)):
        count = _read_count(container, resource)
        if count:
            position = sorted(container.resources.requests).index(resource)
            ask = _Ask(i, container.name, f"container-{i}-request-{position}", count)
            (passing if i < inits and container.restart_policy != "Always" else lasting).append(ask)
    return lasting, passing


def _read_count(container: Container, resource: str) -> int:
    raw = container.resources.requests.get(resource)
    nano = parse_quantity(raw).nano if raw is not None else 0
    return 0 if nano % NANO else nano // NANO

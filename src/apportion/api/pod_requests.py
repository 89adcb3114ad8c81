"""How much of each resource a pod asks for, as kube-scheduler adds it up.

Follows ``component-helpers/resource/helpers.go``: containers and sidecars together, or the peak of the init
phase if that is higher; pod-level amounts replace the sum; overhead comes on top. While a pod is resized in
place, the highest of what is asked for, granted and in use counts.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Protocol, TypeAlias

from msgspec.structs import replace

from apportion.api.core import Container, ContainerStatus, PodSpec, PodStatus
from apportion.api.quantity import NANO, Quantity, parse_quantity
from apportion.api.view import ResourceList

# Resource name -> amount in 10^-9 units. Rounding to column units comes last, so that ten times 100µ CPU is
# 1m.
_Nano: TypeAlias = dict[str, int]

DEFAULT_CPU_MILLI: Final = 100
DEFAULT_MEMORY_BYTES: Final = 200 << 20
_NANO_PER_MILLI: Final = NANO // 1000
_DEFAULTS: Final[_Nano] = {"cpu": DEFAULT_CPU_MILLI * _NANO_PER_MILLI, "memory": DEFAULT_MEMORY_BYTES * NANO}
_NO_DEFAULTS: Final[_Nano] = {}


class ContainerStatuses(Protocol):
    """The part of a pod's status that a resize shows in."""

    @property
    def container_statuses(self) -> tuple[ContainerStatus, ...]: ...
    @property
    def init_container_statuses(self) -> tuple[ContainerStatus, ...]: ...


def pod_requests(spec: PodSpec, status: ContainerStatuses | None = None) -> dict[str, int]:
    """Return the pod's total request by resource: cpu in thousandths, all else in whole units, rounded up.

    ``status`` is given for a pod that runs; the containers' granted and actual amounts then count if they are
    higher. Resources that are asked for with the amount 0 are in the result. Raises InputError when an amount
    is no quantity.
    """
    return {name: _to_column_units(name, nano) for name, nano in _sum(spec, status, _NO_DEFAULTS).items()}


def nonzero_requests(spec: PodSpec, status: ContainerStatuses | None = None) -> tuple[int, int]:
    """Return (cpu_milli, memory_bytes) for scoring; a container that names no amount counts 100m and 200 MiB.

    With pod-level amounts, only a resource that the pod asks for nowhere gets the default
    (``PodInfo.CalculateResource`` upstream).
    """
    defaults = _DEFAULTS
    if _pod_level(spec):
        named = _sum(spec, status, _NO_DEFAULTS)
        defaults = {name: nano for name, nano in _DEFAULTS.items() if name not in named}
    total = _sum(spec, status, defaults)
    return _to_column_units("cpu", total.get("cpu", 0)), _to_column_units("memory", total.get("memory", 0))


def scored_requests(spec: PodSpec, status: ContainerStatuses | None = None) -> tuple[int, int]:
    """Return (cpu_milli, memory_bytes) that the scoring strategies assume for the pod they look at.

    Pod-level amounts do not count here, though they do for pods on the node: as recorded of Kubernetes 1.37.
    """
    total = _sum_containers(spec, status, _DEFAULTS)
    _add(total, _to_nano(spec.overhead))
    return _to_column_units("cpu", total.get("cpu", 0)), _to_column_units("memory", total.get("memory", 0))


def sum_container_requests(spec: PodSpec) -> dict[str, Quantity]:
    """Return what containers and init containers ask for together, without pod-level amounts."""
    return {name: Quantity(nano) for name, nano in _sum_containers(spec, None, _NO_DEFAULTS).items()}


def sum_container_limits(spec: PodSpec) -> dict[str, Quantity]:
    """Return the limits of containers and init containers together, added up the way requests are."""
    with_limits = replace(
        spec,
        containers=tuple(map(_ask_for_limits, spec.containers)),
        init_containers=tuple(map(_ask_for_limits, spec.init_containers)),
    )
    return sum_container_requests(with_limits)


def _ask_for_limits(container: Container) -> Container:
    return replace(container, resources=replace(container.resources, requests=container.resources.limits))


def list_pod_level(spec: PodSpec) -> frozenset[str]:
    """Return the resources that the pod asks for as a whole, whatever its containers ask for."""
    return frozenset(_pod_level(spec))


def _to_column_units(name: str, nano: int) -> int:
    return -(-nano // (_NANO_PER_MILLI if name == "cpu" else NANO))


def _to_nano(amounts: ResourceList) -> _Nano:
    return {name: parse_quantity(raw).nano for name, raw in amounts.items()}


def _add(total: _Nano, more: Mapping[str, int]) -> None:
    for name, nano in more.items():
        total[name] = total.get(name, 0) + nano


def _raise_to(total: _Nano, other: Mapping[str, int]) -> None:
    for name, nano in other.items():
        total[name] = max(total.get(name, nano), nano)


def _sum(spec: PodSpec, status: ContainerStatuses | None, defaults: _Nano) -> _Nano:
    total = _sum_containers(spec, status, defaults)
    total |= _pod_level_amounts(spec, status)
    _add(total, _to_nano(spec.overhead))
    return total


def _sum_containers(spec: PodSpec, status: ContainerStatuses | None, defaults: _Nano) -> _Nano:
    infeasible = _is_resize_infeasible(status)
    running = _by_name(status.container_statuses) if status else {}
    running_init = _by_name(status.init_container_statuses) if status else {}
    total: _Nano = {}
    for container in spec.containers:
        _add(total, defaults | _container_amounts(container, running.get(container.name), infeasible))
    sidecars: _Nano = {}
    peak: _Nano = {}
    for container in spec.init_containers:
        is_sidecar = container.restart_policy == "Always"
        state = running_init.get(container.name) if is_sidecar else None
        amounts = defaults | _container_amounts(container, state, infeasible)
        if is_sidecar:
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise_to(peak, sidecars)
        else:  # an init container runs beside the sidecars started before it
            _add(amounts, sidecars)
            _raise_to(peak, amounts)
    _raise_to(total, peak)
    return total


def _by_name(statuses: Iterable[ContainerStatus]) -> dict[str, ContainerStatus]:
    return {s.name: s for s in statuses}


def _container_amounts(container: Container, state: ContainerStatus | None, infeasible: bool) -> _Nano:
    asked = _to_nano(container.resources.requests)
    if state is None or state.resources is None:
        return asked
    amounts = {} if infeasible else asked  # an infeasible resize will not happen: the running amounts count
    _raise_to(amounts, _to_nano(state.resources.requests))
    _raise_to(amounts, _to_nano(state.allocated_resources))
    return amounts


def _is_resize_infeasible(status: ContainerStatuses | None) -> bool:
    if not isinstance(status, PodStatus):
        return False
    if status.resize == "Infeasible":  # releases before 1.33 said it here
        return True
    pending = (c for c in status.conditions if c.type == "PodResizePending" and c.status == "True")
    return any(c.reason == "Infeasible" for c in pending)


def _pod_level(spec: PodSpec) -> ResourceList:
    if spec.resources is None:
        return {}
    return {n: raw for n, raw in spec.resources.requests.items() if is_pod_level_resource(n)}


def is_pod_level_resource(name: str) -> bool:
    """Return whether ``spec.resources`` of a pod may name the resource."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _pod_level_amounts(spec: PodSpec, status: ContainerStatuses | None) -> _Nano:
    asked = _to_nano(_pod_level(spec))
    if not asked or not isinstance(status, PodStatus) or status.resources is None:
        return asked
    amounts = {} if _is_resize_infeasible(status) else asked
    _raise_to(amounts, _to_nano(status.resources.requests))
    _raise_to(amounts, _to_nano(status.allocated_resources))
    return {n: nano for n, nano in amounts.items() if is_pod_level_resource(n)}

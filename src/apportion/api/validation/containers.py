"""Rules for containers: names, ports, and how much of which resource they may ask for."""

from typing import Final

from apportion.api.core import Container, PodResourceClaim, ResourceRequirements
from apportion.api.quantity import NANO, Quantity, parse_quantity
from apportion.api.validation.names import check_dns_label, check_qualified_name
from apportion.api.validation.report import FieldErrors
from apportion.api.view import ResourceList
from apportion.base import InputError

_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_NATIVE_DOMAIN: Final = "kubernetes.io/"


def validate_containers(
    errors: FieldErrors,
    field: str,
    containers: tuple[Container, ...],
    names: set[str],
    claims: tuple[PodResourceClaim, ...],
    host_network: bool,
) -> None:
    """Check containers or init containers; ``names`` has the names met so far and gets these too."""
    for i, container in enumerate(containers):
        path = f"{field}[{i}]"
        if not container.name:
            errors.required(f"{path}.name")
        elif container.name in names:
            errors.duplicate(f"{path}.name", container.name)
        else:
            errors.check_format(f"{path}.name", container.name, check_dns_label(container.name))
        names.add(container.name)
        if not container.image:
            errors.required(f"{path}.image")
        _validate_ports(errors, f"{path}.ports", container, host_network)
        validate_requirements(errors, f"{path}.resources", container.resources)
        _validate_claims(errors, f"{path}.resources.claims", container.resources, claims)


def validate_host_ports(errors: FieldErrors, field: str, containers: tuple[Container, ...]) -> None:
    """Check that no two ports of a pod's containers are the same port of the node."""
    used: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.ports):
            text = f"{port.protocol}/{port.host_ip}/{port.host_port}"
            if port.host_port and text in used:
                errors.duplicate(f"{field}[{i}].ports[{j}].hostPort", text)
            used.add(text)


def _validate_ports(errors: FieldErrors, field: str, container: Container, host_network: bool) -> None:
    for i, port in enumerate(container.ports):
        path = f"{field}[{i}]"
        if port.container_port == 0:
            errors.required(f"{path}.containerPort")
        elif not 1 <= port.container_port <= 65535:
            errors.invalid(f"{path}.containerPort", port.container_port, "must be between 1 and 65535, inclusive")
        if port.host_port and not 1 <= port.host_port <= 65535:
            errors.invalid(f"{path}.hostPort", port.host_port, "must be between 1 and 65535, inclusive")
        if host_network and port.host_port != port.container_port:
            why = "must match `containerPort` when `hostNetwork` is true"
            errors.invalid(f"{path}.hostPort", port.host_port, why)
        errors.check_choice(f"{path}.protocol", port.protocol, ("SCTP", "TCP", "UDP"))


def validate_requirements(errors: FieldErrors, field: str, resources: ResourceRequirements) -> None:
    """Check requests and limits: known names, no negative or fractional amounts, requests within limits."""
    limits = _read_amounts(errors, f"{field}.limits", resources.limits)
    requests = _read_amounts(errors, f"{field}.requests", resources.requests)
    for name, request in requests.items():
        limit = limits.get(name)
        if limit is None:
            if not _may_overcommit(name):
                errors.required(f"{field}.limits", "Limit must be set for non overcommitable resources")
        elif request != limit and not _may_overcommit(name):
            errors.invalid(f"{field}.requests", str(request), f"must be equal to {name} limit of {limit}")
        elif limit < request:
            why = f"must be less than or equal to {name} limit of {limit}"
            errors.invalid(f"{field}.requests", str(request), why)


def _may_overcommit(name: str) -> bool:
    is_native = "/" not in name or _NATIVE_DOMAIN in name
    return is_native and not name.startswith("hugepages-")


def _read_amounts(errors: FieldErrors, field: str, amounts: ResourceList) -> dict[str, Quantity]:
    read: dict[str, Quantity] = {}
    for name, raw in amounts.items():
        path = f"{field}[{name}]"
        _validate_resource_name(errors, path, name)
        try:
            amount = read[name] = parse_quantity(raw)
        except InputError as error:
            errors.add(path, str(error))
            continue
        if amount.nano < 0:
            errors.invalid(path, str(amount), "must be greater than or equal to 0")
        if amount.nano % NANO and not (name in _STANDARD or name.startswith(_NATIVE_DOMAIN)):
            errors.invalid(path, str(amount), "must be an integer")
    return read


def _validate_resource_name(errors: FieldErrors, field: str, name: str) -> None:
    problems = check_qualified_name(name)
    errors.check_format(field, name, problems)
    if problems or "/" in name or name in _STANDARD or name.startswith("hugepages-"):
        return
    errors.invalid(field, name, "must be a standard resource type or fully qualified")
    errors.invalid(field, name, "must be a standard resource for containers")


def _validate_claims(
    errors: FieldErrors, field: str, resources: ResourceRequirements, claims: tuple[PodResourceClaim, ...]
) -> None:
    known = {c.name for c in claims}
    seen: set[tuple[str, str]] = set()
    for i, claim in enumerate(resources.claims):
        path = f"{field}[{i}]"
        if not claim.name:
            errors.required(f"{path}.name")
        elif (claim.name, claim.request) in seen or (claim.name, "") in seen:
            errors.duplicate(path, claim)
        elif claim.name not in known:
            errors.not_found(path, claim.name, _explain_known_claims(claims))
        seen.add((claim.name, claim.request))


def _explain_known_claims(claims: tuple[PodResourceClaim, ...]) -> str:
    start = "must be one of the names in pod.spec.resourceClaims"
    return f"{start}: {', '.join(c.name for c in claims)}" if claims else f"{start} which is empty"

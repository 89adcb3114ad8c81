"""Rules for the status of a claim: what is allocated, and for whom."""

import re
from typing import Final

from apportion.api.resource import AllocationResult, DeviceRequestAllocationResult, ResourceClaim
from apportion.api.validation.affinity import validate_node_selector
from apportion.api.validation.devices import validate_driver
from apportion.api.validation.names import check_dns_label, check_dns_subdomain
from apportion.api.validation.report import FieldErrors

RESULTS_MAX: Final = 32
CONSUMERS_MAX: Final = 256
POOL_BYTES_MAX: Final = 253
REFERENCE_TEXT: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def validate_claim_status(errors: FieldErrors, claim: ResourceClaim) -> None:
    """Check allocation, consumers and device status of a claim against its spec."""
    status = claim.status
    if status.allocation is not None:
        _validate_allocation(errors, claim, status.allocation)
    if status.reserved_for and status.allocation is None:
        errors.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    uids: set[str] = set()
    for i, consumer in errors.bounded("status.reservedFor", status.reserved_for, CONSUMERS_MAX):
        path = f"status.reservedFor[{i}]"
        for name, value in (("resource", consumer.resource), ("name", consumer.name)):
            if not value:
                errors.required(f"{path}.{name}")
        if consumer.uid and consumer.uid in uids:  # one that is empty may still be filled in from the object
            errors.duplicate(path, consumer)
        uids.add(consumer.uid)
    _validate_devices(errors, claim)


def _validate_allocation(errors: FieldErrors, claim: ResourceClaim, allocation: AllocationResult) -> None:
    results = allocation.devices.results
    requests = claim.spec.devices.requests
    known = {r.name for r in requests} | {f"{r.name}/{s.name}" for r in requests for s in r.first_available}
    for i, result in errors.bounded("status.allocation.devices.results", results, RESULTS_MAX):
        _validate_result(errors, f"status.allocation.devices.results[{i}]", result, known)
    if allocation.node_selector is not None:
        path = "status.allocation.nodeSelector"
        validate_node_selector(errors, path, allocation.node_selector)
        if len(allocation.node_selector.node_selector_terms) > 1:
            terms = allocation.node_selector.node_selector_terms
            errors.invalid(f"{path}.nodeSelectorTerms", len(terms), "must have exactly one node selector term")


def _validate_result(errors: FieldErrors, field: str, result: DeviceRequestAllocationResult, known: set[str]) -> None:
    if result.request not in known:
        errors.invalid(f"{field}.request", result.request, REFERENCE_TEXT)
    validate_driver(errors, f"{field}.driver", result.driver)
    validate_pool_name(errors, f"{field}.pool", result.pool)
    errors.check_format(f"{field}.device", result.device, check_dns_label(result.device))
    if result.share_id is not None and not _UUID.fullmatch(result.share_id):
        why = "must be a lowercase UUID in 8-4-4-4-12 format (e.g., '123e4567-e89b-12d3-a456-426614174000')"
        errors.invalid(f"{field}.shareID", result.share_id, why)
    if result.consumed_capacity and result.share_id is None:
        errors.forbidden(f"{field}.consumedCapacity", "may only be set together with `shareID`")


def _validate_devices(errors: FieldErrors, claim: ResourceClaim) -> None:
    results = claim.status.allocation.devices.results if claim.status.allocation is not None else ()
    allocated = {(r.driver, r.pool, r.device, r.share_id) for r in results}
    seen: set[tuple[str, str, str, str | None]] = set()
    for i, device in enumerate(claim.status.devices):
        key = (device.driver, device.pool, device.device, device.share_id)
        names = ("Driver", "Pool", "Device", "ShareID")
        printed = {n: v or "" for n, v in zip(names, key, strict=True)}
        if key not in allocated:
            errors.invalid(f"status.devices[{i}]", printed, "must be an allocated device in the claim")
        elif key in seen:
            errors.duplicate(f"status.devices[{i}]", printed)
        seen.add(key)


def validate_pool_name(errors: FieldErrors, field: str, pool: str) -> None:
    """Check a pool name: DNS subdomains joined by slashes, up to 253 bytes in total."""
    if not pool:
        errors.required(field)
    elif not errors.check_length(field, pool, POOL_BYTES_MAX):
        for part in pool.split("/"):
            errors.check_format(field, part, check_dns_subdomain(part))

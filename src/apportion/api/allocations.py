"""Whether two allocations are the same decision, however they were written down."""

from apportion.api.resource import AllocationResult, DeviceRequestAllocationResult


def is_same_decision(one: AllocationResult, other: AllocationResult) -> bool:
    """Return whether both give the same devices to the same requests, for the same nodes.

    Everything else is left out: a server may write amounts another way, add fields that we do not know, or stamp the
    time. Cost: one comparison for each device.
    """
    if one is other:
        return True
    if one.node_selector != other.node_selector:
        return False
    mine, others = one.devices.results, other.devices.results
    return len(mine) == len(others) and all(_place(a) == _place(b) for a, b in zip(mine, others, strict=True))


def _place(result: DeviceRequestAllocationResult) -> tuple[str, str, str, str, str | None]:
    return result.request, result.driver, result.pool, result.device, result.share_id

"""What one scheduling cycle found out and decided about a pod's claims."""

from dataclasses import dataclass, field

from apportion.api.resource import AllocationResult
from apportion.sched.plugins.claim_footprints import Footprint
from apportion.sched.plugins.device_columns import DeviceColumn
from apportion.sched.plugins.extended_claims import ExtendedClaim
from apportion.sched.state import ClaimInfo


@dataclass(slots=True)
class ClaimState:
    """What one cycle found out about a pod's claims; Reserve adds the allocations it decided."""

    claims: tuple[ClaimInfo, ...]
    to_allocate: tuple[ClaimInfo, ...]
    column: DeviceColumn
    extended: ExtendedClaim | None = None
    allocations: dict[str, AllocationResult] = field(default_factory=dict)
    footprint: Footprint = ()
    is_footprint_written: bool = False

    @property
    def is_writing(self) -> bool:
        """Whether there is anything to write before the pod is bound."""
        return bool(self.claims) or (self.extended is not None and self.extended.variant is not None)

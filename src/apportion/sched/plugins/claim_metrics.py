"""What is counted of claims, for all profiles together; shown with the scheduler's other metrics.

Behaviour: pkg/scheduler/metrics and KEP-5007 for the names and labels; the bounds of the buckets are ours.
"""

from collections.abc import Iterable, Iterator

from apportion.api.resource import AllocationResult
from apportion.base.metrics import Counter, Histogram, exponential

SUCCESS, FAILED, TIMEOUT, ERROR = "success", "failed", "timeout", "error"


class ClaimMetrics:
    """Counts waits for devices to be made ready, and claims made for extended resources."""

    def __init__(self) -> None:
        labels = ("profile", "driver", "status")
        self.allocations = Counter(
            "scheduler_dra_bindingconditions_allocations_total",
            "Allocations whose devices had to be made ready: success, failed (a condition says so), timeout, or error.",
            labels,
        )
        self.wait_s = Histogram(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            "How long bindings waited for devices to be made ready.",
            exponential(1, 2, 12),
            labels,
        )
        self.creates = Counter(
            "scheduler_resourceclaim_creates_total",
            "Claims that the scheduler made, or failed to make, for extended resources.",
            ("status",),
        )

    def __iter__(self) -> Iterator[Counter | Histogram]:
        return iter((self.allocations, self.wait_s, self.creates))

    def count_wait(self, profile: str, drivers: Iterable[str], status: str, waited_s: float) -> None:
        """The wait for one allocation has ended; each of its drivers counts."""
        for driver in drivers:
            labels = (profile, driver, status)
            self.allocations.add(labels)
            self.wait_s.observe(waited_s, labels)

    def count_create(self, is_made: bool) -> None:
        """A claim for extended resources was made, or not."""
        self.creates.add((SUCCESS if is_made else "failure",))


def list_drivers(allocation: AllocationResult | None) -> tuple[str, ...]:
    """Return the drivers of devices that have to be made ready, each once."""
    results = allocation.devices.results if allocation is not None else ()
    return tuple(dict.fromkeys(r.driver for r in results if r.binding_conditions))

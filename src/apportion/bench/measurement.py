"""What a run comes to, in one form for all modes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from apportion.base import ApportionError
from apportion.bench.workloads import Workload

Progress = Callable[[int, int], None]


class BenchError(ApportionError):
    """A run did not place every pod, or a placement does not hold."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one workload came to; times in seconds and microseconds, memory in MiB."""

    name: str
    pods: int
    duration_s: float
    decision_p50_us: float
    decision_p99_us: float
    peak_memory_mib: float

    @classmethod
    def of(cls, workload: Workload, duration_s: float, latencies_ns: Sequence[int], peak_mib: float) -> "Measurement":
        """Return the measurement of a run; ``latencies_ns`` has one entry for each decision."""
        ordered = sorted(latencies_ns)
        p50, p99 = ordered[len(ordered) // 2] / 1000, ordered[len(ordered) * 99 // 100] / 1000
        return cls(workload.name, workload.measured_pods, duration_s, p50, p99, peak_mib)

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form."""
        return {
            "name": self.name,
            "podsPerSecond": round(self.pods / self.duration_s, 1),
            "decisionP50Us": round(self.decision_p50_us, 1),
            "decisionP99Us": round(self.decision_p99_us, 1),
            "peakMemoryMiB": round(self.peak_memory_mib, 1),
        }

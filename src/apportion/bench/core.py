"""Core mode: watch events as JSON bytes into the scheduler, commands carried out on objects in memory.

Measured is everything between the first byte of a measured pod's event and the confirmation of the last binding:
decoding, queue, decision, every command, its outcome, and the event that confirms it.
"""

import gc
import resource
import time

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng, VirtualClock
from apportion.bench.measurement import BenchError, Measurement, Progress
from apportion.bench.verify import verify
from apportion.bench.workloads import Workload
from apportion.client import MemoryTransport
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState


class _Run:
    """One scheduler over one set of objects, driven until nothing moves."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self.workload = workload
        clock, state, rng = VirtualClock(), ClusterState(), Rng(seed)
        self.transport = MemoryTransport()
        self.transport.keep_events = False
        self.scheduler: Scheduler = build_scheduler(SchedulerConfig(), state, FeatureGates.parse(""), clock, rng)
        self.shell = Shell(self.scheduler, self.transport, clock)
        self.latencies_ns: list[int] = []

    def settle(self, progress: Progress, total: int) -> None:
        """Decide, carry out and deliver until nothing moves."""
        scheduler, shell, transport = self.scheduler, self.shell, self.transport
        clock, latencies = time.perf_counter_ns, self.latencies_ns
        while True:
            start = clock()
            decided = scheduler.schedule_one()
            if decided:
                latencies.append(clock() - start)
                if len(latencies) % 500 == 0:
                    progress(len(latencies), total)
            shell.send()
            moved = False
            while transport.deliver():
                moved = True
                if scheduler.outbox:
                    shell.send()
            if not decided and not moved:
                return

    def load(self) -> None:
        """Create what exists before the measurement."""
        for put in (self.workload.setup, self.workload.init):
            for kind, tree in put():
                self.transport.put(kind, tree)
            while self.transport.deliver():
                pass
        self.shell.start()
        self.settle(lambda done, total: None, 0)
        self.latencies_ns.clear()

    def check(self) -> None:
        """Raise BenchError unless every pod is placed and every placement holds."""
        stored = self.transport.trees
        pods = list(stored("pods"))
        missing = [p["metadata"]["name"] for p in pods if not p["spec"].get("nodeName")]
        if missing:
            raise BenchError(f"{self.workload.name}: {len(missing)} pods were not placed, {missing[0]} among them")
        problems = verify(stored("nodes"), pods, stored("resourceclaims"), stored("resourceslices"))
        if problems:
            raise BenchError(f"{self.workload.name}: {problems[0]} ({len(problems)} problems)")


def run_workload(workload: Workload, seed: int = 0, progress: Progress = lambda done, total: None) -> Measurement:
    """Run one workload and return what was measured. Raises BenchError when the result is wrong."""
    run = _Run(workload, seed)
    run.load()
    for kind, tree in workload.measured():
        run.transport.put(kind, tree)  # events lie ready as bytes; none is delivered yet
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    start = time.perf_counter()
    run.settle(progress, workload.measured_pods)
    duration_s = time.perf_counter() - start
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    run.check()
    return Measurement.of(workload, duration_s, run.latencies_ns, peak_mib)

"""Core mode: watch events as JSON bytes into the scheduler, API requests as bytes out of it.

What counts is the time that the scheduler and its shell take, from the bytes of an event to those of a request. The
API is a set of objects in memory; its work does not count. Time for everybody else is virtual: each pod that gets a
node moves it on by what kube-scheduler takes for one pod, and when nothing moves it jumps to whatever is due next. A
churn, a rate of deletions and a backoff thus mean the same for us as for kube-scheduler.

A failed attempt moves time on too. Otherwise pods that are taken from backoff early, as they are whenever no other is
ready, would all be tried again after every event, however little time lies between two events. How long kube-scheduler
takes for it is not known: more with many nodes, all of which it looks at, less where the API need not be told again.
It is counted as a tenth of a pod, which is little: the less it is, the more attempts are made here.
"""

import heapq
import itertools
import time
from collections.abc import Callable, Iterable
from typing import Final

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.api.kinds import Kind
from apportion.base import Rng, VirtualClock
from apportion.bench.board import PodBoard, PodEntry
from apportion.bench.completion import complete
from apportion.bench.deferred import DeferredTransport, HeldTransport
from apportion.bench.measurement import BenchError
from apportion.bench.owned_claims import find_owned_claims
from apportion.bench.profiling import Profiler
from apportion.bench.world import Item, Tree, World
from apportion.client import MemoryTransport, Request, Response
from apportion.controllers import ResourceClaimController
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState

DEADLINE_S: Final = 600.0  # of the wall clock
VIRTUAL_DEADLINE_S: Final = 7200.0
_FAILED_PART: Final = 0.1  # of the time that a pod takes which gets a node
_FLUSH_EVERY_S: Final = 0.05  # how late a backoff may end while pods are being scheduled


class CoreWorld(World):
    """One scheduler over one set of objects. ``rate`` is how many pods a second kube-scheduler schedules."""

    def __init__(
        self, config: SchedulerConfig, gates: FeatureGates, seed: int, rate: float, profiler: Profiler
    ) -> None:
        rng = Rng(seed)
        self.board = PodBoard()
        self.latencies_ns: list[int] = []
        self._clock = VirtualClock()
        self._pod_s = 1.0 / rate
        self._failed_s = _FAILED_PART * self._pod_s
        self._transport = MemoryTransport()
        self._transport.keep_events = False
        state = ClusterState(Features.from_gates(gates.as_dict()))
        self.scheduler = build_scheduler(config, state, gates, self._clock, rng)
        self._inside = HeldTransport(self._transport)
        self._shell = Shell(self.scheduler, self._inside, self._clock)
        self._outside = DeferredTransport(self._transport)
        self._claims = ResourceClaimController(self._outside, self._clock, rng.fork("claims"))
        self._jobs: list[tuple[float, int, float, Callable[[], bool]]] = []
        self._order = itertools.count()
        self._busy_ns = 0
        self._cpu_ns = 0
        self._flushed_s = self._clock.now()
        self._failed: list[str] = []
        self.profiler = profiler
        self._start()

    def _start(self) -> None:
        self._outside.watch("pods", self.board.on_frame)
        self.board.listeners.append(self._on_bound)
        self._shell.start()
        self._claims.start()
        self._outside.watch("pods", self._collect_garbage)

    def _on_bound(self, entry: PodEntry) -> None:
        if entry.group is not None:
            self._clock.advance_to(self._clock.now() + self._pod_s)

    def _collect_garbage(self, frame: bytes) -> None:
        """Delete the claims of a pod that is gone, as garbage collection does."""
        namespace, names = find_owned_claims(frame)
        for name in names:
            self._submit(Request("delete", "resourceclaims", namespace, name), is_certain=False)

    # ---- World --------------------------------------------------------------------------------------------

    async def create(self, items: Iterable[Item]) -> None:
        """Announce objects; nothing is delivered before somebody waits."""
        for item in items:
            self._put(item)

    def create_soon(self, item: Item) -> None:
        """Announce an object."""
        self._put(item)

    def _put(self, item: Item) -> None:
        self._transport.put(item.kind.plural, complete(item.tree, item.kind))

    def delete_soon(self, kind: Kind, namespace: str, name: str) -> None:
        """Delete an object."""
        self._submit(Request("delete", kind.plural, namespace, name), is_certain=False)

    async def update(self, items: Iterable[Item], subresource: str) -> None:
        """Replace objects; uid and age stay, and of a pod the node and the status."""
        for item in items:
            old = self._transport.find(item.kind.plural, item.namespace, item.name)
            if old is None:
                raise BenchError(f"{item.kind.plural} {item.name} cannot be updated: not found")
            new = complete(item.tree, item.kind)
            kept = {name: old["metadata"][name] for name in ("uid", "creationTimestamp")}
            new = {**new, "metadata": {**new["metadata"], **kept}}
            if item.kind.name == "Pod":
                new = {**new, "spec": _with_node(new["spec"], old["spec"]), "status": old.get("status", {})}
            self._transport.put(item.kind.plural, new)

    async def send(self, requests: Iterable[Request]) -> None:
        """Carry out requests."""
        for request in requests:
            self._submit(request, is_certain=True)
        await self.settle()

    def _submit(self, request: Request, is_certain: bool) -> None:
        def answered(response: Response) -> None:
            if is_certain and response.code >= 300:
                self._failed.append(f"{request.verb} {request.resource} {request.name}: {response.message}")

        self._transport.submit(request, answered)

    async def wait(self, is_done: Callable[[], bool], what: str) -> None:
        """Drive the scheduler until ``is_done``."""
        wall_s, virtual_s = time.monotonic() + DEADLINE_S, self._clock.now() + VIRTUAL_DEADLINE_S
        while not is_done():
            if not self._step() and not self._jump(virtual_s):
                raise BenchError(f"nothing moves any more, and not yet: {what}")
            if self._failed:
                raise BenchError(self._failed[0])
            if time.monotonic() > wall_s or self._clock.now() > virtual_s:
                raise BenchError(f"not reached in time: {what}")

    async def sleep(self, delay_s: float) -> None:
        """Drive the scheduler until virtual time has moved on."""
        until_s = self._clock.now() + delay_s
        while self._clock.now() < until_s:
            if not self._step() and not self._jump(until_s):
                self._clock.advance_to(until_s)

    def every(self, interval_s: float, tick: Callable[[], bool]) -> None:
        """Call ``tick`` by virtual time."""
        heapq.heappush(self._jobs, (self._clock.now() + interval_s, next(self._order), interval_s, tick))

    async def settle(self) -> None:
        """Deliver everything, without time moving on."""
        self._failed_s = 0.0
        while self._step():
            pass
        self._failed_s = _FAILED_PART * self._pod_s

    def elapsed_s(self) -> float:
        """Return how long the scheduler and its shell have worked."""
        return self._busy_ns / 1e9

    def cpu_s(self) -> float:
        """Return how long the processor has worked for them."""
        return self._cpu_ns / 1e9

    def trees(self, plural: str) -> list[Tree]:
        """Return the objects of a kind."""
        return list(self._transport.trees(plural))

    # ---- driving ------------------------------------------------------------------------------------------

    def _step(self) -> bool:
        """Take in what happened, decide about one pod, and carry everything out. False when nothing moved."""
        self.profiler.enter()
        start_cpu_ns, start_ns = time.process_time_ns(), time.perf_counter_ns()
        has_moved = self._inside.flush()
        before_ns = time.perf_counter_ns()
        attempts = self.scheduler.attempts
        failed = attempts["unschedulable"] + attempts["error"]
        is_decided = self.scheduler.schedule_one()
        after_ns = time.perf_counter_ns()
        self._shell.send()
        if attempts["unschedulable"] + attempts["error"] > failed:
            self._clock.advance_to(self._clock.now() + self._failed_s)
        now_s = self._clock.now()
        if now_s - self._flushed_s > _FLUSH_EVERY_S:
            self._flushed_s = now_s
            self.scheduler.flush()
        self._busy_ns += time.perf_counter_ns() - start_ns
        self._cpu_ns += time.process_time_ns() - start_cpu_ns
        self.profiler.leave()
        if is_decided:
            self.latencies_ns.append(after_ns - before_ns)
        return self._work_outside() or is_decided or has_moved

    def _work_outside(self) -> bool:
        """Let the API, controllers and jobs work; that does not count."""
        has_moved = self._inside.carry_out()
        while self._transport.deliver():
            has_moved = True
        has_moved |= self._outside.flush()
        while self._claims.work():
            has_moved = True
        while self._jobs and self._jobs[0][0] <= self._clock.now():
            due_s, _, interval_s, tick = heapq.heappop(self._jobs)
            if tick():
                heapq.heappush(self._jobs, (due_s + interval_s, next(self._order), interval_s, tick))
            has_moved = True
        return has_moved

    def _jump(self, limit_s: float) -> bool:
        """Move time to whatever is due next, at most to the limit. False when nothing is due."""
        due = [
            self.scheduler.next_wakeup_s(),
            self._claims.queue.next_wakeup_s(),
            self._shell.next_wakeup_s(),
            self._jobs[0][0] if self._jobs else None,
        ]
        due_s = min((t for t in due if t is not None), default=None)
        if due_s is None:
            return False
        self._clock.advance_to(min(due_s, limit_s + 1e-6))
        start_cpu_ns, start_ns = time.process_time_ns(), time.perf_counter_ns()
        self.scheduler.flush()
        self._busy_ns += time.perf_counter_ns() - start_ns
        self._cpu_ns += time.process_time_ns() - start_cpu_ns
        self._work_outside()
        return True


def _with_node(new: Tree, old: Tree) -> Tree:
    return {**new, "nodeName": old["nodeName"]} if old.get("nodeName") else new

"""A whole control plane in one process: API server, controllers and scheduler on one loop, joined by the API alone."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.base import Clock, Rng
from apportion.client import Transport
from apportion.controllers import (
    DeviceTaintEvictionController,
    GarbageCollector,
    NamespaceController,
    NodeReadinessController,
    NodeTtlController,
    PodGarbageCollector,
    PodGroupProtectionController,
    ResourceClaimController,
    ResourcePoolStatusController,
    WorkQueue,
    make_workload_controllers,
)
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import BlockingCalls, ExtenderCalls, Shell
from apportion.sched.state import ClusterState
from apportion.sim.kubelets import StandInKubelets
from apportion.sim.nudging import Bell, NudgingCalls, NudgingTransport
from apportion.sim.volumes import StandInVolumes

# decisions in a row before the loop may do something else, such as answering a client
DECISIONS_MAX: Final = 64


class Loop(Protocol):
    """What drives the control plane: an asyncio loop, or a test."""

    def call_soon(self, callback: Callable[[], None]) -> object:
        """Call ``callback`` later, in order; may be called from any thread."""
        ...

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> object:
        """Call ``callback`` after a delay in seconds."""
        ...


class Controller(Protocol):
    """Something that watches, and works on one key at a time."""

    queue: WorkQueue[Any]

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the start is known; it does not work before that."""
        ...

    def start(self) -> None:
        """Begin to watch."""
        ...

    def work(self) -> bool:
        """Start the work on one key. False when none is due."""
        ...


class ControlPlane:
    """Scheduler and controllers beside a server. Everything happens in callbacks of ``loop``.

    The scheduler, the controllers and the stand-in kubelets each have a connection of their own, made by
    ``connect``, so that each can be dropped and started again while the others go on.
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        loop: Loop,
        clock: Clock,
        rng: Rng,
        config: SchedulerConfig | None = None,
        gates: FeatureGates | None = None,
        has_kubelets: bool = False,
        has_controllers: bool = True,
        has_scheduler: bool = True,
        extender_calls: ExtenderCalls | None = None,
        perf: Callable[[], float] | None = None,
    ) -> None:
        """``extender_calls`` carries out calls to HTTP extenders; without it everything waits for their answers.

        ``perf`` tells how long things took: with it the scheduler keeps metrics and logs its decisions.
        """
        self._perf = perf
        self._bell = Bell(loop.call_soon, self._work)
        self._extender_calls = NudgingCalls(extender_calls or BlockingCalls(), self._bell)
        self._connect = connect
        self._loop = loop
        self._clock = clock
        self._rng = rng
        self._config = config or SchedulerConfig()
        self._gates = gates or FeatureGates.parse("")
        self._has_controllers = has_controllers
        self._has_scheduler = has_scheduler
        self._starts = 0
        self._alarm_s: float | None = None
        self._transports: dict[str, NudgingTransport] = {}
        self._build_scheduler()
        self._controllers = self._build_controllers()
        self._kubelets = self._build_kubelets() if has_kubelets else []

    def _build_scheduler(self) -> None:
        transport = self._open("scheduler")
        state = ClusterState(Features.from_gates(self._gates.as_dict()))
        rng = self._fork("scheduler")
        self.scheduler: Scheduler = build_scheduler(self._config, state, self._gates, self._clock, rng, perf=self._perf)
        self._shell = Shell(self.scheduler, transport, self._clock, self._extender_calls)

    def _build_controllers(self) -> list[Controller]:
        if not self._has_controllers:
            return []
        transport, clock, rng = self._open("controllers"), self._clock, self._fork("controllers")
        return [
            ResourceClaimController(transport, clock, rng.fork("resourceClaims")),
            *self._build_taint_eviction(transport),
            *([ResourcePoolStatusController(transport, clock)] if self._gates.enabled("DRAResourcePoolStatus") else []),
            NodeReadinessController(transport, clock),
            NodeTtlController(transport, clock),
            PodGroupProtectionController(transport, clock),
            PodGarbageCollector(transport, clock),
            GarbageCollector(transport, clock),
            NamespaceController(transport, clock),
            *make_workload_controllers(transport, clock, rng.fork("workloads")),
        ]

    def _build_kubelets(self) -> list[Controller]:
        transport = self._open("kubelets")
        return [StandInKubelets(transport, self._clock), StandInVolumes(transport, self._clock)]

    def _build_taint_eviction(self, transport: Transport) -> list[Controller]:
        if not self._gates.enabled("DRADeviceTaints"):
            return []
        rng, has_rules = self._fork("deviceTaints"), self._gates.enabled("DRADeviceTaintRules")
        return [DeviceTaintEvictionController(transport, self._clock, rng, has_rules)]

    def _start_scheduler(self) -> None:
        """Let the scheduler watch; one that never does has nothing to do."""
        if self._has_scheduler:
            self._shell.start()

    def _open(self, component: str) -> NudgingTransport:
        self._transports[component] = NudgingTransport(self._connect(), self._bell)
        return self._transports[component]

    def _fork(self, component: str) -> Rng:
        """Return a generator that no earlier life of the component had."""
        self._starts += 1
        return self._rng.fork(f"{component} {self._starts}")

    # ---- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Watch everything and begin."""
        for controller in self._all_controllers():
            controller.start()
        self._start_scheduler()
        self._bell.ring()

    def stop(self) -> None:
        """Hear of nothing any more."""
        self._bell.is_rung = True  # ringing has no effect from here on
        for transport in self._transports.values():
            transport.close()

    def restart_scheduler(self) -> None:
        """Drop the scheduler in the middle of whatever it does, and start one that knows what the API says."""
        self._transports["scheduler"].close()
        self._build_scheduler()
        self._start_scheduler()
        self._bell.ring()

    def restart_controllers(self) -> None:
        """Drop all controllers in the middle of whatever they do, and start new ones."""
        if self._has_controllers:
            self._transports["controllers"].close()
        self._controllers = self._build_controllers()
        for controller in self._controllers:
            controller.start()
        self._bell.ring()

    # ---- work ---------------------------------------------------------------------------------------------

    def next_due_s(self) -> float | None:
        """Return when the next backoff or delay ends, None when only deadlines and periodic looks are left."""
        ready = [c for c in self._all_controllers() if c.has_synced]
        due = [self._shell.next_wakeup_s()]
        if not self.scheduler.is_deciding:
            due += [self.scheduler.queue.next_backoff_s(), self.scheduler.tasks.next_deadline_s()]
        due += [c.queue.next_delay_s() for c in ready]
        return min((t for t in due if t is not None), default=None)

    def list_busy(self) -> list[str]:
        """Return what is waiting for a backoff or a delay to end, one line each."""
        pods = (e for e in self.scheduler.queue.dump() if e["where"] not in ("unschedulable", "gated"))
        lines = [f"pod {e['pod']}: {e['where']} after {e['attempts']} attempts" for e in pods]
        for controller in self._all_controllers():
            lines += [f"{type(controller).__name__}: {key}" for key in controller.queue.list_keys()]
        return lines

    def _all_controllers(self) -> list[Controller]:
        return [*self._controllers, *self._kubelets]

    def _work(self) -> None:
        self._bell.is_rung = False  # first, so that what arrives meanwhile is looked at
        now_s = self._clock.now()
        if self._alarm_s is not None and self._alarm_s <= now_s:
            self._alarm_s = None
            self.scheduler.flush()
        for controller in self._all_controllers():
            while controller.work():
                pass
        busy = self._shell.has_synced and all(self.scheduler.schedule_one() for _ in range(DECISIONS_MAX))
        self._shell.send()
        if busy:
            self._bell.ring()
        else:
            self._set_alarm(now_s)

    def _set_alarm(self, now_s: float) -> None:
        """Wake up when the next backoff ends, a parked pod rested too long or the next failed key is due."""
        ready = (c.queue.next_wakeup_s() for c in self._all_controllers() if c.has_synced)
        due = (self.next_due_s(), self.scheduler.next_wakeup_s(), self._shell.next_periodic_s(), *ready)
        times = [t for t in due if t is not None]
        if times and (self._alarm_s is None or min(times) < self._alarm_s):
            self._alarm_s = min(times)
            self._loop.call_later(max(self._alarm_s - now_s, 0.0), self._bell.ring)

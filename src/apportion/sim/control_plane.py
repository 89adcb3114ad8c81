"""A whole control plane in one process: API server, controllers and scheduler on one loop, joined by the API alone."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.base import Clock, Rng
from apportion.client import OnDone, Request, Response, Transport, WatchSink
from apportion.controllers import (
    GarbageCollector,
    NamespaceController,
    NodeReadinessController,
    ResourceClaimController,
    WorkQueue,
)
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState
from apportion.server import InProcessTransport, Server
from apportion.sim.kubelets import StandInKubelets

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

    def start(self) -> None:
        """Begin to watch."""
        ...

    def work(self) -> bool:
        """Start the work on one key. False when none is due."""
        ...


class _Nudging(Transport):
    """Passes everything on, and tells whenever something arrived."""

    def __init__(self, inner: Transport, nudge: Callable[[], None]) -> None:
        self._inner = inner
        self._nudge = nudge

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Send a request."""

        def done(response: Response) -> None:
            on_done(response)
            self._nudge()

        self._inner.submit(request, done)

    def watch(self, resource: str, sink: WatchSink) -> None:
        """Watch a resource."""

        def arrived(frame: bytes) -> None:
            sink(frame)
            self._nudge()

        self._inner.watch(resource, arrived)


class ControlPlane:
    """Scheduler and controllers beside a server. Everything happens in callbacks of ``loop``."""

    def __init__(
        self,
        server: Server,
        loop: Loop,
        clock: Clock,
        rng: Rng,
        config: SchedulerConfig | None = None,
        gates: FeatureGates | None = None,
        has_kubelets: bool = False,
    ) -> None:
        gates = gates or FeatureGates.parse("")
        self._loop = loop
        self._clock = clock
        self._is_awake = False
        self._alarm_s: float | None = None
        self._api = InProcessTransport(server, loop.call_soon)
        self.transport: Transport = _Nudging(self._api, self.nudge)
        state = ClusterState(Features.from_gates(gates.as_dict()))
        self.scheduler: Scheduler = build_scheduler(config or SchedulerConfig(), state, gates, clock, rng)
        self._shell = Shell(self.scheduler, self.transport, clock)
        self._controllers: list[Controller] = [
            ResourceClaimController(self.transport, clock, rng.fork("resourceClaims")),
            NodeReadinessController(self.transport, clock),
            GarbageCollector(self.transport, clock),
            NamespaceController(self.transport, clock),
        ]
        if has_kubelets:
            self._controllers.append(StandInKubelets(self.transport, clock))

    def start(self) -> None:
        """Watch everything and begin."""
        for controller in self._controllers:
            controller.start()
        self._shell.start()
        self.nudge()

    def stop(self) -> None:
        """Hear of nothing any more."""
        self._is_awake = True  # nudges have no effect from here on
        self._api.close()

    def nudge(self) -> None:
        """Have the loop look for work; once is enough, whatever arrives until then."""
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        self._is_awake = False  # first, so that what arrives meanwhile is looked at
        now_s = self._clock.now()
        if self._alarm_s is not None and self._alarm_s <= now_s:
            self._alarm_s = None
            self.scheduler.queue.flush()
        for controller in self._controllers:
            while controller.work():
                pass
        busy = all(self.scheduler.schedule_one() for _ in range(DECISIONS_MAX))
        self._shell.send()
        if busy:
            self.nudge()
        else:
            self._set_alarm(now_s)

    def _set_alarm(self, now_s: float) -> None:
        """Wake up when the next backoff ends or the next failed key is due."""
        due = [self.scheduler.queue.next_wakeup_s(), *(c.queue.next_wakeup_s() for c in self._controllers)]
        times = [t for t in due if t is not None]
        if times and (self._alarm_s is None or min(times) < self._alarm_s):
            self._alarm_s = min(times)
            self._loop.call_later(max(self._alarm_s - now_s, 0.0), self.nudge)

"""The scheduler driven offline until nothing moves: virtual time, objects in memory."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.api.kinds import Tree
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import PluginConfig, PluginRef, SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState
from apportion.sim.outcome import Outcome

Progress = Callable[[int, int], None]
# retries that place nothing: the picture has not changed, so neither will the answers
_FRUITLESS_ROUNDS_MAX: Final = 2
_STORAGE: Final = frozenset({"persistentvolumeclaims", "persistentvolumes", "storageclasses"})
_VOLUME_PLUGINS: Final = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


def _has_claim(resource: str, tree: Tree) -> bool:
    volumes = (tree["spec"].get("volumes") or ()) if resource == "pods" else ()
    return any("persistentVolumeClaim" in v or "ephemeral" in v for v in volumes)


def fit_storage(config: SchedulerConfig, objects: Sequence[tuple[str, Tree]]) -> SchedulerConfig:
    """Switch the volume plugins off when pods have volume claims and the input describes no storage at all.

    Nobody makes and binds claims offline: with the plugins, every pod that has a volume claim would wait for ever.
    """
    if any(resource in _STORAGE for resource, _ in objects) or not any(_has_claim(r, tree) for r, tree in objects):
        return config
    profiles = []
    for profile in config.profiles:
        multi = profile.plugins.multi_point
        disabled = (*multi.disabled, *(PluginRef(name=n) for n in _VOLUME_PLUGINS))
        plugins = replace(profile.plugins, multi_point=replace(multi, disabled=disabled))
        profiles.append(replace(profile, plugins=plugins))
    return replace(config, profiles=tuple(profiles))


def skip_waits(config: SchedulerConfig) -> SchedulerConfig:
    """Have nobody wait for the volume controller, which does not exist offline."""
    profiles = []
    for profile in config.profiles:
        kept = tuple(entry for entry in profile.plugin_config if entry.name != "VolumeBinding")
        args = {**profile.args_of("VolumeBinding"), "bindTimeoutSeconds": 0}
        profiles.append(replace(profile, plugin_config=(*kept, PluginConfig(name="VolumeBinding", args=args))))
    return replace(config, profiles=tuple(profiles))


class Simulation:
    """A cluster made of objects, and a scheduler that places its pending pods."""

    def __init__(
        self,
        objects: Sequence[tuple[str, Tree]],
        config: SchedulerConfig | None = None,
        gates: FeatureGates | None = None,
        seed: int = 0,
    ) -> None:
        """Load ``objects``: (resource, tree) in the order in which the API would show them."""
        gates = gates or FeatureGates.parse("")
        rng = Rng(seed)
        self.clock = VirtualClock()
        self.transport = MemoryTransport()
        state = ClusterState(Features.from_gates(gates.as_dict()))
        # what runs keeps its node here, so nobody is evicted
        self.scheduler: Scheduler = build_scheduler(
            skip_waits(fit_storage(config or SchedulerConfig(), objects)), state, gates, self.clock, rng, preempts=False
        )
        for resource, tree in objects:
            self.transport.put(resource, tree)
        while self.transport.deliver():
            pass  # nobody watches yet
        self._shell = Shell(self.scheduler, self.transport, self.clock)
        self._shell.start()
        self.outcome = Outcome(self.scheduler, self.transport)

    # ---- running ------------------------------------------------------------------------------------------

    def run(self, progress: Progress = lambda done, total: None) -> None:
        """Schedule until nothing moves. Backoffs make virtual time jump; retries that change nothing end it."""
        total = self.scheduler.queue.pending("active") + self.scheduler.queue.pending("backoff")
        fruitless = 0
        while True:
            placed = self.scheduler.attempts["scheduled"]
            self._drain(progress, total)
            fruitless = 0 if self.scheduler.attempts["scheduled"] > placed else fruitless + 1
            wakeup_s = self.scheduler.next_wakeup_s()
            if not self.scheduler.queue.pending("backoff") or wakeup_s is None or fruitless > _FRUITLESS_ROUNDS_MAX:
                return
            self.clock.advance_to(wakeup_s)
            self.scheduler.flush()

    def _drain(self, progress: Progress, total: int) -> None:
        decided = 0
        while True:
            moved = self.scheduler.schedule_one()
            if moved:
                decided += 1
                if decided % 256 == 0:
                    progress(min(decided, total), total)
            self._shell.send()
            while self.transport.deliver():
                moved = True
                self._shell.send()  # a binding goes on before the next pod is decided
            if not moved:
                return

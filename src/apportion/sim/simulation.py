"""The scheduler driven offline until nothing moves: virtual time, objects in memory, results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.api.kinds import Tree
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.explain import NodeScores, judge
from apportion.sched.framework import Status
from apportion.sched.framework.config import PluginRef, SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState, PodInfo

Progress = Callable[[int, int], None]
_ENDED: Final = ("Succeeded", "Failed")
# retries that place nothing: the picture has not changed, so neither will the answers
_FRUITLESS_ROUNDS_MAX: Final = 2
_STORAGE: Final = frozenset({"persistentvolumeclaims", "persistentvolumes", "storageclasses"})
_VOLUME_PLUGINS: Final = ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why some nodes do not take a pod: ``nodes`` sorted by name."""

    nodes: tuple[str, ...]
    plugin: str
    reason: str


@dataclass(slots=True)
class PodResult:
    """Where a pod is, with the devices of each of its claims, or why it is nowhere."""

    namespace: str
    name: str
    node: str = ""
    claims: list[dict[str, Any]] = field(default_factory=list)
    message: str | None = None
    reasons: list[Reason] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON form; a placed pod has no message."""
        result: dict[str, Any] = {"namespace": self.namespace, "name": self.name, "node": self.node or None}
        result["claims"] = self.claims
        if self.message is not None:
            result["message"] = self.message
            result["reasons"] = [{"nodes": list(r.nodes), "plugin": r.plugin, "reason": r.reason} for r in self.reasons]
        return result


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
            fit_storage(config or SchedulerConfig(), objects), state, gates, self.clock, rng, preempts=False
        )
        for resource, tree in objects:
            self.transport.put(resource, tree)
        while self.transport.deliver():
            pass  # nobody watches yet
        self._shell = Shell(self.scheduler, self.transport, self.clock)
        self._shell.start()

    # ---- running ------------------------------------------------------------------------------------------

    def run(self, progress: Progress = lambda done, total: None) -> None:
        """Schedule until nothing moves. Backoffs make virtual time jump; retries that change nothing end it."""
        total = self.scheduler.queue.pending("active") + self.scheduler.queue.pending("backoff")
        fruitless = 0
        while True:
            placed = self.scheduler.attempts["scheduled"]
            self._drain(progress, total)
            fruitless = 0 if self.scheduler.attempts["scheduled"] > placed else fruitless + 1
            wakeup_s = self.scheduler.queue.next_wakeup_s()
            if not self.scheduler.queue.pending("backoff") or wakeup_s is None or fruitless > _FRUITLESS_ROUNDS_MAX:
                return
            self.clock.advance_to(wakeup_s)
            self.scheduler.queue.flush()

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

    # ---- results ------------------------------------------------------------------------------------------

    def results(self) -> list[PodResult]:
        """Return every pod that has not ended, by namespace and name; pending ones judged on the final state."""
        claims = {_key(c): c for c in self.transport.trees("resourceclaims")}
        found = [
            self._result(tree, claims)
            for tree in self.transport.trees("pods")
            if tree.get("status", {}).get("phase") not in _ENDED
        ]
        return sorted(found, key=lambda r: (r.namespace, r.name))

    def pending_pods(self) -> list[PodInfo]:
        """Return the pods without a node, by namespace and name."""
        return sorted(self.scheduler_pods(), key=lambda p: (p.namespace, p.name))

    def scheduler_pods(self) -> list[PodInfo]:
        """Return the pods without a node that a profile is responsible for."""
        read = self.scheduler.state.reader.read_tree
        trees = (t for t in self.transport.trees("pods") if not t["spec"].get("nodeName"))
        pods = (read(t) for t in trees)
        return [p for p in pods if not p.is_terminal and p.scheduler_name in self.scheduler.profiles]

    def _result(self, tree: Tree, claims: dict[str, Tree]) -> PodResult:
        meta = tree["metadata"]
        result = PodResult(meta.get("namespace", ""), meta["name"], tree["spec"].get("nodeName", ""))
        result.claims = _claims_of(tree, claims)
        if not result.node:
            self._explain(result, tree)
        return result

    def _explain(self, result: PodResult, tree: Tree) -> None:
        pod = self.scheduler.state.reader.read_tree(tree)
        nodes = self.scheduler.state.nodes
        everywhere = tuple(sorted(nodes.name(row) for row in range(nodes.rows) if nodes.valid[row]))
        profile = self.scheduler.profiles.get(pod.scheduler_name)
        if profile is None:
            result.message = f"no profile is called {pod.scheduler_name!r} (spec.schedulerName); add one with --config"
            result.reasons = [Reason(everywhere, "", result.message)]
            return
        gate = profile.pre_enqueue(pod)
        if gate is not None and gate.plugin == "SchedulingGates":
            result.message = "Scheduling is blocked due to non-empty scheduling gates"
            result.reasons = [Reason(everywhere, gate.plugin, gate.message)]
            return
        try:
            judgement = judge(self.scheduler, pod)
        except Exception as fault:  # a plugin's fault is told of this pod; the others are not affected
            result.message = f"{type(fault).__name__}: {fault}"
            result.reasons = [Reason(everywhere, "", result.message)]
            return
        result.message = judgement.message or _last_message(tree)
        if judgement.pre_filter is not None:
            rejected = judgement.pre_filter
            result.reasons = [Reason(everywhere, rejected.plugin, rejected.message)]
        else:
            result.reasons = _group(judgement.nodes)


def _group(nodes: dict[str, Status | NodeScores]) -> list[Reason]:
    """Put nodes with the same rejection together, the most frequent first."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, found in nodes.items():
        key = (found.plugin, found.message) if isinstance(found, Status) else ("", "fits")
        groups.setdefault(key, []).append(name)
    ordered = sorted(groups.items(), key=lambda g: (-len(g[1]), g[0]))
    return [Reason(tuple(sorted(names)), plugin, reason) for (plugin, reason), names in ordered]


def _last_message(tree: Tree) -> str:
    conditions = tree.get("status", {}).get("conditions", ())
    return next((c.get("message", "") for c in conditions if c.get("type") == "PodScheduled"), "not tried yet")


def _key(tree: Tree) -> str:
    return f"{tree['metadata'].get('namespace', '')}/{tree['metadata']['name']}"


def _claims_of(pod: Tree, claims: dict[str, Tree]) -> list[dict[str, Any]]:
    """Return the claims of a pod in spec order, with their devices; a claim that does not exist has none."""
    generated = {s["name"]: s.get("resourceClaimName") for s in pod.get("status", {}).get("resourceClaimStatuses", ())}
    found = []
    for entry in pod["spec"].get("resourceClaims", ()):
        name = entry.get("resourceClaimName") or generated.get(entry["name"])
        if name is None:
            continue
        claim = claims.get(f"{pod['metadata'].get('namespace', '')}/{name}", {})
        allocation = claim.get("status", {}).get("allocation") or {}
        results = allocation.get("devices", {}).get("results", ())
        found.append({"name": name, "devices": [_device(r) for r in results]})
    return found


def _device(result: Tree) -> dict[str, Any]:
    return {
        "request": result["request"],
        "driver": result["driver"],
        "pool": result["pool"],
        "device": result["device"],
        "shareID": result.get("shareID"),
        "consumedCapacity": result.get("consumedCapacity"),
        "adminAccess": bool(result.get("adminAccess", False)),
    }


def total_up(simulation: Simulation, results: Sequence[PodResult]) -> dict[str, Any]:
    """Return pods placed and pending, and per driver the devices used, free and tainted."""
    placed = sum(1 for r in results if r.node)
    drivers = [
        {"driver": t.driver, "devices": t.devices, "used": t.used, "free": t.free, "tainted": t.tainted}
        for t in simulation.scheduler.state.devices.totals()
    ]
    return {
        "nodes": simulation.scheduler.state.nodes.count,
        "pods": {"placed": placed, "pending": len(results) - placed},
        "drivers": drivers,
    }

"""What came of it: where each pod is with its devices, or why it is nowhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from apportion.api.kinds import Tree
from apportion.sched.cycle import Scheduler
from apportion.sched.explain import NodeScores, judge
from apportion.sched.framework import Status
from apportion.sched.state import PodInfo

_ENDED: Final = ("Succeeded", "Failed")


class Objects(Protocol):
    """Where the objects are read: a set in memory, or an API."""

    def trees(self, resource: str) -> Iterable[Tree]:
        """Yield the objects of a resource (plural)."""
        ...

    def find(self, resource: str, namespace: str, name: str) -> Tree | None:
        """Return one object."""
        ...


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
    phase: str = "Pending"
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """A scheduler and the objects that it worked on."""

    scheduler: Scheduler
    objects: Objects

    def results(self) -> list[PodResult]:
        """Return every pod that has not ended, by namespace and name; pending ones judged on the final state."""
        claims = {_key(c): c for c in self.objects.trees("resourceclaims")}
        found = [
            self._result(tree, claims)
            for tree in self.objects.trees("pods")
            if tree.get("status", {}).get("phase") not in _ENDED
        ]
        return sorted(found, key=lambda r: (r.namespace, r.name))

    def pending_pods(self) -> list[PodInfo]:
        """Return the pods without a node that a profile is responsible for, by namespace and name."""
        read = self.scheduler.state.reader.read_tree
        pods = (read(t) for t in self.objects.trees("pods") if not t["spec"].get("nodeName"))
        ours = (p for p in pods if not p.is_terminal and p.scheduler_name in self.scheduler.profiles)
        return sorted(ours, key=lambda p: (p.namespace, p.name))

    def totals(self, results: Sequence[PodResult]) -> dict[str, Any]:
        """Return pods placed and pending, and per driver the devices used, free and tainted."""
        placed = sum(1 for r in results if r.node)
        state = self.scheduler.state
        drivers = [
            {"driver": t.driver, "devices": t.devices, "used": t.used, "free": t.free, "tainted": t.tainted}
            for t in state.devices.totals()
        ]
        return {
            "nodes": state.nodes.count,
            "pods": {"placed": placed, "pending": len(results) - placed},
            "drivers": drivers,
        }

    def _result(self, tree: Tree, claims: dict[str, Tree]) -> PodResult:
        meta = tree["metadata"]
        result = PodResult(meta.get("namespace", ""), meta["name"], tree["spec"].get("nodeName", ""))
        result.phase = tree.get("status", {}).get("phase", "Pending")
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
        expected = self.scheduler.state.assumed.get(pod.uid)
        if expected is not None:
            node = nodes.name(expected.row)
            result.message = f"expected on {node}: waits for binding conditions of its devices, which a driver reports"
            result.reasons = [Reason((node,), "", "waits")]
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

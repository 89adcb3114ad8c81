"""Says for each PodDisruptionBudget how many of its pods may go. Behaviour: pkg/controller/disruption upstream."""

import math
from typing import Any, Final

import orjson

from apportion.api import Tree
from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task
from apportion.controllers.controller import Controller
from apportion.controllers.informers import Informers
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.steps import make_merge_patch
from apportion.controllers.times import format_time, parse_time
from apportion.controllers.workload_objects import Pod, Workload

_BUDGETS: Final = "poddisruptionbudgets"
# kind of a pod's controller -> resource that says how many pods there should be
_SCALED: Final = {
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "ReplicationController": "replicationcontrollers",
    "Deployment": "deployments",
}
# How long a pod that was evicted counts as gone although nobody has deleted it.
_EVICTION_S: Final = 120.0


class DisruptionController(Controller[str]):
    """Works on ``namespace/name`` of budgets."""

    def __init__(self, informers: Informers, clock: Clock) -> None:
        super().__init__(informers.transport, clock)
        self._clock = clock
        self._informers = informers
        self._pods: ObjectCache[Pod] = informers.pods
        self._budgets = informers.get(_BUDGETS)
        self._owners = {kind: informers.get(resource) for kind, resource in _SCALED.items()}
        self._pods.listen(self._on_pod)
        self._budgets.listen(self._on_budget)
        for cache in self._owners.values():
            cache.listen(self._on_owner)

    def start(self) -> None:
        """Watch."""
        for cache in (self._budgets, *self._owners.values()):
            cache.start()
        self._pods.start()

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the start is known."""
        return self._informers.transport.has_synced

    # ---- what the API says --------------------------------------------------------------------------------

    def _on_budget(self, old: Workload | None, new: Workload | None) -> None:
        if new is not None:
            self.queue.add(new.key)

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        states = [pod for pod in (old, new) if pod is not None]
        for budget in self._budgets.in_namespace(states[0].metadata.namespace):
            if any(budget.matcher.matches(pod.labels) for pod in states):
                self.queue.add(budget.key)

    def _on_owner(self, old: Workload | None, new: Workload | None) -> None:
        if old is None or new is None or old.replicas != new.replicas:
            known = new or old
            assert known is not None
            for budget in self._budgets.in_namespace(known.namespace):
                self.queue.add(budget.key)

    # ---- the work -----------------------------------------------------------------------------------------

    def _sync(self, key: str) -> Task:
        budget = self._budgets.objects.get(key)
        if budget is None or budget.is_deleted:
            return None
        patch = make_merge_patch(budget.status, self._describe(budget))
        if not patch:
            return None
        meta = budget.metadata
        body = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version}, "status": patch}
        response = yield Request(
            "patch", _BUDGETS, meta.namespace, meta.name, orjson.dumps(body), "status", MERGE_PATCH
        )
        # who was faster is told by the watch, and brings the key again
        return None if response.code < 300 or response.code in (404, 409) else response.message or "refused"

    def _describe(self, budget: Workload) -> Tree:
        """Return the status that a budget should have."""
        pods = [p for p in self._pods.in_namespace(budget.namespace) if budget.matcher.matches(p.labels)]
        gone = self._keep_disrupted(budget, {p.name: p for p in pods})
        healthy = sum(1 for p in pods if p.is_ready and not p.is_deleted and p.name not in gone)
        expected, wanted, problem = self._count(budget, pods)
        allowed = max(healthy - wanted, 0) if expected > 0 and not problem else 0
        status = {
            **{k: v for k, v in budget.status.items() if k != "disruptedPods"},
            "observedGeneration": budget.tree["metadata"].get("generation", 0),
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": expected,
            "disruptionsAllowed": allowed,
            "conditions": self._set_condition(budget, allowed, problem),
        }
        return {**status, "disruptedPods": gone} if gone else status

    def _keep_disrupted(self, budget: Workload, pods: dict[str, Pod]) -> dict[str, str]:
        """Return the evicted pods that nobody has seen go yet; the budget is looked at again when one is overdue."""
        kept = {}
        for name, time in (budget.status.get("disruptedPods") or {}).items():
            left_s = parse_time(time) + _EVICTION_S - self._clock.now()
            if name in pods and not pods[name].is_deleted and left_s > 0:
                kept[name] = time
                self.queue.add_after(budget.key, left_s)
        return kept

    def _count(self, budget: Workload, pods: list[Pod]) -> tuple[int, int, str]:
        """Return how many pods there should be, how many of them healthy, and what hinders the counting."""
        least, most_gone = budget.spec.get("minAvailable"), budget.spec.get("maxUnavailable")
        if isinstance(least, int):
            return len(pods), least, ""
        expected, problem = self._get_scale(pods)
        if least is not None:
            return expected, _resolve(least, expected), problem
        return expected, max(expected - _resolve(most_gone, expected), 0) if most_gone is not None else 0, problem

    def _get_scale(self, pods: list[Pod]) -> tuple[int, str]:
        """Return the sum of the sizes of the pods' controllers; pods without one do not count."""
        sizes: dict[str, int] = {}
        for pod in pods:
            owner = pod.metadata.controller
            if owner is None or owner.uid in sizes:
                continue
            found = self._find_owner(owner, pod.metadata.namespace)
            if found is None:
                return 0, f'found no controllers for pod "{pod.name}"'
            sizes[found.uid] = sizes[owner.uid] = 0  # a deployment's size counts once, whatever its sets
            sizes[found.uid] = found.replicas
        return sum(sizes.values()), ""

    def _find_owner(self, reference: Any, namespace: str) -> Workload | None:
        """Return the workload that a pod's controller belongs to: the deployment, if its replica set has one."""
        cache = self._owners.get(reference.kind)
        found = None if cache is None else cache.find(namespace, reference.name)
        if found is None or found.uid != reference.uid:
            return None
        above = found.metadata.controller
        return (self._find_owner(above, namespace) if above is not None else None) or found

    def _set_condition(self, budget: Workload, allowed: int, problem: str) -> list[Tree]:
        status, reason = ("True", "SufficientPods") if allowed > 0 else ("False", "InsufficientPods")
        condition = {
            "type": "DisruptionAllowed",
            "status": status,
            "observedGeneration": budget.tree["metadata"].get("generation", 0),
            "lastTransitionTime": format_time(self._clock.now()),
            "reason": "SyncFailed" if problem else reason,
            "message": problem,
        }
        known = budget.status.get("conditions") or []
        before = next((c for c in known if c["type"] == condition["type"]), None)
        if before is not None and before["status"] == status:
            condition["lastTransitionTime"] = before["lastTransitionTime"]
        return [*(c for c in known if c is not before), condition]


def _resolve(amount: int | str, total: int) -> int:
    """Return an amount, or a share of a total; shares are rounded up."""
    return amount if isinstance(amount, int) else math.ceil(int(amount.removesuffix("%")) * total / 100)

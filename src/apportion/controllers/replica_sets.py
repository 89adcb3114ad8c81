"""ReplicaSets and ReplicationControllers: as many pods of a template as they ask for.

Behaviour: pkg/controller/replicaset upstream.
"""

from typing import ClassVar

from apportion.api import Tree
from apportion.controllers.conditions import find_condition
from apportion.controllers.object_cache import Item
from apportion.controllers.pod_ranking import choose_pods_to_delete
from apportion.controllers.steps import Refused, Steps
from apportion.controllers.times import format_time
from apportion.controllers.workload_controller import BURST_MAX, WorkloadController
from apportion.controllers.workload_objects import Pod, Workload


class ReplicaSetController(WorkloadController):
    """Watches ReplicaSets and pods. Work per event is proportional to the pods of one ReplicaSet."""

    kind: ClassVar[str] = "ReplicaSet"
    resource: ClassVar[str] = "replicasets"
    component: ClassVar[str] = "replicaset-controller"

    def _may_adopt(self, owner: Workload, item: Item) -> bool:
        return isinstance(item, Pod) and item.is_active

    def _reconcile(self, owner: Workload) -> Steps[None]:
        pods = yield from self._claim_pods(owner)
        refusal = None
        if not owner.is_deleted:
            active = [p for p in pods if p.is_active]
            try:
                yield from self._manage(owner, active)
            except Refused as problem:
                refusal = problem
        difference = len([p for p in pods if p.is_active]) - owner.replicas
        pods = self._list_pods(owner)
        status = self._describe(owner, pods, refusal, difference)
        yield from self._write_status(owner, status)
        self._wake_when_available(owner, [p for p in pods if p.is_active])
        if refusal is not None:
            raise refusal

    def _manage(self, owner: Workload, active: list[Pod]) -> Steps[None]:
        """Create what is missing, one after the other so that the first refusal is the last; delete what is too much.

        Upstream's batches of 1, 2, 4 ... serve the same end: a quota is not asked a thousand times.
        """
        difference = len(active) - owner.replicas
        if abs(difference) > BURST_MAX:
            self.queue.add(owner.key)  # the rest at the next look
        for _ in range(min(-difference, BURST_MAX)):
            yield from self._pod_control.create(owner, owner.spec.get("template") or {})
        if difference > 0:
            count = min(difference, BURST_MAX)
            related = self._find_related(owner)
            for pod in choose_pods_to_delete(active, related, count, self._clock.now()):
                yield from self._pod_control.delete(owner, pod)

    def _find_related(self, owner: Workload) -> list[Pod]:
        """Return the pods of all that share this one's controller: the replica sets of one deployment."""
        controller = owner.metadata.controller
        siblings = [owner] if controller is None else self._owners.owned_by(controller.uid)
        return [p for sibling in siblings for p in self._pods.owned_by(sibling.uid)]

    # ---- status -------------------------------------------------------------------------------------------

    def _describe(self, owner: Workload, pods: list[Pod], refusal: Refused | None, difference: int) -> Tree:
        now_s, min_ready_s = self._clock.now(), owner.min_ready_s
        active = [p for p in pods if p.is_active]
        wanted = ((owner.spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        available = [p for p in active if p.is_available(min_ready_s, now_s)]
        status: Tree = {
            "replicas": len(active),
            "fullyLabeledReplicas": len([p for p in active if wanted.items() <= p.labels.items()]) or None,
            "readyReplicas": len([p for p in active if p.is_ready]) or None,
            "availableReplicas": len(available) or None,
            "observedGeneration": owner.metadata.generation,
            "conditions": self._describe_failure(owner, refusal, difference) or None,
        }
        if self.kind == "ReplicaSet":
            status["terminatingReplicas"] = len([p for p in pods if p.is_terminating])
        return status

    def _describe_failure(self, owner: Workload, refusal: Refused | None, difference: int) -> list[Tree]:
        conditions: list[Tree] = owner.status.get("conditions") or []
        known = find_condition(conditions, "ReplicaFailure")
        if refusal is None:
            return [c for c in conditions if c is not known]
        if known is not None:
            return conditions
        made = {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": format_time(self._clock.now()),
            "reason": "FailedCreate" if difference < 0 else "FailedDelete",
            "message": str(refusal),
        }
        return [*conditions, made]


class ReplicationControllerController(ReplicaSetController):
    """The same for the older kind, whose selector is a plain map."""

    kind: ClassVar[str] = "ReplicationController"
    resource: ClassVar[str] = "replicationcontrollers"
    component: ClassVar[str] = "replication-controller"

"""One look at a StatefulSet: its pods by ordinal, what an update may delete, and the status.

Source: pkg/controller/statefulset/stateful_set_control.go.
"""

from apportion.api import Tree
from apportion.controllers.revisions import REVISION_HASH
from apportion.controllers.rollout_amounts import scale_amount
from apportion.controllers.stateful_pods import find_ordinal, get_range
from apportion.controllers.workload_objects import Pod, Workload


class StatefulLook:
    """A StatefulSet at one moment; ``current`` is the revision that it comes from, ``update`` where it goes."""

    def __init__(self, owner: Workload, pods: list[Pod], current: Workload, update: Workload, now_s: float) -> None:
        self.owner = owner
        self.current = current
        self.update = update
        self.now_s = now_s
        self.wanted = get_range(owner)
        self.is_ordered = owner.spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        self.strategy = (owner.spec.get("updateStrategy") or {}).get("type", "RollingUpdate")
        rolling = (owner.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        self.partition = int(rolling.get("partition") or 0)
        amount = rolling.get("maxUnavailable")
        self.unavailable = max(scale_amount(1 if amount is None else amount, owner.replicas, round_up=True), 1)
        found = {o: p for p in pods if (o := find_ordinal(owner, p)) is not None}
        self.pods = dict(sorted(found.items()))
        self.condemned = [(o, p) for o, p in reversed(self.pods.items()) if o not in self.wanted]

    def is_available(self, pod: Pod | None) -> bool:
        """Return whether a pod runs and has been ready for long enough."""
        is_running = pod is not None and pod.phase == "Running" and not pod.is_deleted
        return is_running and pod is not None and pod.is_available(self.owner.min_ready_s, self.now_s)

    def find_first_unavailable(self) -> int | None:
        """Return the lowest ordinal whose pod is not available: of those wanted, else of those to go."""
        wanted = (o for o in self.wanted if not self.is_available(self.pods.get(o)))
        condemned = (o for o, p in reversed(self.condemned) if not self.is_available(p))
        return next(wanted, next(condemned, None))

    def choose_revision(self, ordinal: int) -> Workload:
        """Return the revision of which a new pod is made: below the partition the set stays as it was."""
        is_kept = self.strategy == "RollingUpdate" and ordinal < self.wanted.start + self.partition
        return self.current if is_kept else self.update

    def is_updated(self, pod: Pod) -> bool:
        """Return whether a pod has the newest template."""
        return pod.labels.get(REVISION_HASH) == self.update.name

    def choose_outdated(self) -> list[Pod]:
        """Return the old pods that go now, from the highest ordinal down to the partition.

        A healthy pod goes while no more than ``maxUnavailable`` are missing; one that is broken anyway also when
        others are, but not more at a time, so that a new template that does not work stops the update.
        """
        if self.strategy != "RollingUpdate":
            return []
        pods = [self.pods.get(o) for o in self.wanted]
        missing = [p for p in pods if not self.is_available(p)]
        moving = [p for p in missing if p is None or p.is_deleted or self.is_updated(p)]
        slots, spare = self.unavailable - len(moving), self.unavailable - len(missing)
        chosen: list[Pod] = []
        for pod in reversed(pods[self.partition :]):
            if pod is None or pod.is_deleted or self.is_updated(pod) or len(chosen) >= slots:
                continue
            if self.is_available(pod):
                if spare <= 0:
                    continue
                spare -= 1
            chosen.append(pod)
        return chosen

    def describe(self, collisions: int) -> Tree:
        """Return the status; an update that is through makes its revision the current one."""
        pods = list(self.pods.values())
        ready = [p for p in pods if p.phase == "Running" and p.is_ready]
        live = [p.labels.get(REVISION_HASH) for p in pods if not p.is_deleted]
        updated, current, name = live.count(self.update.name), live.count(self.current.name), self.current.name
        if self.strategy == "RollingUpdate" and updated == len(ready) == len(pods) == len(self.wanted):
            current, name = updated, self.update.name
        return {
            "observedGeneration": self.owner.metadata.generation,
            "replicas": len(pods),
            "readyReplicas": len(ready) or None,
            "availableReplicas": len([p for p in ready if p.is_available(self.owner.min_ready_s, self.now_s)]),
            "currentReplicas": current or None,
            "updatedReplicas": updated or None,
            "currentRevision": name,
            "updateRevision": self.update.name,
            "collisionCount": collisions,
            "conditions": self.owner.status.get("conditions"),
        }

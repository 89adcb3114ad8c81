"""One look at a DaemonSet: which pods to delete and where to make one, and its status.

Source: pkg/controller/daemon/{daemon_controller,update}.go.
"""

from collections.abc import Iterable

from apportion.api import Tree
from apportion.controllers.daemon_nodes import NodeFacts, Placement, find_target, is_updated
from apportion.controllers.revisions import REVISION_HASH
from apportion.controllers.rollout_amounts import scale_amount
from apportion.controllers.workload_objects import DONE, Pod, Workload


class DaemonLook:
    """A DaemonSet at one moment; costs one step for each node and each of its pods."""

    def __init__(
        self,
        owner: Workload,
        placement: Placement,
        nodes: Iterable[NodeFacts],
        pods: list[Pod],
        revision_hash: str,
        now_s: float,
    ) -> None:
        self.owner = owner
        self.revision_hash = revision_hash
        self.now_s = now_s
        self.places = {facts.name: placement.judge(facts) for facts in nodes}
        self.pods: dict[str, list[Pod]] = {}
        for pod in pods:
            target = find_target(pod)
            if target is not None and not (pod.is_deleted and pod.phase in DONE):
                self.pods.setdefault(target, []).append(pod)
        for group in self.pods.values():
            group.sort(key=_get_rank)
        self._count_limits()

    def _count_limits(self) -> None:
        rolling = (self.owner.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
        desired = sum(should for should, _ in self.places.values())
        self.surge = scale_amount(rolling.get("maxSurge"), desired, round_up=True)
        self.unavailable = scale_amount(rolling.get("maxUnavailable"), desired, round_up=True)
        if desired and self.surge == 0 and self.unavailable == 0:
            self.unavailable = 1

    def is_available(self, pod: Pod) -> bool:
        """Return whether a pod has been ready for long enough."""
        return pod.is_available(self.owner.min_ready_s, self.now_s)

    # ---- one pod on each node -----------------------------------------------------------------------------

    def list_missing(self) -> list[str]:
        """Return the nodes that should have a pod and have none, not even one that terminates."""
        return [name for name, (should, _) in self.places.items() if should and name not in self.pods]

    def list_ended(self) -> list[tuple[str, Pod]]:
        """Return the pods that have finished on nodes where one should run; they stand in the way of the next."""
        places = self.places.items()
        return [(n, p) for n, (_, may) in places if may for p in self.pods.get(n, ()) if _is_ended(p)]

    def list_surplus(self) -> list[Pod]:
        """Return the pods that should not be where they are, or are too many there."""
        surplus: list[Pod] = []
        for name, (_, may) in self.places.items():
            group = [p for p in self.pods.get(name, ()) if not p.is_deleted]
            if not may:
                surplus += group
            else:
                running = [p for p in group if p.phase not in DONE]
                surplus += running[1:] if self.surge == 0 else self._choose_among(running)
        lost = (p for name, group in self.pods.items() if name not in self.places for p in group)
        return surplus + [p for p in lost if not p.spec.node_name and not p.is_deleted]

    def _choose_among(self, running: list[Pod]) -> list[Pod]:
        """Of several pods on a node keep an old and a new one while the new one gets available."""
        if len(running) <= 1:
            return []
        news = [p for p in running if p.labels.get(REVISION_HASH) == self.revision_hash]
        olds = [p for p in running if p not in news]
        surplus = [*news[1:], *olds[1:]]
        if news and olds and (not olds[0].is_ready or self.is_available(news[0])):
            surplus.append(olds[0])
        return surplus

    # ---- rolling update -----------------------------------------------------------------------------------

    def plan_update(self) -> tuple[list[Pod], list[str]]:
        """Return which old pods go, and where a new one is made beside an old one."""
        return (self._choose_replaced(), []) if self.surge == 0 else self._choose_surged()

    def _choose_replaced(self) -> list[Pod]:
        missing = 0
        broken: list[Pod] = []
        candidates: list[Pod] = []
        for name in self.places:
            if name not in self.pods:
                continue
            old, new, is_clear = self._find_pair(name)
            if not is_clear or (old is None) == (new is None):
                missing += 1  # being made, being replaced or to be cleaned up
            elif new is not None:
                missing += not self.is_available(new)
            elif old is not None and not self.is_available(old):
                broken.append(old)
                missing += 1
            elif old is not None:
                candidates.append(old)
        return broken + candidates[: max(self.unavailable - missing, 0)]

    def _choose_surged(self) -> tuple[list[Pod], list[str]]:
        surged = 0
        replaced: list[Pod] = []
        broken: list[str] = []
        candidates: list[str] = []
        for name, (should, _) in self.places.items():
            old, new, is_clear = self._find_pair(name)
            if not is_clear:
                surged += name in self.pods
            elif old is not None and new is None and should:
                (candidates if self.is_available(old) else broken).append(name)
            elif old is not None and new is not None:
                if self.is_available(new):
                    replaced.append(old)
                else:
                    surged += 1
        return replaced, broken + candidates[: max(self.surge - surged, 0)]

    def _find_pair(self, name: str) -> tuple[Pod | None, Pod | None, bool]:
        """Return the old and the new pod of a node; the last value is False when there are several of a sort."""
        group = [p for p in self.pods.get(name, ()) if not p.is_deleted]
        news = [p for p in group if is_updated(p, self.owner, self.revision_hash)]
        olds = [p for p in group if p not in news]
        is_clear = len(news) <= 1 and len(olds) <= 1
        return next(iter(olds), None), next(iter(news), None), is_clear

    # ---- status -------------------------------------------------------------------------------------------

    def describe(self, collisions: int | None) -> Tree:
        """Return the status."""
        counts = dict.fromkeys(("desired", "current", "misscheduled", "ready", "available", "updated"), 0)
        for name, (should, _) in self.places.items():
            group = self.pods.get(name)
            counts["desired"] += should
            if group and should:
                first = group[0]
                counts["current"] += 1
                counts["ready"] += first.is_ready
                counts["available"] += self.is_available(first)
                counts["updated"] += is_updated(first, self.owner, self.revision_hash)
            elif group:
                counts["misscheduled"] += 1
        return {
            "observedGeneration": self.owner.metadata.generation,
            "desiredNumberScheduled": counts["desired"],
            "currentNumberScheduled": counts["current"],
            "numberMisscheduled": counts["misscheduled"],
            "numberReady": counts["ready"],
            "updatedNumberScheduled": counts["updated"] or None,
            "numberAvailable": counts["available"] or None,
            "numberUnavailable": counts["desired"] - counts["available"] or None,
            "collisionCount": collisions,
            "conditions": self.owner.status.get("conditions"),
        }


def _is_ended(pod: Pod) -> bool:
    return pod.phase in DONE and not pod.is_deleted


def _get_rank(pod: Pod) -> tuple[bool, str, str]:
    """Assigned pods first, then older ones."""
    return not pod.spec.node_name, pod.metadata.creation_timestamp or "", pod.name

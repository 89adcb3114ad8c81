"""One look at a deployment: its replica sets, old and new, and what its status says.

Source: pkg/controller/deployment/{sync,progress}.go and util/deployment_util.go; reasons and messages are upstream's.
"""

from typing import Final

from apportion.api import Tree
from apportion.controllers.conditions import find_condition
from apportion.controllers.rollout_amounts import get_limits, get_strategy
from apportion.controllers.times import format_time, parse_time
from apportion.controllers.workload_objects import Workload

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
LARGEST: Final = "deployment.kubernetes.io/max-replicas"
AVAILABLE, TIMED_OUT = "NewReplicaSetAvailable", "ProgressDeadlineExceeded"
_FOR_EVER: Final = 2147483647


class DeploymentLook:
    """A deployment at one moment; ``conditions`` are what will be written."""

    def __init__(self, owner: Workload, sets: list[Workload], now_s: float) -> None:
        self.owner = owner
        self.now_s = now_s
        self.sets = sorted(sets, key=lambda s: (s.metadata.creation_timestamp or "", s.name))  # oldest first
        self.conditions: list[Tree] = list(owner.status.get("conditions") or [])
        self.collisions: int | None = owner.status.get("collisionCount")
        self.wanted = owner.replicas
        self.surge, self.unavailable = get_limits(owner.spec)
        self.is_rolling = get_strategy(owner.spec) == "RollingUpdate"
        self.is_paused = bool(owner.spec.get("paused"))
        self.template: Tree = owner.spec["template"]
        deadline = owner.spec.get("progressDeadlineSeconds")
        self.deadline_s = None if deadline in (None, _FOR_EVER) else float(deadline)
        plain = strip_hash(self.template)
        self._new = next((s.name for s in self.sets if strip_hash(s.spec["template"]) == plain), None)

    # ---- replica sets -------------------------------------------------------------------------------------

    @property
    def new(self) -> Workload | None:
        """The set with the deployment's template."""
        return next((s for s in self.sets if s.name == self._new), None)

    @property
    def olds(self) -> list[Workload]:
        """The other sets, oldest first."""
        return [s for s in self.sets if s.name != self._new]

    @property
    def largest(self) -> int:
        """The most pods the deployment may have for a moment."""
        return self.wanted + self.surge

    def put(self, changed: Workload) -> None:
        """Take over a set as it is after a write."""
        self.sets = [changed if s.name == changed.name else s for s in self.sets]

    def add_new(self, created: Workload) -> None:
        """Take over the set that was made for the template."""
        self.sets.append(created)
        self._new = created.name

    def get_new_size(self, current: int) -> int:
        """Return to how many pods the new set may grow."""
        if not self.is_rolling:
            return self.wanted
        room = self.largest - count_replicas(self.sets)
        return current if room <= 0 else current + max(min(room, self.wanted - current), 0)

    def is_scaling(self) -> bool:
        """Return whether the deployment was scaled since its sets were."""
        active = [s for s in self.sets if s.replicas > 0]
        known = (s.metadata.annotations.get(DESIRED, "") for s in active)
        return any(text.isdecimal() and int(text) != self.wanted for text in known)

    # ---- status -------------------------------------------------------------------------------------------

    def describe(self) -> Tree:
        """Return the status, conditions as they are."""
        new = [self.new] if self.new is not None else []
        available = _sum(self.sets, "availableReplicas")
        name, reason, text = "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
        if available >= self.wanted - self.unavailable:
            name, reason, text = "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
        self.set_condition("Available", name, reason, text)
        return {
            "observedGeneration": self.owner.metadata.generation,
            "replicas": _sum(self.sets, "replicas") or None,
            "updatedReplicas": _sum(new, "replicas") or None,
            "readyReplicas": _sum(self.sets, "readyReplicas") or None,
            "availableReplicas": available or None,
            "unavailableReplicas": max(count_replicas(self.sets) - available, 0) or None,
            "terminatingReplicas": _sum(self.sets, "terminatingReplicas"),
            "collisionCount": self.collisions,
            "conditions": self.conditions or None,
        }

    def is_complete(self, status: Tree) -> bool:
        """Return whether a status says that all pods are new and available."""
        names = ("updatedReplicas", "replicas", "availableReplicas")
        is_seen = int(status.get("observedGeneration") or 0) >= self.owner.metadata.generation
        return is_seen and all(int(status.get(n) or 0) == self.wanted for n in names)

    def judge_progress(self, status: Tree) -> None:
        """Set the Progressing and ReplicaFailure conditions by what changed since the last status."""
        known = find_condition(self.conditions, "Progressing")
        if self.deadline_s is None:
            self.conditions = [c for c in self.conditions if c is not known]
        elif not (_count(status, "replicas") == _count(status, "updatedReplicas") and _is_reason(known, AVAILABLE)):
            self._judge_rollout(status, known)
        failures = [find_condition(s.status.get("conditions") or [], "ReplicaFailure") for s in self._newest_first()]
        found = next((f for f in failures if f is not None), None)
        if found is not None:
            self.set_condition("ReplicaFailure", found["status"], found["reason"], found["message"])
        else:
            self.conditions = [c for c in self.conditions if c["type"] != "ReplicaFailure"]
        status["conditions"] = self.conditions or None

    def _judge_rollout(self, status: Tree, known: Tree | None) -> None:
        what = f'Deployment "{self.owner.name}"' if self.new is None else f'ReplicaSet "{self.new.name}"'
        if self.is_complete(status):
            self.set_condition("Progressing", "True", AVAILABLE, f"{what} has successfully progressed.")
        elif self._has_progressed(status):
            since = known["lastTransitionTime"] if known is not None and known["status"] == "True" else None
            self.conditions = [c for c in self.conditions if c is not known]  # its time of update has to move
            self.set_condition("Progressing", "True", "ReplicaSetUpdated", f"{what} is progressing.", since)
        elif self._has_timed_out():
            self.set_condition("Progressing", "False", TIMED_OUT, f"{what} has timed out progressing.")

    def _has_progressed(self, status: Tree) -> bool:
        old = self.owner.status
        more = any(_count(status, n) > _count(old, n) for n in _GROWING)
        left, left_before = (_count(s, "replicas") - _count(s, "updatedReplicas") for s in (status, old))
        return more or left < left_before

    def _has_timed_out(self) -> bool:
        left = self.get_deadline_s()
        known = find_condition(self.conditions, "Progressing")
        return _is_reason(known, TIMED_OUT) or (left is not None and left < 0)

    def get_deadline_s(self) -> float | None:
        """Return in how many seconds the rollout counts as stuck; None when nothing is awaited."""
        known = find_condition(self.conditions, "Progressing")
        if self.deadline_s is None or known is None or known["reason"] in (AVAILABLE, TIMED_OUT):
            return None
        return parse_time(known["lastUpdateTime"]) + self.deadline_s - self.now_s

    def _newest_first(self) -> list[Workload]:
        return [*([self.new] if self.new is not None else []), *self.olds]

    # ---- conditions ---------------------------------------------------------------------------------------

    def note_pause(self) -> None:
        """Say that the deployment is paused, or is not any more; a rollout that got stuck stays so."""
        known = find_condition(self.conditions, "Progressing")
        if self.deadline_s is None or _is_reason(known, TIMED_OUT):
            return
        was_paused = _is_reason(known, "DeploymentPaused")
        if self.is_paused and not was_paused:
            self.set_condition("Progressing", "Unknown", "DeploymentPaused", "Deployment is paused")
        elif was_paused and not self.is_paused:
            self.set_condition("Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed")

    def set_condition(self, name: str, status: str, reason: str, message: str, since: str | None = None) -> None:
        """Change a condition unless status and reason are the same."""
        known = find_condition(self.conditions, name)
        if known is not None and known["status"] == status and known["reason"] == reason:
            return
        now = format_time(self.now_s)
        if known is not None and known["status"] == status:
            since = known["lastTransitionTime"]
        made = {"type": name, "status": status, "lastUpdateTime": now, "lastTransitionTime": since or now}
        others = [c for c in self.conditions if c is not known]
        self.conditions = [*others, {**made, "reason": reason, "message": message}]


_GROWING: Final = ("updatedReplicas", "readyReplicas", "availableReplicas")


def strip_hash(template: Tree) -> Tree:
    """Return a template without the label that tells sets apart."""
    meta = template.get("metadata") or {}
    labels = {k: v for k, v in (meta.get("labels") or {}).items() if k != HASH_LABEL}
    kept = {k: v for k, v in meta.items() if v is not None and k != "labels"}
    return {**template, "metadata": {**kept, "labels": labels}}


def count_replicas(sets: list[Workload]) -> int:
    """Return how many pods the sets ask for together."""
    return sum(s.replicas for s in sets)


def get_revision(item: Workload) -> int:
    """Return the revision in an object's annotations, 0 when there is none."""
    text = item.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def _sum(sets: list[Workload], field: str) -> int:
    return sum(s.count(field) for s in sets)


def _count(status: Tree, field: str) -> int:
    return int(status.get(field) or 0)


def _is_reason(condition: Tree | None, reason: str) -> bool:
    return condition is not None and condition.get("reason") == reason

"""Deployments: a new replica set for every new template, and pods that move from the old ones to it.

Behaviour: pkg/controller/deployment upstream.
"""

from typing import ClassVar, Final

from apportion.api import Tree
from apportion.base import Clock, Rng
from apportion.controllers.deployment_look import LARGEST, REVISION, DeploymentLook, count_replicas, get_revision
from apportion.controllers.deployment_sets import SETS, NameTakenError, SetControl, get_new_name
from apportion.controllers.informers import Informers
from apportion.controllers.rollout_amounts import get_share
from apportion.controllers.steps import Refused, Steps
from apportion.controllers.workload_controller import WorkloadController
from apportion.controllers.workload_objects import Pod, Workload

_DONE: Final = ("Succeeded", "Failed")


class DeploymentController(WorkloadController):
    """Watches Deployments, ReplicaSets and deletions of pods. Work per event: the sets of one deployment."""

    kind: ClassVar[str] = "Deployment"
    resource: ClassVar[str] = "deployments"
    component: ClassVar[str] = "deployment-controller"

    def __init__(self, informers: Informers, clock: Clock, rng: Rng) -> None:
        self._sets = informers.get(SETS)
        super().__init__(informers, clock, rng)
        self._control = SetControl(self._sets, self._recorder)

    def _listen(self) -> None:
        self._sets.listen(self._on_dependent)
        self._pods.listen(self._on_pod)

    def start(self) -> None:
        """Watch."""
        self._sets.start()
        super().start()

    def _on_pod(self, old: Pod | None, new: Pod | None) -> None:
        """A pod that is gone lets a deployment that recreates its pods go on."""
        owner = old.metadata.controller if old is not None and new is None else None
        if old is None or owner is None or owner.kind != "ReplicaSet":
            return
        found = self._sets.find(old.metadata.namespace, owner.name)
        deployment = found.metadata.controller if found is not None and found.uid == owner.uid else None
        if deployment is not None:
            self._wake_owner(old.metadata, deployment)

    # ---- one deployment -----------------------------------------------------------------------------------

    def _reconcile(self, owner: Workload) -> Steps[None]:
        if owner.matcher.key == ():
            text = "This deployment is selecting all pods. A non-empty selector is required."
            yield from self._recorder.record(owner, "Warning", "SelectingAll", text)
            return
        sets = yield from self._claim(owner, self._sets)
        look = DeploymentLook(owner, sets, self._clock.now())
        if owner.is_deleted:
            yield from self._write_status(owner, look.describe())
            return
        look.note_pause()
        if look.is_paused or look.is_scaling():
            yield from self._sync_size(look)
        elif look.is_rolling:
            yield from self._roll(look)
        else:
            yield from self._recreate(look)

    def _prepare(self, look: DeploymentLook, create: bool) -> Steps[None]:
        """Bring the new set and the revisions up to date; make the new set when there is none, if asked to."""
        revision = max((get_revision(s) for s in look.olds), default=0) + 1
        is_new = look.new is None
        if not is_new:
            yield from self._control.update_new(look, revision)
        elif create:
            yield from self._create(look, revision)
        new = look.new
        if new is None:
            return
        shown = new.metadata.annotations.get(REVISION, "")
        if look.owner.metadata.annotations.get(REVISION) != shown:
            # through the status door, where a change of annotations does not count as one of the spec
            body = {"metadata": {"annotations": {REVISION: shown}}}
            look.owner = yield from self._patch(look.owner, body, "status")
        if look.deadline_s is not None and is_new:
            text = f'Created new replica set "{new.name}"'
            look.set_condition("Progressing", "True", "NewReplicaSetCreated", text)
        elif look.deadline_s is not None and not any(c["type"] == "Progressing" for c in look.conditions):
            look.set_condition("Progressing", "True", "FoundNewReplicaSet", f'Found new replica set "{new.name}"')

    def _create(self, look: DeploymentLook, revision: int) -> Steps[None]:
        try:
            yield from self._control.create_new(look, revision)
        except NameTakenError:
            yield from self._patch(look.owner, {"status": {"collisionCount": (look.collisions or 0) + 1}}, "status")
            raise
        except Refused as refusal:
            if not refusal.is_namespace_ending:
                text = f'Failed to create new replica set "{get_new_name(look)}": {refusal}'
                if look.deadline_s is not None:
                    look.set_condition("Progressing", "False", "ReplicaSetCreateError", text)
                    yield from self._write_status(look.owner, {**look.owner.status, "conditions": look.conditions})
                yield from self._recorder.record(look.owner, "Warning", "ReplicaSetCreateError", text)
            raise

    # ---- scaling ------------------------------------------------------------------------------------------

    def _sync_size(self, look: DeploymentLook) -> Steps[None]:
        """Give every set its part of the deployment's size; no pod moves from one set to another."""
        yield from self._prepare(look, create=False)
        yield from self._scale(look)
        if look.is_paused:
            yield from self._control.clean_up(look)
        yield from self._write_status(look.owner, look.describe())

    def _scale(self, look: DeploymentLook) -> Steps[None]:
        only = _find_only_set(look)
        if only is not None:
            yield from self._control.scale(look, only, look.wanted)
        elif _is_saturated(look):
            for old in look.olds:
                if old.replicas:
                    yield from self._control.scale(look, old, 0)
        elif look.is_rolling:
            for target, size in _share_out(look):
                yield from self._control.scale(look, target, size)

    # ---- rolling update -----------------------------------------------------------------------------------

    def _roll(self, look: DeploymentLook) -> Steps[None]:
        yield from self._prepare(look, create=True)
        changed = (yield from self._grow(look)) or (yield from self._shrink(look))
        if not changed and look.is_complete(look.owner.status):
            yield from self._control.clean_up(look)
        yield from self._tell(look)

    def _grow(self, look: DeploymentLook) -> Steps[bool]:
        new = look.new
        assert new is not None
        size = look.wanted if new.replicas > look.wanted else look.get_new_size(new.replicas)
        return (yield from self._control.scale(look, new, size)) if size != new.replicas else False

    def _shrink(self, look: DeploymentLook) -> Steps[bool]:
        """Take pods from the old sets: first those that are not available anyway, then what may be missing."""
        new = look.new
        assert new is not None
        least = look.wanted - look.unavailable
        waiting = new.replicas - new.count("availableReplicas")
        room = count_replicas(look.sets) - least - waiting
        changed = False
        for old in look.olds:
            broken = min(room, old.replicas - old.count("availableReplicas"))
            if broken > 0:
                changed |= yield from self._control.scale(look, old, old.replicas - broken)
                room -= broken
        spare = min(room, sum(s.count("availableReplicas") for s in look.sets) - least)
        for old in look.olds:
            if spare > 0 and old.replicas > 0:
                count = min(spare, old.replicas)
                changed |= yield from self._control.scale(look, old, old.replicas - count)
                spare -= count
        return changed

    # ---- recreate -----------------------------------------------------------------------------------------

    def _recreate(self, look: DeploymentLook) -> Steps[None]:
        yield from self._prepare(look, create=False)
        changed = False
        for old in look.olds:
            if old.replicas:
                changed |= yield from self._control.scale(look, old, 0)
        if not changed and not self._has_old_pods(look):
            if look.new is None:
                yield from self._prepare(look, create=True)
            assert look.new is not None
            yield from self._control.scale(look, look.new, look.wanted)
            if look.is_complete(look.owner.status):
                yield from self._control.clean_up(look)
        yield from self._tell(look)

    def _has_old_pods(self, look: DeploymentLook) -> bool:
        olds = look.olds
        if any(s.count("replicas") for s in olds):
            return True
        return any(p.phase not in _DONE for s in olds for p in self._pods.owned_by(s.uid))

    # ---- status -------------------------------------------------------------------------------------------

    def _tell(self, look: DeploymentLook) -> Steps[None]:
        """Write the status, and come back when the rollout would count as stuck."""
        status: Tree = look.describe()
        look.judge_progress(status)
        yield from self._write_status(look.owner, status)
        left = look.get_deadline_s()
        if left is not None and not look.is_complete(status):
            self.queue.add_deadline(look.owner.key, max(left, 0.0) + 1)


def _find_only_set(look: DeploymentLook) -> Workload | None:
    """Return the one set with pods, or the latest when none has any."""
    active = [s for s in look.sets if s.replicas > 0]
    if len(active) > 1:
        return None
    if active:
        return active[0]
    return look.new or (look.olds[-1] if look.olds else None)


def _is_saturated(look: DeploymentLook) -> bool:
    new = look.new
    return new is not None and new.replicas == look.wanted == new.count("availableReplicas")


def _share_out(look: DeploymentLook) -> list[tuple[Workload, int]]:
    """Return the sizes of all active sets, each in proportion; the largest takes what rounding leaves."""
    active = [s for s in look.sets if s.replicas > 0]
    allowed = look.largest if look.wanted > 0 else 0
    to_add = allowed - count_replicas(active)
    newest_first = list(reversed(active)) if to_add > 0 else active
    ordered = sorted(newest_first, key=lambda s: -s.replicas)
    sizes, added = [], 0
    for target in ordered:
        text = target.metadata.annotations.get(LARGEST, "")
        before = int(text) if text.isdecimal() and int(text) else look.owner.count("replicas")
        share = get_share(target.replicas, look.wanted, look.largest, before, to_add - added)
        sizes.append(target.replicas + share)
        added += share
    if sizes:
        sizes[0] = max(sizes[0] + to_add - added, 0)
    return list(zip(ordered, sizes, strict=True))

"""StatefulSets: pods with names and volumes that stay. Behaviour: pkg/controller/statefulset upstream."""

from typing import ClassVar, Final

from apportion.base import Clock, Rng
from apportion.controllers.informers import Informers
from apportion.controllers.object_cache import Item
from apportion.controllers.revisions import (
    REVISION_HASH,
    REVISIONS,
    CollisionError,
    RevisionControl,
    sort_revisions,
)
from apportion.controllers.stateful_control import CLAIMS, StatefulControl
from apportion.controllers.stateful_look import StatefulLook
from apportion.controllers.stateful_pods import find_ordinal
from apportion.controllers.steps import Refused, Steps
from apportion.controllers.workload_controller import WorkloadController
from apportion.controllers.workload_objects import DONE, Pod, Workload

_HASH: Final = "controller.kubernetes.io/hash"


class StatefulSetController(WorkloadController):
    """Watches StatefulSets, pods, revisions and volume claims. Work per event: the pods of one set."""

    kind: ClassVar[str] = "StatefulSet"
    resource: ClassVar[str] = "statefulsets"
    component: ClassVar[str] = "statefulset-controller"

    def __init__(self, informers: Informers, clock: Clock, rng: Rng) -> None:
        self._revisions = informers.get(REVISIONS)
        self._claims = informers.get(CLAIMS)
        super().__init__(informers, clock, rng)
        self._revision_control = RevisionControl(self._revisions, _HASH)
        self._control = StatefulControl(self._pods, self._claims, self._recorder)

    def _listen(self) -> None:
        super()._listen()
        self._revisions.listen(self._on_dependent)
        self._claims.listen(self._on_claim)

    def start(self) -> None:
        """Watch."""
        self._revisions.start()
        self._claims.start()
        super().start()

    def _on_claim(self, old: Workload | None, new: Workload | None) -> None:
        """A claim that is gone lets the pod follow whose predecessor had it."""
        if old is not None and new is None:
            for owner in self._owners.in_namespace(old.namespace):
                if owner.matcher.matches(old.metadata.labels):
                    self.queue.add(owner.key)

    def _may_adopt(self, owner: Workload, item: Item) -> bool:
        return not isinstance(item, Pod) or find_ordinal(owner, item) is not None

    # ---- one stateful set ---------------------------------------------------------------------------------

    def _reconcile(self, owner: Workload) -> Steps[None]:
        known = sort_revisions((yield from self._claim(owner, self._revisions)))
        yield from self._claim_pods(owner)
        collisions = int(owner.status.get("collisionCount") or 0)
        try:
            update = yield from self._revision_control.bring_up(owner, known, collisions)
        except CollisionError:
            yield from self._patch(owner, {"status": {"collisionCount": collisions + 1}}, "status")
            raise
        current = next((r for r in known if r.name == owner.status.get("currentRevision")), update)
        refusal = None
        try:
            if not owner.is_deleted:
                yield from self._act(owner, current, update)
        except Refused as problem:
            refusal = problem
        look = self._look(owner, current, update)
        yield from self._write_status(owner, look.describe(collisions))
        self._wake_when_available(owner, list(look.pods.values()))
        if refusal is not None:
            raise refusal
        yield from self._clean_up(owner, known, {current.name, update.name})

    def _look(self, owner: Workload, current: Workload, update: Workload) -> StatefulLook:
        return StatefulLook(owner, self._list_pods(owner), current, update, self._clock.now())

    def _clean_up(self, owner: Workload, known: list[Workload], live: set[str]) -> Steps[None]:
        live = live | {p.labels.get(REVISION_HASH, "") for p in self._pods.owned_by(owner.uid)}
        count = len([r for r in known if r.name not in live])
        yield from self._revision_control.clean_up(owner, known, live, count)

    # ---- pods ---------------------------------------------------------------------------------------------

    def _act(self, owner: Workload, current: Workload, update: Workload) -> Steps[None]:
        """Make what is missing, then take what is too much, then update; in order, one waits for the other."""
        look = self._look(owner, current, update)
        for ordinal in look.wanted:
            can_go_on = yield from self._keep(look, ordinal)
            if not can_go_on and look.is_ordered:
                return
        for _, pod in look.condemned:
            yield from self._control.set_claim_owners(owner, pod, is_condemned=True)
        first = look.find_first_unavailable()
        for ordinal, pod in look.condemned:
            can_go_on = yield from self._remove(look, ordinal, pod, first)
            if not can_go_on and look.is_ordered:
                return
        for pod in self._look(owner, current, update).choose_outdated():
            yield from self._control.delete(owner, pod)

    def _keep(self, look: StatefulLook, ordinal: int) -> Steps[bool]:
        """Bring the pod with an ordinal up; returns whether the next one may follow."""
        owner, pod = look.owner, look.pods.get(ordinal)
        if pod is None:
            yield from self._control.create(owner, ordinal, look.choose_revision(ordinal))
            return False
        if pod.phase in DONE:
            yield from self._replace(owner, pod)
            return False
        if pod.phase == "Pending" and not pod.is_deleted:
            yield from self._control.create_claims(owner, ordinal)
        if not pod.is_deleted and not (look.is_ordered and not look.is_available(pod)):
            yield from self._control.restore_identity(owner, ordinal, pod)
            yield from self._control.set_claim_owners(owner, pod, is_condemned=False)
        return look.is_available(pod)

    def _replace(self, owner: Workload, pod: Pod) -> Steps[None]:
        """Delete a pod that has ended; the next one comes when it is gone."""
        if pod.is_deleted:
            return
        what, reason = ("failed", "RecreatingFailedPod")
        kind = "Warning"
        if pod.phase == "Succeeded":
            what, reason, kind = "terminated", "RecreatingTerminatedPod", "Normal"
        text = f"StatefulSet {owner.namespace}/{owner.name} is recreating {what} Pod {pod.name}"
        yield from self._recorder.record(owner, kind, reason, text)
        yield from self._control.delete(owner, pod)

    def _remove(self, look: StatefulLook, ordinal: int, pod: Pod, first_unavailable: int | None) -> Steps[bool]:
        """Delete a pod that is too much, the highest first; in order, an unavailable one below holds it up."""
        if pod.is_deleted:
            return False
        if look.is_ordered and not look.is_available(pod) and ordinal != first_unavailable:
            return False
        yield from self._control.delete(look.owner, pod)
        return False

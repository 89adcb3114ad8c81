"""DaemonSets: one pod on every node that it fits. Behaviour: pkg/controller/daemon upstream."""

from typing import ClassVar, Final

from apportion.api.core import Node
from apportion.base import Clock, Rng
from apportion.controllers.daemon_look import DaemonLook
from apportion.controllers.daemon_nodes import NodeFacts, Placement, make_daemon_template
from apportion.controllers.informers import Informers
from apportion.controllers.revisions import (
    REVISION_HASH,
    REVISIONS,
    CollisionError,
    RevisionControl,
    sort_revisions,
)
from apportion.controllers.steps import Refused, Steps
from apportion.controllers.workload_controller import WorkloadController
from apportion.controllers.workload_objects import Pod, Workload

BURST_MAX: Final = 250
FIRST_BACKOFF_S: Final = 1.0
LONGEST_BACKOFF_S: Final = 900.0


class DaemonSetController(WorkloadController):
    """Watches DaemonSets, nodes and pods. A look costs a step for each node; what a node means is kept."""

    kind: ClassVar[str] = "DaemonSet"
    resource: ClassVar[str] = "daemonsets"
    component: ClassVar[str] = "daemonset-controller"

    def __init__(self, informers: Informers, clock: Clock, rng: Rng) -> None:
        self._revisions = informers.get(REVISIONS)
        self._node_cache = informers.nodes
        super().__init__(informers, clock, rng)
        self._control = RevisionControl(self._revisions, REVISION_HASH)
        self._nodes: dict[str, NodeFacts] = {}
        self._placements: dict[str, tuple[str, int, Placement]] = {}  # by key: uid and generation they hold for
        self._failures: dict[tuple[str, str], tuple[float, float]] = {}  # by key and node: the delay, since when

    def _listen(self) -> None:
        super()._listen()
        self._revisions.listen(self._on_dependent)
        self._node_cache.listen(self._on_node)

    def start(self) -> None:
        """Watch."""
        self._node_cache.start()
        self._revisions.start()
        super().start()

    # ---- nodes --------------------------------------------------------------------------------------------

    def _on_node(self, old: Node | None, new: Node | None) -> None:
        """Wake those whose answer about the node changed."""
        name = (new or old or Node()).metadata.name
        before = self._nodes.get(name)
        after = NodeFacts.of(new) if new is not None else None
        if after is None:
            self._nodes.pop(name, None)
        elif after != before:
            self._nodes[name] = after
        else:
            return  # a heartbeat
        for owner in self._owners.objects.values():
            placement = self._get_placement(owner)
            was = placement.judge(before) if before is not None else (False, False)
            if after is None:
                placement.forget(name)
            if after is None or was != placement.judge(after):
                self.queue.add(owner.key)

    def _get_placement(self, owner: Workload) -> Placement:
        known = self._placements.get(owner.key)
        if known is None or known[:2] != (owner.uid, owner.metadata.generation):
            placement = Placement(owner.spec["template"])
            known = self._placements[owner.key] = (owner.uid, owner.metadata.generation, placement)
        return known[2]

    def _forget(self, key: str) -> None:
        self._placements.pop(key, None)
        self._failures = {k: v for k, v in self._failures.items() if k[0] != key}

    # ---- one daemon set -----------------------------------------------------------------------------------

    def _reconcile(self, owner: Workload) -> Steps[None]:
        if owner.matcher.key == ():
            text = "This daemon set is selecting all pods. A non-empty selector is required."
            yield from self._recorder.record(owner, "Warning", "SelectingAll", text)
            return
        if owner.is_deleted:
            return
        known = sort_revisions((yield from self._claim(owner, self._revisions)))
        collisions = owner.status.get("collisionCount")
        try:
            current = yield from self._control.bring_up(owner, known, collisions)
        except CollisionError:
            yield from self._patch(owner, {"status": {"collisionCount": (collisions or 0) + 1}}, "status")
            raise
        revision_hash = current.metadata.labels.get(REVISION_HASH, "")
        yield from self._claim_pods(owner)
        refusal = None
        try:
            yield from self._act(owner, revision_hash)
        except Refused as problem:
            refusal = problem
        yield from self._clean_up(owner, [r for r in known if r.name != current.name])
        look = self._look(owner, revision_hash)
        yield from self._write_status(owner, look.describe(collisions))
        self._wake_when_available(owner, [p for group in look.pods.values() for p in group])
        if refusal is not None:
            raise refusal

    def _look(self, owner: Workload, revision_hash: str) -> DaemonLook:
        placement, pods = self._get_placement(owner), self._list_pods(owner)
        return DaemonLook(owner, placement, self._nodes.values(), pods, revision_hash, self._clock.now())

    def _clean_up(self, owner: Workload, known: list[Workload]) -> Steps[None]:
        hashes = {p.labels.get(REVISION_HASH) for p in self._pods.owned_by(owner.uid)}
        live = {r.name for r in known if r.metadata.labels.get(REVISION_HASH) in hashes}
        yield from self._control.clean_up(owner, known, live, len(known))

    # ---- pods ---------------------------------------------------------------------------------------------

    def _act(self, owner: Workload, revision_hash: str) -> Steps[None]:
        """See to it that every node has its pod, then move on with an update."""
        look = self._look(owner, revision_hash)
        ended = yield from self._choose_ended(owner, look)
        yield from self._change(owner, look, [*ended, *look.list_surplus()], look.list_missing())
        if (owner.spec.get("updateStrategy") or {}).get("type") == "RollingUpdate":
            look = self._look(owner, revision_hash)
            yield from self._change(owner, look, *look.plan_update())

    def _change(self, owner: Workload, look: DaemonLook, gone: list[Pod], missing: list[str]) -> Steps[None]:
        if max(len(gone), len(missing)) > BURST_MAX:
            self.queue.add(owner.key)  # the rest at the next look
        for node in missing[:BURST_MAX]:
            template = make_daemon_template(owner, node, look.revision_hash)
            yield from self._pod_control.create(owner, template, slot=f"{node} {look.revision_hash}")
        for pod in gone[:BURST_MAX]:
            yield from self._pod_control.delete(owner, pod)

    def _choose_ended(self, owner: Workload, look: DaemonLook) -> Steps[list[Pod]]:
        """Return the finished pods to delete; one that fails over and over stays for longer and longer."""
        chosen = []
        for node, pod in look.list_ended():
            name = f"{pod.metadata.namespace}/{pod.name} on node {node}"
            if pod.phase == "Failed":
                if self._has_to_wait(owner.key, node):
                    continue
                text = f"Found failed daemon pod {name}, will try to kill it"
                yield from self._recorder.record(owner, "Warning", "FailedDaemonPod", text)
            else:
                text = f"Found succeeded daemon pod {name}, will try to delete it"
                yield from self._recorder.record(owner, "Normal", "SucceededDaemonPod", text)
            chosen.append(pod)
        return chosen

    def _has_to_wait(self, key: str, node: str) -> bool:
        """Return whether it is too early to replace a failed pod; otherwise the next one waits twice as long."""
        now_s = self._clock.now()
        delay_s, since_s = self._failures.get((key, node), (0.0, 0.0))
        if now_s - since_s < delay_s:
            self.queue.add_after(key, since_s + delay_s - now_s)
            return True
        is_long_ago = now_s - since_s > 2 * LONGEST_BACKOFF_S
        next_s = FIRST_BACKOFF_S if is_long_ago or not delay_s else min(delay_s * 2, LONGEST_BACKOFF_S)
        self._failures[key, node] = (next_s, now_s)
        return False

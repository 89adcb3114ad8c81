"""Waiting until the volume controller has completed the bindings that VolumeBinding has written.

Behaviour: BindPodVolumes and checkBindings of plugins/volumebinding, except that a change is noticed when it comes and
not once a second, and that a node's volumes in the tree are not translated.
"""

from collections.abc import Iterator

from apportion.api.storage import SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from apportion.base import Clock
from apportion.sched.framework.status import Status, error
from apportion.sched.framework.waits import CommandGenerator, Wait
from apportion.sched.plugins.volume_affinity import affinity_of
from apportion.sched.plugins.volume_binding_writes import Writes, is_outdated
from apportion.sched.state import ClusterState, VolumeStore

_NAME = "VolumeBinding"


class BindingWait:
    """One pod's volumes on their way to the node in ``row``."""

    def __init__(self, state: ClusterState, row: int, writes: Writes) -> None:
        self._volumes: VolumeStore = state.volumes
        self._node_name = state.nodes.name(row)
        self._nodes = state.nodes
        self._writes = writes

    def steps(self, clock: Clock, timeout_s: float) -> CommandGenerator:
        """Return when all claims are bound; otherwise what went wrong."""
        deadline_s = clock.now() + timeout_s
        while True:
            problem, is_bound = self._look()
            if problem is not None:
                return error(_NAME, f"binding volumes: {problem}")
            if is_bound:
                return None
            if clock.now() >= deadline_s:
                return error(_NAME, "binding volumes: context deadline exceeded")
            answer = yield from self._wait_for_change(deadline_s)
            if answer is not None:
                return answer

    def _wait_for_change(self, deadline_s: float) -> CommandGenerator:
        """Wait for news; a status says that the wait was ended from outside."""
        wait = Wait(deadline_s)

        def note() -> None:
            wait.resolve(True)

        names = list(self._names())
        for name in names:
            self._volumes.listeners.add(name, note)
        try:
            answer = yield wait
        finally:
            for name in names:
                self._volumes.listeners.remove(name, note)
        return answer if isinstance(answer, Status) else None

    def _names(self) -> Iterator[str]:
        """Yield the volumes and claims (namespace/name) that matter."""
        for volume, claim in self._writes.bindings.items():
            yield volume
            yield claim.metadata.key
        for key in self._writes.nodes:
            yield key
            current = self._volumes.find_actual_claim(key)
            if current is not None and current.spec.volume_name:
                yield current.spec.volume_name

    # ---- looking ------------------------------------------------------------------------------------------

    def _look(self) -> tuple[str | None, bool]:
        """Return what is wrong, and whether everything is bound."""
        is_bound = True
        for name, claim in self._writes.bindings.items():
            problem, is_done = self._look_at_binding(name, claim)
            if problem is not None:
                return problem, False
            is_bound = is_bound and is_done
        for key in self._writes.nodes:
            problem, is_done = self._look_at_claim(key)
            if problem is not None:
                return problem, False
            is_bound = is_bound and is_done
        return None, is_bound

    def _look_at_binding(self, name: str, wanted: PersistentVolumeClaim) -> tuple[str | None, bool]:
        volume = self._volumes.find_actual_volume(name)
        claim = self._volumes.find_actual_claim(wanted.metadata.key)
        if volume is None:
            return f'failed to check binding: could not find v1.PersistentVolume "{name}"', False
        if claim is None:
            text = f'could not find v1.PersistentVolumeClaim "{wanted.metadata.key}"'
            return f"failed to check binding: {text}", False
        if is_outdated(volume.metadata, self._writes.written.get(name)):
            return None, False  # the watch has not brought our own write yet
        problem = self._find_conflict(volume)
        if problem is not None:
            return problem, False
        if volume.spec.claim_ref is None or not volume.spec.claim_ref.uid:
            return f'ClaimRef got reset for pv "{name}"', False
        return None, claim.is_bound

    def _look_at_claim(self, key: str) -> tuple[str | None, bool]:
        claim = self._volumes.find_actual_claim(key)
        if claim is None:
            text = f'could not find v1.PersistentVolumeClaim "{key}"'
            return f"failed to check provisioning pvc: {text}", False
        if is_outdated(claim.metadata, self._writes.written.get(key)):
            return None, False
        if claim.metadata.annotations.get(SELECTED_NODE) != self._node_name:
            # a provisioner that fails takes the annotation away, so that another node is tried
            return f'provisioning failed for PVC "{claim.metadata.name}"', False
        volume = self._volumes.find_actual_volume(claim.spec.volume_name) if claim.spec.volume_name else None
        if claim.spec.volume_name and volume is None:
            return None, False
        problem = self._find_conflict(volume) if volume is not None else None
        return problem, claim.is_bound

    def _find_conflict(self, volume: PersistentVolume) -> str | None:
        affinity = affinity_of(volume)
        row = self._nodes.row_of.get(self._node_name)
        if row is None or self._nodes.views[row] is None:
            return f'failed to get node "{self._node_name}": node "{self._node_name}" not found'
        if affinity is None or affinity.matches(self._nodes.labels(row)):
            return None
        name = volume.metadata.name
        return f'pv "{name}" node affinity doesn\'t match node "{self._node_name}": no matching NodeSelectorTerms'

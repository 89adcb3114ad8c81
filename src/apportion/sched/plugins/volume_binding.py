"""VolumeBinding: volumes must be within reach, and claims that wait for their pod must be served on its node."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from apportion.api.storage import PersistentVolumeClaim
from apportion.base import ValidationError
from apportion.sched.framework.columns import ScoreColumn, ZeroScore
from apportion.sched.framework.commands import Command
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import Status, error, unresolvable
from apportion.sched.framework.waits import CommandGenerator
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.volume_affinity import VolumeAffinity, affinity_of
from apportion.sched.plugins.volume_binding_column import BindingColumn
from apportion.sched.plugins.volume_binding_events import binding_registrations
from apportion.sched.plugins.volume_binding_wait import BindingWait
from apportion.sched.plugins.volume_binding_writes import Writes
from apportion.sched.plugins.volume_candidates import ClaimNeed, need_of
from apportion.sched.plugins.volume_capacity_score import CapacityScore
from apportion.sched.plugins.volume_claims import MountedClaim, find_foreign_owner, mounted_claims
from apportion.sched.plugins.volume_matching import ClaimMatcher
from apportion.sched.queue import Registration
from apportion.sched.state import PodInfo

BIND_TIMEOUT_S: Final = 600
_COLUMNS_MAX: Final = 64  # a column may list all volumes of a class
_DESCRIBING_KINDS: Final = ("StorageClass", "CSIDriver", "CSIStorageCapacity")
_NAME = "VolumeBinding"


@dataclass(slots=True)
class BindingState:
    """What one cycle found out about claims that wait for their pod, smallest first; Reserve adds what to write."""

    claims: tuple[PersistentVolumeClaim, ...]
    column: BindingColumn
    writes: Writes = field(default_factory=Writes)


class VolumeBinding:
    """Behaviour: plugins/volumebinding of kube-scheduler, but in-tree volumes are not translated to CSI."""

    name = _NAME
    per_pod = True
    is_about = "volumes"
    allows_parallel_pre_bind = True

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._volumes = handle.state.volumes
        self._clock = handle.clock
        timeout_s = handle.args.get("bindTimeoutSeconds", BIND_TIMEOUT_S)
        self._timeout_s = timeout_s if isinstance(timeout_s, int) else BIND_TIMEOUT_S
        self._score = CapacityScore(handle.args)
        self._is_scoring = handle.gates.enabled("StorageCapacityScoring")
        self._zero = ZeroScore()
        self._columns: dict[object, BindingColumn] = {}

    # ---- filter and score ---------------------------------------------------------------------------------

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes that will do; turn the pod down for a claim that nobody can use yet."""
        claims: list[PersistentVolumeClaim] = []
        for mounted in mounted_claims(self._volumes, pod):
            problem = _find_problem(pod, mounted)
            if mounted.claim is None or problem is not None:
                return PreFilterResult(status=unresolvable(self.name, problem or ""))
            claims.append(mounted.claim)
        bound = [c for c in claims if c.is_bound]
        delayed = [c for c in claims if not c.is_bound and self._is_delayed(c)]
        if len(bound) + len(delayed) < len(claims):
            text = "pod has unbound immediate PersistentVolumeClaims"
            return PreFilterResult(status=unresolvable(self.name, text))
        return self._judge(bound, delayed) if claims else NOTHING_TO_FILTER

    def _is_delayed(self, claim: PersistentVolumeClaim) -> bool:
        storage_class = self._volumes.classes.get(claim.class_name)
        is_late = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
        return is_late and not claim.spec.volume_name  # one that names its volume is bound by the controller

    def _judge(self, bound: list[PersistentVolumeClaim], delayed: list[PersistentVolumeClaim]) -> PreFilterResult:
        affinities: dict[VolumeAffinity, None] = {}
        is_missing = False
        for claim in bound:
            volume = self._volumes.find_volume(claim.spec.volume_name)
            if volume is None:
                is_missing = True
                break  # what comes after it is not looked at
            affinity = affinity_of(volume)
            if affinity is not None:
                affinities[affinity] = None
        if not affinities and not is_missing and not delayed:
            return NOTHING_TO_FILTER
        try:
            needs = [(need_of(claim, self._volumes), claim) for claim in delayed]
        except ValidationError as e:
            return PreFilterResult(status=error(self.name, str(e)))
        needs.sort(key=lambda n: n[0].size_nano or 0)
        column = self._column(tuple(affinities), is_missing, tuple(need for need, _ in needs))
        state = BindingState(tuple(claim for _, claim in needs), column) if delayed else None
        return PreFilterResult(column=column, state=state)

    def _column(
        self, affinities: tuple[VolumeAffinity, ...], is_missing: bool, needs: tuple[ClaimNeed, ...]
    ) -> BindingColumn:
        """Return the column of pods whose volumes lie alike and whose claims need the same."""
        versions = tuple(self._state.versions.get(kind, 0) for kind in _DESCRIBING_KINDS) if needs else ()
        key = (affinities, is_missing, needs, versions)
        column = self._columns.get(key)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            matcher = ClaimMatcher(self._volumes, needs, self._score) if needs else None
            selected = frozenset(n.selected_node for n in needs if n.selected_node)
            column = self._columns[key] = BindingColumn(self._state, affinities, is_missing, matcher, selected)
        return column

    def pre_score(self, pod: PodInfo, state: object) -> ScoreColumn | None:
        """Return how well each node's storage fits; 0 everywhere for pods whose claims are all bound."""
        if not self._is_scoring:
            return None
        return state.column.score if isinstance(state, BindingState) else self._zero

    # ---- reserve and bind ---------------------------------------------------------------------------------

    def reserve(self, pod: PodInfo, row: int, state: object) -> Status | None:
        """Take the volumes of the chosen node as bound, and the other claims as on their way to it."""
        if not isinstance(state, BindingState):
            return None
        state.column.refresh()
        match = state.column.match(row)
        if match.reason:
            return error(self.name, f"volumes for pod {pod.key} were taken in the meantime")
        bindings = dict(match.bindings)
        for i, claim in enumerate(state.claims):
            if i in bindings:
                state.writes.assume_binding(self._volumes, bindings[i], claim)
            else:
                state.writes.assume_node(self._volumes, claim, self._state.nodes.name(row))
        return None

    def unreserve(self, pod: PodInfo, row: int, state: object) -> Sequence[Command]:
        """Take the assumptions back; what reached the API stays there, as upstream."""
        if isinstance(state, BindingState):
            state.writes.restore(self._volumes)
        return ()

    def pre_bind_pre_flight(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether anything has to be written."""
        return isinstance(state, BindingState)

    def waits_in_pre_bind(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether the volume controller has to complete something."""
        return self._timeout_s > 0 and isinstance(state, BindingState)

    def pre_bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        """Write the bindings and the selected node, claim by claim, and wait until the claims are bound.

        The first failure stops it. A timeout of 0 means that nobody waits.
        """
        assert isinstance(state, BindingState)
        status = yield from state.writes.commands(self._volumes)
        if status is not None or not self._timeout_s:
            return status
        return (yield from BindingWait(self._state, row, state.writes).steps(self._clock, self._timeout_s))

    def events_to_register(self) -> Sequence[Registration]:
        """Everything that describes storage, and nodes."""
        return binding_registrations(self.name)


def _find_problem(pod: PodInfo, mounted: MountedClaim) -> str | None:
    """Return why a claim cannot be used, in the words of kube-scheduler."""
    claim = mounted.claim
    if claim is None and mounted.is_ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{mounted.name}"'
    if claim is None:
        return f'persistentvolumeclaim "{mounted.name}" not found'
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{mounted.name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{mounted.name}" is being deleted'
    return find_foreign_owner(pod, claim) if mounted.is_ephemeral else None

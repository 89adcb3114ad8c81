"""Which volumes could serve an unbound claim, smallest first."""

from bisect import bisect_left, insort
from collections import Counter
from typing import Final, NamedTuple

from apportion.api.quantity import NANO, parse_quantity
from apportion.api.selectors import LabelMatcher, compile_label_selector
from apportion.api.storage import SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from apportion.sched.plugins.volume_affinity import LabelValue, VolumeAffinity, affinity_of
from apportion.sched.state import VolumeStore

STORAGE: Final = "storage"


class ClaimNeed(NamedTuple):
    """What matters of an unbound claim: claims with equal needs can be served by the same volumes.

    ``size_nano`` is in 1e-9 bytes, None when no size is asked for. ``identity`` (namespace, name, uid) is set only when
    a volume is meant for this very claim. ``selector`` None accepts all labels.
    """

    class_name: str
    size_nano: int | None
    access_modes: tuple[str, ...]
    volume_mode: str
    attributes_class: str
    selector: LabelMatcher | None
    selected_node: str
    identity: tuple[str, str, str] | None

    @property
    def size_bytes(self) -> int:
        """The size in whole bytes, rounded up."""
        return -(-(self.size_nano or 0) // NANO)


def need_of(claim: PersistentVolumeClaim, store: VolumeStore) -> ClaimNeed:
    """Return what ``claim`` needs. Raises ValidationError for a selector that Kubernetes does not accept."""
    meta, spec = claim.metadata, claim.spec
    size = spec.resources.requests.get(STORAGE)
    return ClaimNeed(
        claim.class_name,
        None if size is None else parse_quantity(size).nano,
        spec.access_modes,
        spec.volume_mode,
        spec.volume_attributes_class_name or "",
        None if spec.selector is None else compile_label_selector(spec.selector, "spec.selector"),
        meta.annotations.get(SELECTED_NODE, ""),
        (meta.namespace, meta.name, meta.uid) if store.has_volume_for(claim) else None,
    )


class Candidate(NamedTuple):
    """A volume that could serve the claim; sorted by size, then by name."""

    size_nano: int
    name: str


class Candidates:
    """The volumes that could serve one need, found by the labels of a node.

    Behaviour: FindMatchingVolume of component-helpers; where that takes any of several equal volumes, the first by
    name is taken.
    """

    def __init__(self, need: ClaimNeed, store: VolumeStore) -> None:
        self._need = need
        self._store = store
        self._anywhere: list[Candidate] = []  # reached from every node, or by an affinity that has to be tried
        self._by_label: dict[LabelValue, list[Candidate]] = {}
        self._meant: list[Candidate] = []  # for this very claim: no other volume will do
        self._affinities: dict[str, VolumeAffinity | None] = {}  # of all candidates
        self._placed: dict[str, Candidate] = {}
        self._lookup_keys: Counter[str] = Counter()
        self.label_keys: Counter[str] = Counter()  # that the affinities read, with the number of volumes
        for name in store.volumes_of_class(need.class_name):
            self.update(name)

    # ---- finding ------------------------------------------------------------------------------------------

    def find(self, labels: dict[str, str], taken: set[str]) -> str | None:
        """Return the volume for a node with these labels, None when there is none."""
        for candidate in self._meant:
            if candidate.name not in taken:
                return candidate.name if self._reaches(candidate, labels) else None
        best: Candidate | None = None
        for candidates in self._lists(labels):
            for candidate in candidates:
                if best is not None and candidate >= best:
                    break
                if candidate.name not in taken and self._reaches(candidate, labels):
                    best = candidate
                    break
        return None if best is None else best.name

    def _lists(self, labels: dict[str, str]) -> list[list[Candidate]]:
        found = [self._anywhere]
        for key in self._lookup_keys:
            value = labels.get(key)
            if value is not None and (key, value) in self._by_label:
                found.append(self._by_label[key, value])
        return found

    def _reaches(self, candidate: Candidate, labels: dict[str, str]) -> bool:
        affinity = self._affinities[candidate.name]
        return affinity is None or affinity.matches(labels)

    # ---- keeping up ---------------------------------------------------------------------------------------

    def update(self, name: str) -> tuple[LabelValue, ...] | None:
        """Look at a volume again. Returns the labels of the nodes it matters for; None stands for all nodes."""
        volume = self._store.find_volume(name)
        before = self._remove(name)
        after: tuple[LabelValue, ...] | None = ()
        if volume is not None and self._can_serve(volume):
            after = self._insert(volume)
        return None if before is None or after is None else before + after

    def _can_serve(self, volume: PersistentVolume) -> bool:
        need, spec = self._need, volume.spec
        if volume.class_name != need.class_name or volume.metadata.deletion_timestamp is not None:
            return False
        if _size_nano(volume) < (need.size_nano or 0) or spec.volume_mode != need.volume_mode:
            return False
        if (spec.volume_attributes_class_name or "") != need.attributes_class:
            return False
        if spec.claim_ref is not None:
            return need.identity is not None and volume.is_meant_for(*need.identity)
        return (
            volume.status.phase == "Available"
            and (need.selector is None or need.selector.matches(volume.metadata.labels))
            and set(need.access_modes) <= set(spec.access_modes)
        )

    def _insert(self, volume: PersistentVolume) -> tuple[LabelValue, ...] | None:
        name = volume.metadata.name
        candidate = self._placed[name] = Candidate(_size_nano(volume), name)
        affinity = self._affinities[name] = affinity_of(volume)
        self.label_keys.update(affinity.label_keys if affinity is not None else ())
        if volume.spec.claim_ref is not None:
            self._meant.append(candidate)
            self._meant.sort(key=lambda c: c.name)
            return None
        if affinity is None or affinity.values is None:
            insort(self._anywhere, candidate)
            return None
        for value in affinity.values:
            insort(self._by_label.setdefault(value, []), candidate)
            self._lookup_keys[value[0]] += 1
        return affinity.values

    def _remove(self, name: str) -> tuple[LabelValue, ...] | None:
        candidate = self._placed.pop(name, None)
        if candidate is None:
            return ()
        affinity = self._affinities.pop(name)
        self.label_keys.subtract(affinity.label_keys if affinity is not None else ())
        if candidate in self._meant:
            self._meant.remove(candidate)
            return None
        if affinity is None or affinity.values is None:
            del self._anywhere[bisect_left(self._anywhere, candidate)]
            return None
        for value in affinity.values:
            listed = self._by_label[value]
            del listed[bisect_left(listed, candidate)]
            if not listed:
                del self._by_label[value]
            self._lookup_keys[value[0]] -= 1
        return affinity.values


def _size_nano(volume: PersistentVolume) -> int:
    return parse_quantity(volume.spec.capacity.get(STORAGE, 0)).nano

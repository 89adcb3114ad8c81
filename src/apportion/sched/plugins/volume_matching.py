"""Matches unbound claims with volumes, or with storage that can be provisioned, as seen from one node."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from apportion.api.quantity import parse_quantity
from apportion.api.selectors import LabelMatcher, compile_label_selector
from apportion.api.storage import CSIStorageCapacity, StorageClass
from apportion.api.view import QuantityText
from apportion.base import ValidationError
from apportion.sched.plugins.volume_affinity import LabelValue
from apportion.sched.plugins.volume_candidates import STORAGE, Candidates, ClaimNeed
from apportion.sched.plugins.volume_capacity_score import CapacityScore, StorageUse
from apportion.sched.state import VolumeStore

BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


class Match(NamedTuple):
    """What one node offers: a reason when it does not do, otherwise (number of the claim, volume) and a score.

    Claims that are not among ``bindings`` are to be provisioned.
    """

    reason: str = ""
    bindings: tuple[tuple[int, str], ...] = ()
    score: int = 0


class ClaimMatcher:
    """Judges nodes by their labels for claims with given needs, the smaller ones first.

    Behaviour: findMatchingVolumes and checkVolumeProvisions of plugins/volumebinding/binder.go. Of several capacity
    objects that would do, the first by name counts.
    """

    def __init__(self, store: VolumeStore, needs: tuple[ClaimNeed, ...], score: CapacityScore) -> None:
        self._store = store
        self._needs = needs
        self._score = score
        self._cursor = store.changes.head
        self._candidates = self._find_candidates()
        self._provisioning = [_Provisioning(store, n) for n in needs]

    def _find_candidates(self) -> list[Candidates | None]:
        """Return the volumes for each claim; None for one that is on its way to a node, where it is provisioned."""
        return [None if need.selected_node else Candidates(need, self._store) for need in self._needs]

    @property
    def is_current(self) -> bool:
        """Whether no volume changed since the last update."""
        return self._cursor == self._store.changes.head

    def label_keys(self) -> tuple[str, ...]:
        """Return the label keys on which answers depend."""
        keys = {key for p in self._provisioning for key in p.label_keys}
        for candidates in self._candidates:
            if candidates is not None:
                keys.update(key for key, count in candidates.label_keys.items() if count)
        return tuple(sorted(keys))

    def update(self) -> Iterable[LabelValue] | None:
        """Look at the volumes that changed. Returns the labels of the nodes to be judged again; None stands for all."""
        changed = self._store.changes.since(self._cursor, 1024)
        self._cursor = self._store.changes.head
        if changed is None:
            self._candidates = self._find_candidates()
            return None
        affected: dict[LabelValue, None] | None = {}
        for name in changed:
            for candidates in self._candidates:
                found = () if candidates is None else candidates.update(name)
                if found is None or affected is None:
                    affected = None
                else:
                    affected.update(dict.fromkeys(found))
        return affected

    # ---- judging ------------------------------------------------------------------------------------------

    def judge(self, labels: dict[str, str]) -> Match:
        """Return what a node with these labels offers."""
        taken: set[str] = set()
        bindings: list[tuple[int, str]] = []
        to_provision = [i for i, found in enumerate(self._candidates) if found is None]
        for i, candidates in enumerate(self._candidates):
            if candidates is None:
                continue
            name = candidates.find(labels, taken)
            if name is None:
                to_provision.append(i)
            else:
                taken.add(name)
                bindings.append((i, name))
        capacities: list[tuple[int, CSIStorageCapacity]] = []
        for i in to_provision:
            found = self._provisioning[i].find(labels)
            if isinstance(found, str):
                return Match(found)
            if found is not None:
                capacities.append((i, found))
        return Match("", tuple(bindings), self._score.score(self._uses(bindings, capacities)))

    def _uses(
        self, bindings: list[tuple[int, str]], capacities: list[tuple[int, CSIStorageCapacity]]
    ) -> list[StorageUse]:
        """Return requested and available bytes by class: of the chosen volumes, without any of the capacities."""
        uses: dict[str, StorageUse] = {}
        for i, name in bindings:
            volume = self._store.find_volume(name)
            assert volume is not None
            use = uses.setdefault(volume.spec.storage_class_name, StorageUse())
            use.requested += self._needs[i].size_bytes
            use.capacity += _bytes(volume.spec.capacity.get(STORAGE, 0))
        for i, capacity in capacities if not bindings else ():
            use = uses.setdefault(self._needs[i].class_name, StorageUse())
            use.requested += self._needs[i].size_bytes
            use.capacity = _bytes(capacity.capacity or 0)  # not a sum: all claims share it
        return list(uses.values())


class _Provisioning:
    """Whether storage for one need can be made, as seen from a node."""

    __slots__ = ("_capacities", "_class", "_is_possible", "label_keys")

    def __init__(self, store: VolumeStore, need: ClaimNeed) -> None:
        found = store.classes.get(need.class_name)
        self._class = found or StorageClass()
        self._is_possible = self._class.provisioner not in ("", _NO_PROVISIONER)
        self._capacities: list[tuple[CSIStorageCapacity, LabelMatcher]] | None = None
        driver = store.drivers.get(self._class.provisioner)
        if driver is not None and driver.spec.storage_capacity and need.size_nano is not None:
            self._capacities = _sufficient(store, need)
        keys = {e.key for t in self._class.allowed_topologies for e in t.match_label_expressions}
        for capacity, _ in self._capacities or ():
            selector = capacity.node_topology
            if selector is not None:
                keys.update(selector.match_labels, (e.key for e in selector.match_expressions))
        self.label_keys = keys

    def find(self, labels: dict[str, str]) -> CSIStorageCapacity | str | None:
        """Return the capacity that counts, None when it does not matter, or the reason why nothing can be made."""
        if not self._is_possible or not self._is_in_topology(labels):
            return BIND_CONFLICT
        if self._capacities is None:
            return None
        for capacity, matcher in self._capacities:
            if matcher.matches(labels):
                return capacity
        return NOT_ENOUGH_SPACE

    def _is_in_topology(self, labels: dict[str, str]) -> bool:
        terms = self._class.allowed_topologies
        return not terms or any(
            term.match_label_expressions and all(labels.get(e.key) in e.values for e in term.match_label_expressions)
            for term in terms
        )


def _sufficient(store: VolumeStore, need: ClaimNeed) -> list[tuple[CSIStorageCapacity, LabelMatcher]]:
    """Return the capacities of the need's class that are large enough, by name."""
    found = []
    for _, capacity in sorted(store.capacities.items()):
        limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
        if capacity.storage_class_name != need.class_name or limit is None or _bytes(limit) < need.size_bytes:
            continue
        try:
            found.append((capacity, compile_label_selector(capacity.node_topology, "nodeTopology")))
        except ValidationError:
            continue  # as upstream: such a capacity is nowhere
    return found


def _bytes(quantity: QuantityText) -> int:
    return parse_quantity(quantity).value()

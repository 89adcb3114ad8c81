"""How well a node's storage fits: the emptier it stays, the better, unless the configuration says otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apportion.sched.plugins.scoring_shape import read_shape

_DEFAULT_SHAPE = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]


@dataclass(slots=True)
class StorageUse:
    """Bytes of one storage class: what the pod's claims ask for, and what they would get or share."""

    requested: int = 0
    capacity: int = 0


class CapacityScore:
    """Behaviour: buildScorerFunction of plugins/volumebinding (StorageCapacityScoring).

    Raises ConfigError for a ``shape`` that cannot be used.
    """

    def __init__(self, args: Mapping[str, object]) -> None:
        self._table = read_shape(args.get("shape") or _DEFAULT_SHAPE, "VolumeBindingArgs.shape")

    def score(self, uses: Sequence[StorageUse]) -> int:
        """Return 0..100: the mean over the storage classes, halves rounded up; 0 without any."""
        if not uses:
            return 0
        total = sum(self._table[_percent(use)] for use in uses)
        return (2 * total + len(uses)) // (2 * len(uses))


def _percent(use: StorageUse) -> int:
    if use.capacity == 0 or use.requested > use.capacity:
        return 100
    return use.requested * 100 // use.capacity

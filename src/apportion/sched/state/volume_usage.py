"""Which claims and disks the pods on each row use, and which CSI volumes are attached there because of that."""

from collections.abc import Callable, Hashable, Mapping
from typing import Final, TypeAlias, TypeVar

from apportion.api.pod_volumes import DiskSource
from apportion.sched.state.pods import PodInfo, PodTemplate

K = TypeVar("K", bound=Hashable)
CsiVolume: TypeAlias = tuple[str, str]  # driver, volume handle
_NOTHING: Final[Mapping[str, int]] = {}


class TemplateVolumes:
    """What one pod spec says of volumes; ``claims`` are (name, is ephemeral) in the order of the spec.

    The name of an ephemeral volume's claim is that of the volume: the pod's name is still to be put before it.
    """

    __slots__ = ("claims", "disks")

    def __init__(self, template: PodTemplate) -> None:
        claims: list[tuple[str, bool]] = []
        for volume in template.spec.volumes:
            if volume.persistent_volume_claim is not None:
                claims.append((volume.persistent_volume_claim.claim_name, False))
            elif volume.ephemeral is not None:
                claims.append((volume.name, True))
        self.claims = tuple(claims)
        self.disks: tuple[DiskSource, ...] = tuple(v.disk for v in template.spec.volumes if v.disk is not None)


def volumes_of(pod: PodInfo) -> TemplateVolumes:
    """Return what the pod's spec says of volumes; worked out once per template."""
    facts = pod.kind.template.facts
    found = facts.get("volumes")
    if found is None:
        found = facts["volumes"] = TemplateVolumes(pod.kind.template)
    return found  # type: ignore[return-value]


def claim_name(pod: PodInfo, name: str, is_ephemeral: bool) -> str:
    """Return the name of the claim behind an entry of ``TemplateVolumes.claims``."""
    return f"{pod.name}-{name}" if is_ephemeral else name


def claim_keys_of(pod: PodInfo) -> list[str]:
    """Return the claims that the pod mounts, as ``namespace/name``, each once, in the order of its spec."""
    names = dict.fromkeys(claim_name(pod, *entry) for entry in volumes_of(pod).claims)
    return [f"{pod.namespace}/{name}" for name in names]


class VolumeUsage:
    """Counts by row. ``resolve`` tells which CSI volume a claim stands for; it is asked again when claims change."""

    def __init__(self, touch: Callable[[int], None], resolve: Callable[[str], CsiVolume | None]) -> None:
        self._touch = touch
        self._resolve = resolve
        self._users: dict[str, dict[int, int]] = {}  # claim -> row -> pods
        self._volume: dict[str, CsiVolume] = {}  # of claims in use
        self._attached: dict[int, dict[str, dict[str, int]]] = {}  # row -> driver -> handle -> claims
        self._in_use: dict[CsiVolume, int] = {}  # -> (claim, row) pairs
        self._disks: dict[int, dict[DiskSource, int]] = {}  # row -> disk -> pods

    # ---- reading ------------------------------------------------------------------------------------------

    def count_users(self, claim: str) -> int:
        """Return how many pods that have a node use a claim."""
        return sum(self._users.get(claim, {}).values())

    def attached(self, row: int, driver: str) -> Mapping[str, int]:
        """Return the handles of a driver's volumes that pods on the row use."""
        return self._attached.get(row, {}).get(driver, _NOTHING)

    def is_in_use(self, volume: CsiVolume) -> bool:
        """Return whether any pod that has a node uses the volume."""
        return volume in self._in_use

    def disks(self, row: int) -> Mapping[DiskSource, int]:
        """Return the disks that pods on the row name in their specs."""
        return self._disks.get(row, {})

    # ---- keeping count ------------------------------------------------------------------------------------

    def add(self, pod: PodInfo, row: int, sign: int) -> None:
        """Count the volumes of a pod on ``row`` (sign -1: no longer). Cost: its claims and disks."""
        for key in claim_keys_of(pod):
            rows = self._users.setdefault(key, {})
            before = rows.get(row, 0)
            after = before + sign
            if after:
                rows[row] = after
            else:
                del rows[row]
            if not before or not after:
                self._attach(key, row, sign)
            if not rows:
                del self._users[key]
                self._volume.pop(key, None)
        for disk in volumes_of(pod).disks:
            _count(self._disks.setdefault(row, {}), disk, sign)
            if not self._disks[row]:
                del self._disks[row]

    def _attach(self, claim: str, row: int, sign: int) -> None:
        volume = self._volume.get(claim)
        if volume is None:
            volume = self._resolve(claim)
            if volume is None:
                return
            self._volume[claim] = volume
        _count(self._in_use, volume, sign)
        drivers = self._attached.setdefault(row, {})
        handles = drivers.setdefault(volume[0], {})
        _count(handles, volume[1], sign)
        if not handles:
            del drivers[volume[0]]
            if not drivers:
                del self._attached[row]

    def resolve_again(self, claim: str) -> None:
        """Ask anew which volume a claim stands for; the rows where it is used count as changed if it is another."""
        rows = self._users.get(claim)
        if rows is None:
            return
        known, current = self._volume.get(claim), self._resolve(claim)
        if known == current:
            return
        if known is not None:
            for row in rows:
                self._attach(claim, row, -1)
            del self._volume[claim]
        if current is not None:
            for row in rows:
                self._attach(claim, row, 1)
        for row in rows:
            self._touch(row)

    def claims_in_use(self) -> list[str]:
        """Return every claim that a pod with a node uses."""
        return list(self._users)


def _count(counts: dict[K, int], key: K, sign: int) -> None:
    after = counts.get(key, 0) + sign
    if after:
        counts[key] = after
    else:
        del counts[key]

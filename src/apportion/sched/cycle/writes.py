"""Writes that stand on their own: tried again on the fresh object when it has changed meanwhile."""

from typing import Final

from msgspec.structs import replace

from apportion.sched.framework import CommandGenerator, GetPod, Outcome, PatchPodCondition
from apportion.sched.state import PodInfo, PodReader

CONFLICT: Final = 409
ATTEMPTS_MAX: Final = 4


class ConditionWriter:
    """Writes that pods could not be scheduled. Of two writes about one pod the later decision stands."""

    def __init__(self, reader: PodReader) -> None:
        self._reader = reader
        self._latest: dict[str, PatchPodCondition] = {}  # by uid: what is being written

    def write(self, patch: PatchPodCondition, known: PodInfo) -> CommandGenerator:
        """Write a condition, unless the pod has got a node or is another pod by now, or ``known`` shows all of it.

        The write carries the resource version that was judged: a late False never overwrites True.
        """
        if patch.uid not in self._latest and _is_shown(patch, known):
            return None
        latest = self._latest[patch.uid] = patch
        try:
            for _ in range(ATTEMPTS_MAX):
                outcome: Outcome = yield patch
                if outcome.code != CONFLICT or self._latest.get(patch.uid) is not latest:
                    break
                read: Outcome = yield GetPod(patch.namespace, patch.name)
                if not read.is_ok or self._latest.get(patch.uid) is not latest:
                    break
                pod = self._reader.read(read.body)
                if pod.uid != patch.uid or pod.node_name:
                    break
                patch = replace(patch, resource_version=pod.resource_version)
        finally:
            if self._latest.get(patch.uid) is latest:
                del self._latest[patch.uid]
        return None


def _is_shown(patch: PatchPodCondition, known: PodInfo) -> bool:
    """Return whether the API has everything already that the patch would write (updatePod)."""
    condition = known.condition
    if condition is None or known.uid != patch.uid or condition.status != "False":
        return False
    is_nominated = patch.nominated_node_name in (None, known.nominated_node_name)
    shown = (condition.reason, condition.message, condition.observed_generation)
    return is_nominated and shown == (patch.reason, patch.message, patch.generation)

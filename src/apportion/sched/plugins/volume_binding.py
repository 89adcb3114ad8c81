"""VolumeBinding: stands in the list of scores; a pod without persistent volume claims gets 0 on every node."""

from apportion.sched.framework.columns import ZeroScore
from apportion.sched.plugins.handle import Handle
from apportion.sched.state import PodInfo


class VolumeBinding:
    """Scores without looking at volumes."""

    name = "VolumeBinding"
    per_pod = True

    def __init__(self, handle: Handle) -> None:
        self._zero = ZeroScore()

    def pre_score(self, pod: PodInfo, state: object) -> ZeroScore:
        """Return 0 for every node."""
        return self._zero

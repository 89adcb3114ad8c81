"""NodeName: a pod that names its node fits nowhere else."""

from collections.abc import Sequence

from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Registration
from apportion.sched.state import PodInfo


class NodeName:
    """A pod with spec.nodeName is bound already and never reaches a scheduling cycle, so every node passes."""

    name = "NodeName"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        pass

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Nothing to judge."""
        return NOTHING_TO_FILTER

    def events_to_register(self) -> Sequence[Registration]:
        """A new node."""
        return [Registration(self.name, ClusterEvent("Node", ActionType.ADD), None)]

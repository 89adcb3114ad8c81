"""SchedulingGates: keeps a pod out of the active queue while spec.schedulingGates is not empty."""

from collections.abc import Sequence

from apportion.sched.framework.status import Status, unresolvable
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Registration
from apportion.sched.state import PodInfo


class SchedulingGates:
    """PreEnqueue only. Behaviour: KEP-3521."""

    name = "SchedulingGates"

    def __init__(self, handle: Handle) -> None:
        pass

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Return the gates the pod waits for."""
        gates = pod.kind.template.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(g.name for g in gates)
        return unresolvable(self.name, f"waiting for scheduling gates: [{names}]")

    def events_to_register(self) -> Sequence[Registration]:
        """The pod's own update that removes the last gate."""
        action = ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        return [Registration(self.name, ClusterEvent("TargetPod", action), None)]

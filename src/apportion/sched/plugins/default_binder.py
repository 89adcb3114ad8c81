"""DefaultBinder: binds a pod by creating its binding."""

from apportion.sched.framework import BindPod, CommandGenerator, Outcome, error
from apportion.sched.plugins.handle import Handle
from apportion.sched.state import PodInfo


class DefaultBinder:
    """POSTs pods/{name}/binding. Behaviour: plugins/defaultbinder."""

    name = "DefaultBinder"

    def __init__(self, handle: Handle) -> None:
        pass

    def bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        """Create the binding of the pod to the node that it was assumed on."""
        outcome: Outcome = yield BindPod(pod.namespace, pod.name, pod.uid, pod.node_name)
        return None if outcome.is_ok else error(self.name, f"binding rejected: {outcome.message}")

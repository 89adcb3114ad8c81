"""DefaultBinder: binds a pod by creating its binding. The cycle yields the command; this names who is responsible."""

from apportion.sched.framework.commands import BindPod
from apportion.sched.plugins.handle import Handle
from apportion.sched.state import PodInfo


class DefaultBinder:
    """POSTs pods/{name}/binding. Behaviour: plugins/defaultbinder."""

    name = "DefaultBinder"

    def __init__(self, handle: Handle) -> None:
        pass

    def bind(self, pod: PodInfo, node_name: str) -> BindPod:
        """Return the command that binds ``pod`` to the node."""
        return BindPod(pod.namespace, pod.name, pod.uid, node_name)

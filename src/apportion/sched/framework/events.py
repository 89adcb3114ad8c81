"""Events about pods, as commands."""

from apportion.sched.framework.commands import EmitEvent, PodRef
from apportion.sched.state import PodInfo


def pod_event(
    pod: PodInfo, type: str, reason: str, action: str, note: str, related: PodInfo | None = None
) -> EmitEvent:
    """Return the command that records an event about ``pod``, in the name of its scheduler."""
    other = None if related is None else _refer_to(related)
    return EmitEvent(_refer_to(pod), pod.scheduler_name, type, reason, action, note, other)


def _refer_to(pod: PodInfo) -> PodRef:
    return PodRef(pod.namespace, pod.name, pod.uid, pod.resource_version)

"""What follows when a pod could not be scheduled: the texts, and the commands that tell the API."""

from typing import Final

from apportion.sched.framework import EmitEvent, PatchPodCondition, pod_event
from apportion.sched.state import PodInfo

NOTE_MAX: Final = 1024
UNSCHEDULABLE, SCHEDULER_ERROR = "Unschedulable", "SchedulerError"


def failed_event(pod: PodInfo, message: str) -> EmitEvent:
    """Return the event that tells why a pod could not be scheduled (handleSchedulingFailure)."""
    note = message if len(message) <= NOTE_MAX else message[: NOTE_MAX - 4] + " ..."
    return pod_event(pod, "Warning", "FailedScheduling", "Scheduling", note)


def failed_condition(pod: PodInfo, reason: str, message: str, nominated: str | None = None) -> PatchPodCondition:
    """Return the PodScheduled=False condition.

    ``nominated`` is the node to nominate, "" to clear a nomination, None to leave it.
    """
    where = (pod.namespace, pod.name, pod.uid, pod.resource_version)
    return PatchPodCondition(*where, reason, message, nominated, pod.generation)


def scheduled_event(pod: PodInfo, node_name: str) -> EmitEvent:
    """Return the event that tells where a pod went."""
    note = f"Successfully assigned {pod.key} to {node_name}"
    return pod_event(pod, "Normal", "Scheduled", "Binding", note)

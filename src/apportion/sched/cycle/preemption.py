"""Carrying out a preemption: the commands that evict the victims, and the nominations that follow."""

from collections.abc import Sequence

from apportion.sched.framework import ClearNomination, Command, DeletePod, EmitEvent, MarkDisrupted, pod_event
from apportion.sched.queue import Nominator
from apportion.sched.state import PodInfo

PREEMPTED = "preempted to accommodate a higher priority pod"


def mark_disrupted(pod: PodInfo, victim: PodInfo) -> MarkDisrupted:
    """Return what says on a victim that it has to go for ``pod``."""
    message = f"{pod.scheduler_name}: preempting to accommodate a higher priority pod"
    return MarkDisrupted(victim.namespace, victim.name, victim.uid, message)


def delete_victim(victim: PodInfo) -> DeletePod:
    """Return what deletes a victim."""
    return DeletePod(victim.namespace, victim.name, victim.uid)


def preempted_event(pod: PodInfo, victim: PodInfo, node_name: str, in_memory: bool = False) -> EmitEvent:
    """Return the event on a victim; ``in_memory`` says that it was not bound yet and is not deleted."""
    note = f"Preempted by pod {pod.uid} on node {node_name}"
    if in_memory:
        note += " (in kube-scheduler memory)."
    return pod_event(victim, "Normal", "Preempted", "Preempting", note, pod)


def lower_nominations(nominator: Nominator[PodInfo], pod: PodInfo, node_name: str) -> list[PodInfo]:
    """Return the pods of lower priority that were expected on the node and lose their place."""
    return [p for p in nominator.for_node(node_name) if p.priority < pod.priority]


def clear_nominations(nominator: Nominator[PodInfo], pods: Sequence[PodInfo]) -> list[Command]:
    """Forget the nominations of ``pods`` and return the commands that tell the API."""
    for pod in pods:
        nominator.delete(pod)
    return [ClearNomination(p.namespace, p.name, p.uid) for p in pods]

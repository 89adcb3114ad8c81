"""Carrying out a preemption: the commands that evict the victims, and the nominations that follow."""

from collections.abc import Sequence

from apportion.sched.framework import ClearNomination, Command, DeletePod, EmitEvent, MarkDisrupted
from apportion.sched.queue import Nominator
from apportion.sched.state import ClusterState, PodInfo


def eviction_commands(pod: PodInfo, victims: Sequence[PodInfo], node_name: str) -> list[Command]:
    """Return what evicts the victims of ``pod``: condition, deletion and event for each."""
    message = f"{pod.scheduler_name}: preempting to accommodate a higher priority pod"
    note = f"Preempted by pod {pod.uid} on node {node_name}"
    commands: list[Command] = []
    for victim in victims:
        where = (victim.namespace, victim.name, victim.uid)
        commands.append(MarkDisrupted(*where, message))
        commands.append(DeletePod(*where))
        commands.append(EmitEvent(*where, "Normal", "Preempted", "Preempting", note))
    return commands


def nominated_rows(state: ClusterState, nominator: Nominator[PodInfo], pod: PodInfo) -> dict[int, list[PodInfo]]:
    """Return by row the pods of equal or higher priority that are expected there, ``pod`` itself left out."""
    found: dict[int, list[PodInfo]] = {}
    for name in nominator.node_names():
        row = state.nodes.row_of.get(name)
        others = [p for p in nominator.for_node(name) if p.priority >= pod.priority and p.uid != pod.uid]
        if row is not None and others:
            found[row] = others
    return found


def lower_nominations(nominator: Nominator[PodInfo], pod: PodInfo, node_name: str) -> list[PodInfo]:
    """Return the pods of lower priority that were expected on the node and lose their place."""
    return [p for p in nominator.for_node(node_name) if p.priority < pod.priority]


def clear_nominations(nominator: Nominator[PodInfo], pods: Sequence[PodInfo]) -> list[Command]:
    """Forget the nominations of ``pods`` and return the commands that tell the API."""
    for pod in pods:
        nominator.delete(pod)
    return [ClearNomination(p.namespace, p.name, p.uid) for p in pods]

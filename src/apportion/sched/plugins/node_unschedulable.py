"""NodeUnschedulable: keeps pods off cordoned nodes unless they tolerate that."""

from collections.abc import Sequence

from apportion.api.core import Node, Taint
from apportion.api.selectors import tolerates
from apportion.sched.framework.columns import MaskColumn
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import unresolvable
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import NodeMask, PodInfo

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable:
    """One column for all pods that do not tolerate the cordon."""

    name = "NodeUnschedulable"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        nodes = handle.state.nodes
        mask = NodeMask(nodes, lambda: ~nodes.unschedulable)
        self._column = MaskColumn(mask, unresolvable(self.name, "node(s) were unschedulable"))

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes that are not cordoned, or nothing for a pod that tolerates the cordon."""
        return NOTHING_TO_FILTER if _tolerates_cordon(pod) else PreFilterResult(column=self._column)

    def events_to_register(self) -> Sequence[Registration]:
        """Nodes that appear or are uncordoned; tolerations added to the pod."""
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_TAINT)
        toleration = ClusterEvent("TargetPod", ActionType.UPDATE_POD_TOLERATION)
        return [
            Registration(self.name, node, self._hint_node, per_kind=True),
            Registration(self.name, toleration, self._hint_pod),
        ]

    def _hint_node(self, pod: PodInfo, old: object, new: object) -> Hint:
        schedulable = isinstance(new, Node) and not new.spec.unschedulable
        return Hint.QUEUE if schedulable or _tolerates_cordon(pod) else Hint.SKIP

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        return Hint.QUEUE if isinstance(new, PodInfo) and _tolerates_cordon(new) else Hint.SKIP


def _tolerates_cordon(pod: PodInfo) -> bool:
    return any(tolerates(t, _CORDON) for t in pod.kind.template.spec.tolerations)

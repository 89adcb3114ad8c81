"""NodeDeclaredFeatures: a pod goes only where the kubelet has declared the features that the pod makes use of."""

from collections.abc import Sequence

import numpy as np

from apportion.api.core import Container, EphemeralContainer, Node, PodSpec
from apportion.sched.framework.columns import MaskColumn
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import unresolvable
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import Bools, NodeMask, NodeTable, PodInfo


class NodeDeclaredFeatures:
    """Columns are shared by pods that need the same features. Behaviour: plugins/nodedeclaredfeatures."""

    name = "NodeDeclaredFeatures"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._nodes = handle.state.nodes
        self._status = unresolvable(self.name, "node(s) didn't match Pod's required features")
        self._columns: dict[frozenset[str], MaskColumn] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes that have declared what the pod needs; nothing for a pod that needs nothing."""
        needed = find_needed_features(pod.kind.template.spec)
        if not needed:
            return NOTHING_TO_FILTER
        column = self._columns.get(needed)
        if column is None:  # there are as many as there are combinations of the few features
            mask = NodeMask(self._nodes, lambda: _find_declaring(self._nodes, needed))
            column = self._columns[needed] = MaskColumn(mask, self._status)
        return PreFilterResult(column=column)

    def events_to_register(self) -> Sequence[Registration]:
        """Nodes that appear or declare other features; changes of the pod."""
        node = ClusterEvent("Node", ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE)
        return [
            Registration(self.name, node, self._hint_node, per_kind=True),
            Registration(self.name, ClusterEvent("TargetPod", ActionType.UPDATE), self._hint_pod),
        ]

    def _hint_node(self, pod: PodInfo, old: object, new: object) -> Hint:
        before = old.status.declared_features if isinstance(old, Node) else None
        return Hint.QUEUE if isinstance(new, Node) and new.status.declared_features != before else Hint.SKIP

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(old, PodInfo) or not isinstance(new, PodInfo):
            return Hint.QUEUE
        return Hint.QUEUE if find_needed_features(old.spec) != find_needed_features(new.spec) else Hint.SKIP


def find_needed_features(spec: PodSpec) -> frozenset[str]:
    """Return the features that a node must have declared before the pod may go there.

    Behaviour: InferForScheduling of the features in component-helpers/nodedeclaredfeatures, version 0.37. The
    other registered features matter to updates of pods that run already, and to claims.
    """
    containers = (*spec.init_containers, *spec.containers)
    mounting: tuple[Container | EphemeralContainer, ...] = (*containers, *spec.ephemeral_containers)
    found = set()
    if any(rule.action == "RestartAllContainers" for c in containers for rule in c.restart_policy_rules):
        found.add("RestartAllContainersOnContainerExits")
    if spec.host_network and spec.host_users is False:
        found.add("UserNamespacesHostNetworkSupport")
    if any(mount.bind_mount_options for c in mounting for mount in c.volume_mounts):
        found.add("VolumeBindMountOptions")
    return frozenset(found)


def _find_declaring(nodes: NodeTable, needed: frozenset[str]) -> Bools:
    declaring = (view is not None and needed <= set(view.status.declared_features) for view in nodes.views)
    return nodes.valid & np.fromiter(declaring, np.bool_, nodes.rows)

"""ClusterState: everything the scheduler knows, as columns and indexes. One writer; everyone else reads.

It learns from events (what the API said) and from the scheduler's own decisions: a pod is *assumed* on a node,
later *confirmed* by the event that shows it there, or *forgotten*.
"""

from collections.abc import Mapping

from apportion.alloc import DeviceTable, Features
from apportion.api.core import Node
from apportion.api.view import View
from apportion.base import InvariantError
from apportion.sched.state.claims import ClaimStore
from apportion.sched.state.counts import LabelGroups
from apportion.sched.state.images import ImageTable
from apportion.sched.state.masks import NodeMasks
from apportion.sched.state.nodes import NodeTable
from apportion.sched.state.pods import PodInfo, PodReader, Usage
from apportion.sched.state.ports import PortTable
from apportion.sched.state.terms import RunningTerms
from apportion.sched.state.trial import Trial
from apportion.sched.state.volumes import STORAGE_KINDS, VolumeStore

NAME_LABEL = "kubernetes.io/metadata.name"
# kinds on which it depends which columns judge a pod: the owners whose selectors make default spread constraints
PLAN_KINDS = frozenset({"Service", "ReplicationController", "ReplicaSet", "StatefulSet"})


class ClusterState:
    """The scheduler's picture of the cluster."""

    def __init__(self, features: Features | None = None) -> None:
        self.nodes = NodeTable()
        self.namespaces: dict[str, dict[str, str]] = {}
        self.groups = LabelGroups(self.nodes, self.namespace_labels)
        self.masks = NodeMasks(self.nodes)
        self.terms = RunningTerms(self.nodes)
        self.ports = PortTable()
        self.images = ImageTable()
        self.volumes = VolumeStore(self.nodes)
        self.devices = DeviceTable(features or Features())
        self.claims = ClaimStore(self.devices)
        self.reader = PodReader(self.nodes.resource_id, self.groups)
        self.objects: dict[str, dict[str, View]] = {}
        self.pods: dict[str, PodInfo] = {}  # every pod that has a node, assumed ones included, by uid
        self.assumed: dict[str, PodInfo] = {}
        self._on_row: dict[int, dict[str, PodInfo]] = {}
        self._other_epoch = 0
        self.starts = 0  # rises when a pod that has a node is said to have started
        self.versions: dict[str, int] = {}  # by kind: rises with every change of an object of that kind

    @property
    def plan_epoch(self) -> int:
        """Rises when pods of a kind may have to be judged by other columns than before."""
        return self._other_epoch + self.terms.epoch

    def forget_plans(self) -> None:
        """Have pods of every kind judged anew: a plugin is not what it was."""
        self._other_epoch += 1

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a namespace; the name label alone when no Namespace object was seen."""
        found = self.namespaces.get(namespace)
        return {NAME_LABEL: namespace} if found is None else found

    def list_device_resources(self, pod: PodInfo) -> tuple[str, ...]:
        """Return the extended resources of a pod that some device class serves."""
        names = pod.kind.template.extended_resources
        return tuple(n for n in names if self.devices.classes.find_for_resource(n) is not None) if names else ()

    # ---- nodes --------------------------------------------------------------------------------------------

    def apply_node(self, node: Node) -> int:
        """Add a node or replace what is known of it. Returns its row."""
        name = node.metadata.name
        self.devices.set_node(name, node.metadata.labels, node.status.declared_features)
        row = self.nodes.set_node(node)
        self.images.set_node(row, node)
        return row

    def remove_node(self, name: str) -> None:
        """Forget a node; its row is kept until the last pod on it is gone."""
        self.devices.remove_node(name)
        row = self.nodes.unset_node(name)
        if row is None:
            return
        self.images.set_node(row, None)
        if not self._on_row.get(row):
            self.nodes.release_row(row)

    # ---- pods ---------------------------------------------------------------------------------------------

    def find_confirmed(self, uid: str) -> PodInfo | None:
        """Return a pod that has a node, as the API showed it last."""
        return None if uid in self.assumed else self.pods.get(uid)

    def add_pod(self, pod: PodInfo) -> None:
        """Take in a pod that has a node, as the API shows it; confirms an assumed pod."""
        known = self.pods.get(pod.uid)
        if known is not None:
            self.assumed.pop(pod.uid, None)
            row = known.row
            if self.nodes.row_of.get(pod.node_name) == row and _weighs_the_same(known, pod):
                if known.start_time != pod.start_time:
                    self.nodes.version[row] += 1  # preemption spares pods by how long they have run
                    self.starts += 1
                pod.row = row
                self.pods[pod.uid] = pod
                self._on_row[row][pod.uid] = pod
                return
            self._displace(known)  # may free the row, so the new one is looked up after this
        self._place(pod, self.nodes.ensure_row(pod.node_name))

    def remove_pod(self, uid: str) -> PodInfo | None:
        """Forget a pod that is gone or has ended. Returns what was known of it."""
        known = self.pods.get(uid)
        if known is not None:
            self.assumed.pop(uid, None)
            self._displace(known)
        return known

    def assume(self, pod: PodInfo, row: int) -> None:
        """Count ``pod`` on ``row`` before the API knows. Raises InvariantError when it has a node already."""
        if pod.uid in self.pods:
            raise InvariantError(f"pod {pod.key} is on node {self.pods[pod.uid].node_name} already")
        pod.node_name = self.nodes.name(row)
        self._place(pod, row)
        self.assumed[pod.uid] = pod

    def forget(self, pod: PodInfo) -> bool:
        """Take back an assumption. False when the pod is not assumed any more (confirmed, or gone)."""
        known = self.assumed.pop(pod.uid, None)
        if known is None:
            return False
        self._displace(known)
        known.node_name = ""
        return True

    def reweigh(self, pod: PodInfo, usage: Usage) -> None:
        """Count an assumed pod with another usage from now on; nothing happens to one that is not assumed any more."""
        if pod.uid not in self.assumed or pod.usage is usage:
            return
        row = pod.row
        self._count(pod, row, -1)
        pod.usage = usage
        self._count(pod, row, 1)

    def pods_on(self, row: int) -> Mapping[str, PodInfo]:
        """Return the pods on a row, by uid."""
        return self._on_row.get(row, {})

    def trial(self) -> Trial:
        """Return a context in which pods can be taken off and put on rows; all is undone at its end."""
        return Trial(self._count)

    def _place(self, pod: PodInfo, row: int) -> None:
        pod.row = row
        self.pods[pod.uid] = pod
        on_row = self._on_row.get(row)
        if on_row is None:
            on_row = self._on_row[row] = {}
        on_row[pod.uid] = pod
        self.nodes.version[row] += 1
        self._count(pod, row, 1)

    def _displace(self, pod: PodInfo) -> None:
        row = pod.row
        del self.pods[pod.uid]
        on_row = self._on_row[row]
        del on_row[pod.uid]
        self.nodes.version[row] += 1
        self._count(pod, row, -1)
        pod.row = -1
        if not on_row:
            del self._on_row[row]
            if not self.nodes.valid[row]:
                self.nodes.release_row(row)

    def _count(self, pod: PodInfo, row: int, sign: int) -> None:
        """Add the pod to every column; cost grows with its requests and the selectors that match it."""
        nodes, usage, kind = self.nodes, pod.usage, pod.kind
        for resource, amount in usage.amounts:
            nodes.requested[resource, row] += sign * amount
        nodes.nonzero[0, row] += sign * usage.nonzero[0]
        nodes.nonzero[1, row] += sign * usage.nonzero[1]
        nodes.pod_count[row] += sign
        self.groups.add_pod(kind.group, row, sign, not pod.terminating)
        spec = kind.template.spec
        if spec.affinity is not None:
            self.terms.add_pod(kind, row, sign)
        ports = kind.template.host_ports
        if ports:
            self.ports.add(ports, row, sign)
        if spec.volumes:
            self.volumes.usage.add(pod, row, sign)
        nodes.usage.add(row)

    # ---- the rest -----------------------------------------------------------------------------------------

    def apply_namespace(self, name: str, labels: dict[str, str] | None) -> None:
        """Store the labels of a namespace; None when it is gone."""
        before = self.namespace_labels(name)
        if labels is None:
            self.namespaces.pop(name, None)
        else:
            self.namespaces[name] = labels
        if self.namespace_labels(name) != before:
            self.groups.namespace_changed(name)
            self._other_epoch += 1

    def apply_object(self, kind: str, key: str, view: View | None) -> View | None:
        """Store an object that plugins look up by kind, None when it is gone. Returns what was known before.

        What describes storage is kept in ``volumes``, the rest in ``objects``.
        """
        self.versions[kind] = self.versions.get(kind, 0) + 1
        if kind in STORAGE_KINDS:
            return self.volumes.apply(kind, key, view)
        if kind in PLAN_KINDS:
            self._other_epoch += 1
        of_kind = self.objects.setdefault(kind, {})
        before = of_kind.get(key)
        if view is None:
            of_kind.pop(key, None)
        else:
            of_kind[key] = view
        return before


def _weighs_the_same(known: PodInfo, pod: PodInfo) -> bool:
    return known.kind is pod.kind and known.usage is pod.usage and known.terminating == pod.terminating

"""Which pods are expected on which node: they made room there, or their status says so."""

from typing import Generic

from apportion.base import ChangeLog
from apportion.sched.queue.entity import PodT


class Nominator(Generic[PodT]):
    """The nominations of pods that have no node yet. The node need not exist.

    Behaviour: backend/queue/nominator.go. Whether a pod still exists and has no node is for the caller to
    check, who knows the informer; upstream asks its pod lister here.
    """

    __slots__ = ("_by_node", "_node_by_uid", "changes")

    def __init__(self) -> None:
        self.changes: ChangeLog[str] = ChangeLog()  # nodes whose nominations changed
        self._node_by_uid: dict[str, str] = {}
        self._by_node: dict[str, dict[str, PodT]] = {}

    def add(self, pod: PodT, node_name: str | None = None) -> None:
        """Set the node in place of an earlier one: ``""`` clears, None takes what the pod's status says."""
        self.delete(pod)
        node = pod.nominated_node_name if node_name is None else node_name
        if node:
            self._node_by_uid[pod.uid] = node
            self._by_node.setdefault(node, {})[pod.uid] = pod
            self.changes.add(node)

    def update(self, old: PodT, new: PodT) -> None:
        """Follow a pod to its newer object.

        A nomination that only this scheduler knows of yet (neither object carries one) is kept.
        """
        known, node = self._node_by_uid.get(old.uid), new.nominated_node_name
        if known and not old.nominated_node_name and not node:
            node = known
        if known and known == node and old.uid == new.uid:
            self._by_node[node][new.uid] = new
            self.changes.add(node)
        else:
            self.delete(old)
            self.add(new, node)

    def delete(self, pod: PodT) -> None:
        """Forget the nomination of a pod, if there is one."""
        node = self._node_by_uid.pop(pod.uid, None)
        if node is not None:
            pods = self._by_node[node]
            del pods[pod.uid]
            if not pods:
                del self._by_node[node]
            self.changes.add(node)

    def find_node(self, uid: str) -> str | None:
        """Return the node that a pod is nominated to."""
        return self._node_by_uid.get(uid)

    def for_node(self, node_name: str) -> list[PodT]:
        """Return the pods nominated to a node, in the order of their nomination."""
        return list(self._by_node.get(node_name, {}).values())

    def __bool__(self) -> bool:
        return bool(self._by_node)

    def node_names(self) -> list[str]:
        """Return the nodes that have nominations, sorted."""
        return sorted(self._by_node)

"""The pods that are expected on nodes and that another pod has to respect."""

from apportion.sched.queue import Nominator
from apportion.sched.state import NodeTable, PodInfo


class ExpectedPods:
    """Nominated pods of equal or higher priority than ``pod``, which itself does not count."""

    __slots__ = ("_nodes", "nominator", "pod")

    def __init__(self, nominator: Nominator[PodInfo], nodes: NodeTable, pod: PodInfo) -> None:
        self.nominator = nominator
        self.pod = pod
        self._nodes = nodes

    def on(self, row: int) -> list[PodInfo]:
        """Return those that are expected on the node in ``row``."""
        name = self._nodes.names[row]
        nominated = self.nominator.for_node(name) if name is not None else ()
        if not nominated:
            return []
        pod = self.pod
        return [p for p in nominated if p.priority >= pod.priority and p.uid != pod.uid]

    def own_row(self) -> int | None:
        """Return the row of the node that the pod itself is nominated to: what is expected there differs for it."""
        name = self.nominator.find_node(self.pod.uid)
        return None if name is None else self._nodes.row_of.get(name)

    def changed_rows(self, cursor: int) -> list[int] | None:
        """Return the rows whose expected pods changed after ``cursor``; None means "too many to list"."""
        names = self.nominator.changes.since(cursor, 1024) if cursor >= 0 else None
        if names is None:
            return None
        rows = (self._nodes.row_of.get(name) for name in names)
        return [row for row in rows if row is not None]

    def all_rows(self) -> list[int]:
        """Return the rows of all nodes on which any pod is expected."""
        rows = (self._nodes.row_of.get(name) for name in self.nominator.node_names())
        return [row for row in rows if row is not None]

"""NodePorts: the host ports that a pod wants must be free on its node."""

from collections.abc import Sequence

from apportion.sched.framework.columns import RowGroups
from apportion.sched.framework.plugin import NOTHING_TO_FILTER, PreFilterResult
from apportion.sched.framework.status import Status, unschedulable
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import Bools, ClusterState, HostPort, Int64s, PodInfo

_COLUMNS_MAX = 1024


class NodePorts:
    """Columns are shared by pods that want the same host ports."""

    name = "NodePorts"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._state = handle.state
        self._status = unschedulable(self.name, "node(s) didn't have free ports for the requested pod ports")
        self._columns: dict[tuple[HostPort, ...], PortColumn] = {}

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column of nodes where the wanted ports are free; nothing for a pod without host ports."""
        wanted = pod.kind.template.host_ports
        if not wanted:
            return NOTHING_TO_FILTER
        column = self._columns.get(wanted)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            column = self._columns[wanted] = PortColumn(self._state, wanted, self._status)
        return PreFilterResult(column=column)

    def events_to_register(self) -> Sequence[Registration]:
        """A pod that used a wanted port goes; a node appears."""
        gone = ClusterEvent("AssignedPod", ActionType.DELETE)
        node = ClusterEvent("Node", ActionType.ADD)
        return [Registration(self.name, gone, self._hint_pod, per_kind=True), Registration(self.name, node, None)]

    def _hint_pod(self, pod: PodInfo, old: object, new: object) -> Hint:
        if not isinstance(old, PodInfo):
            return Hint.SKIP
        freed = {(protocol, port) for protocol, port, _ in old.kind.template.host_ports}
        wanted = any((protocol, port) in freed for protocol, port, _ in pod.kind.template.host_ports)
        return Hint.QUEUE if wanted else Hint.SKIP


class PortColumn:
    """Rows where every wanted port is free."""

    __slots__ = ("_cursor", "_state", "_status", "_wanted", "ok", "stamp")
    keeps_reasons = True

    def __init__(self, state: ClusterState, wanted: tuple[HostPort, ...], status: Status) -> None:
        self._state = state
        self._wanted = wanted
        self._status = status
        self.stamp = 0
        self._compute()

    def _compute(self) -> None:
        nodes = self._state.nodes
        self._cursor = nodes.usage.head
        self.ok: Bools = nodes.valid.copy()
        for port in self._wanted:
            for row in self._state.ports.conflicts(port):
                self.ok[row] = False

    def refresh(self) -> None:
        """Bring ``ok`` up to date; only rows whose pods or node changed are looked at."""
        nodes = self._state.nodes
        if self._cursor == nodes.usage.head:
            return
        rows = nodes.usage.since(self._cursor, 1024)
        if rows is None or len(self.ok) != nodes.rows:
            self._compute()
            return
        self._cursor = nodes.usage.head
        for row in rows:
            self.ok[row] = nodes.valid[row] and self._state.ports.is_free(self._wanted, row)

    def statuses(self, rows: Int64s) -> RowGroups:
        """One reason for all."""
        return [(self._status, rows)]

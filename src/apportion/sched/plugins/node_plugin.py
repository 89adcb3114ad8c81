"""The simple way to write a plugin: judge one node at a time. See docs/plugins.md.

The answers are kept by pod kind (namespace, labels, spec) and asked for again on nodes that changed or whose pods
changed, so a function of pod and node costs little although it is Python.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from apportion.api.core import Node, Taint
from apportion.sched.framework import (
    Command,
    PluginFaultError,
    PreFilterResult,
    RowGroups,
    Scored,
    Status,
    unschedulable,
)
from apportion.sched.plugins.handle import Handle
from apportion.sched.queue import ActionType, ClusterEvent, Registration
from apportion.sched.state import Bools, ClusterState, Int64s, PodInfo

T = TypeVar("T")
KINDS_MAX: Final = 256
_ROWS_MAX: Final = 1024
MAX_SCORE: Final = 100
_MEANT: Final = ActionType.ALL & ~ActionType.UPDATE_POD_OTHER  # not each change of a status, its own one among them
_EVERYTHING: Final = (
    ClusterEvent("Node", ActionType.ALL),
    ClusterEvent("AssignedPod", _MEANT, "AssignedPodAll"),
    ClusterEvent("TargetPod", _MEANT, "TargetPodAll"),
)


class NodeView:
    """One node as it stands now, pods that are expected on it included."""

    __slots__ = ("_row", "_state")

    def __init__(self, state: ClusterState, row: int) -> None:
        self._state = state
        self._row = row

    @property
    def name(self) -> str:
        """The node's name."""
        return self._state.nodes.name(self._row)

    @property
    def labels(self) -> dict[str, str]:
        """The node's labels."""
        return self._view.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """The node's annotations."""
        return self._view.metadata.annotations

    @property
    def taints(self) -> tuple[Taint, ...]:
        """The node's taints."""
        return self._view.spec.taints

    @property
    def pods(self) -> Sequence[PodInfo]:
        """The pods on the node."""
        return tuple(self._state.pods_on(self._row).values())

    def allocatable(self, resource: str) -> int:
        """How much of a resource pods may request: milli-CPUs, bytes, or whole units."""
        return self._read(self._state.nodes.allocatable, resource)

    def requested(self, resource: str) -> int:
        """How much of a resource the pods on the node request, in the same units."""
        return self._read(self._state.nodes.requested, resource)

    def free(self, resource: str) -> int:
        """How much of a resource is left."""
        return self.allocatable(resource) - self.requested(resource)

    @property
    def _view(self) -> Node:
        view = self._state.nodes.views[self._row]
        assert view is not None  # only rows that a Node object describes are asked about
        return view

    def _read(self, amounts: Int64s, resource: str) -> int:
        found = self._state.nodes.resources.find(resource)
        return 0 if found is None else int(amounts[found, self._row])


class NodePlugin:
    """Base of plugins that judge nodes one by one; overrides what it needs of the methods below.

    Other extension points are added by writing their methods: ``pre_enqueue``, ``reserve`` and ``unreserve``,
    ``permit``, ``pre_bind``, ``bind``, ``post_bind`` (see ``apportion.sched.framework``).
    """

    name: str = ""
    # The answers of a plugin that looks at more than the pod's kind and the node are asked for with every pod.
    per_pod: bool = False
    allows_parallel_pre_bind: bool = False
    # What may make a pod schedulable that the plugin rejected.
    events: Sequence[ClusterEvent] = _EVERYTHING

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self._filters: dict[int, NodeFilter] = {}
        self._scores: dict[int, NodeScore] = {}

    def __init_subclass__(cls) -> None:
        cls.name = cls.__dict__.get("name", cls.__name__)

    # ---- to be overridden ---------------------------------------------------------------------------------

    def filter(self, pod: PodInfo, node: NodeView) -> str | None:
        """Return why the node does not do, None when it does."""
        return None

    def score(self, pod: PodInfo, node: NodeView) -> int:
        """Return 0 to 100, 100 for the best node."""
        return 0

    def waits_in_pre_bind(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether ``pre_bind`` may take long for this pod."""
        return False

    def unreserve(self, pod: PodInfo, row: int, state: object) -> Sequence[Command]:
        """Give back what ``reserve`` kept."""
        return ()

    def pre_bind_pre_flight(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether ``pre_bind`` has something to do."""
        return True

    # ---- what the framework asks --------------------------------------------------------------------------

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return the column over ``filter``; nothing when it is not overridden."""
        if type(self).filter is NodePlugin.filter:
            return PreFilterResult(state=self)
        column = None if self.per_pod else self._filters.get(pod.kind.id)
        if column is None:
            column = _keep(self._filters, pod.kind.id, NodeFilter(self, self.handle.state, pod))
        return PreFilterResult(column=column, state=self)

    def pre_score(self, pod: PodInfo, state: object) -> "NodeScore | None":
        """Return the column over ``score``; None when it is not overridden."""
        if type(self).score is NodePlugin.score:
            return None
        column = None if self.per_pod else self._scores.get(pod.kind.id)
        return column or _keep(self._scores, pod.kind.id, NodeScore(self, self.handle.state, pod))

    def events_to_register(self) -> Sequence[Registration]:
        """Every event that may help, without a hint."""
        return [Registration(self.name, event) for event in self.events]


def _keep(columns: dict[int, T], key: int, column: T) -> T:
    if len(columns) >= KINDS_MAX:
        del columns[next(iter(columns))]
    columns[key] = column
    return column


class _Rows:
    """Follows the rows that changed, and asks for each of them again."""

    def __init__(self, state: ClusterState) -> None:
        self.state = state
        self.rows = -1
        self._cursor = -1

    def update(self, ask: Callable[[int], None], resize: Callable[[int], None]) -> None:
        nodes = self.state.nodes
        if self._cursor == nodes.usage.head and self.rows == nodes.rows:
            return
        head = nodes.usage.head
        changed = nodes.usage.since(self._cursor, _ROWS_MAX) if self._cursor >= 0 else None
        if changed is None or self.rows != nodes.rows:
            resize(nodes.rows)
            changed = list(range(nodes.rows))
        for row in changed:
            if nodes.valid[row]:
                ask(row)
        self.rows, self._cursor = nodes.rows, head  # last: after a fault everything is asked again


class NodeFilter:
    """The answers of ``filter`` for one kind of pod."""

    keeps_reasons = True

    def __init__(self, plugin: NodePlugin, state: ClusterState, pod: PodInfo) -> None:
        self._plugin = plugin
        self._pod = pod
        self._followed = _Rows(state)
        self._reasons: dict[int, str] = {}
        self.stamp = 0
        self.ok: Bools = np.zeros(0, np.bool_)

    def refresh(self) -> None:
        """Bring ``ok`` up to date."""
        self._followed.update(self._ask, self._resize)

    def _resize(self, rows: int) -> None:
        self.ok = np.zeros(rows, np.bool_)
        self._reasons.clear()
        self.stamp += 1

    def _ask(self, row: int) -> None:
        reason = _call(self._plugin, self._plugin.filter, self._pod, NodeView(self._followed.state, row))
        if reason is not None and not isinstance(reason, str):
            text = f"filter returned {reason!r}, not a reason or None"
            raise PluginFaultError(f"plugin {self._plugin.name} failed: {text}")
        self.ok[row] = reason is None
        if reason is None:
            self._reasons.pop(row, None)
        else:
            self._reasons[row] = reason

    def statuses(self, rows: Int64s) -> RowGroups:
        """Rows with the same reason together."""
        groups: dict[str, list[int]] = {}
        for row in rows.tolist():
            groups.setdefault(self._reasons.get(row, ""), []).append(row)
        return [(self._status(reason), np.array(found, np.int64)) for reason, found in groups.items()]

    def _status(self, reason: str) -> Status:
        return unschedulable(self._plugin.name, reason)


class NodeScore(Scored):
    """The answers of ``score`` for one kind of pod."""

    def __init__(self, plugin: NodePlugin, state: ClusterState, pod: PodInfo) -> None:
        super().__init__(pointwise=True)
        self._plugin = plugin
        self._pod = pod
        self._followed = _Rows(state)

    def refresh(self) -> None:
        """Bring ``raw`` up to date."""
        self._followed.update(self._ask, self._resize)

    def _resize(self, rows: int) -> None:
        self.raw = np.zeros(rows, np.int64)
        self.stamp += 1

    def _ask(self, row: int) -> None:
        score = _call(self._plugin, self._plugin.score, self._pod, NodeView(self._followed.state, row))
        if not isinstance(score, int) or not 0 <= score <= MAX_SCORE:
            raise PluginFaultError(f"plugin {self._plugin.name} failed: score returned {score!r}, not 0 to 100")
        self.raw[row] = score


def _call(plugin: NodePlugin, method: Callable[[PodInfo, NodeView], Any], pod: PodInfo, node: NodeView) -> Any:
    try:
        return method(pod, node)
    except Exception as fault:
        text = f"plugin {plugin.name} failed on node {node.name}: {type(fault).__name__}: {fault}"
        raise PluginFaultError(text) from fault

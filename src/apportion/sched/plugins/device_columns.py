"""The columns of DynamicResources: where claims can be allocated and used, and how well."""

import numpy as np

from apportion.alloc import Allocator, Problem
from apportion.api.selectors import compile_node_selector
from apportion.api.view import NodeSelector
from apportion.sched.framework.columns import RowGroups, Scored, normalize_default
from apportion.sched.framework.status import unresolvable
from apportion.sched.state import Bools, ClusterState, Int64s

_NAME = "DynamicResources"
_UNAVAILABLE = unresolvable(_NAME, "resourceclaim not available on the node")


class DeviceColumn:
    """One problem (claims to allocate together) and the node selectors of the claims that are allocated.

    Nodes are judged again only when their devices, their labels or their Node object changed.
    """

    __slots__ = (
        "_allocator",
        "_cursor",
        "_is_shut",
        "_matchers",
        "_seen_nodes",
        "_state",
        "ok",
        "prepared",
        "problem",
        "score",
        "stamp",
    )

    def __init__(
        self,
        state: ClusterState,
        allocator: Allocator,
        problem: Problem | None,
        selectors: tuple[NodeSelector, ...],
        is_shut: bool = False,
    ) -> None:
        """``is_shut``: some allocated claim cannot be used anywhere."""
        self._state = state
        self._allocator = allocator
        self.problem = problem
        self.prepared = None if problem is None else problem.prepared
        self._is_shut = is_shut
        self._matchers = [compile_node_selector(s) for s in selectors]
        self.stamp = 0
        self.score = DeviceScore(self)
        self.ok: Bools = np.zeros(0, np.bool_)
        self._compute()

    def _compute(self) -> None:
        nodes = self._state.nodes
        self._seen_nodes = nodes.changes.head
        self._cursor = self._state.devices.cursor
        self.ok = np.zeros(nodes.rows, np.bool_)
        self.score.raw = np.zeros(nodes.rows, np.int64)
        for row in np.flatnonzero(nodes.valid).tolist():
            self._judge(row)
        self.stamp += 1

    def _judge(self, row: int) -> None:
        nodes = self._state.nodes
        name = nodes.name(row)
        fits, score = True, 0
        if self.problem is not None:
            answer = self._allocator.judge(self.problem, name)
            fits, score = answer.fits, answer.score
        fits = fits and not self._is_shut
        if fits and self._matchers:
            fits = all(m.matches(name, nodes.labels(row)) for m in self._matchers)
        self.ok[row] = fits
        self.score.raw[row] = score

    def refresh(self) -> None:
        """Bring ``ok`` up to date; work is proportional to the nodes whose devices changed."""
        nodes, devices = self._state.nodes, self._state.devices
        if self._seen_nodes != nodes.changes.head or len(self.ok) != nodes.rows:
            self._compute()
            return
        if self.problem is None or self._cursor == devices.cursor:
            return
        changed = devices.changed_nodes(self._cursor)
        if changed is None:
            self._compute()
            return
        self._cursor = devices.cursor
        for name in sorted(changed):
            row = nodes.row_of.get(name)
            if row is not None and nodes.valid[row]:
                self._judge(row)
                nodes.usage.add(row)  # tells whoever reads this column which rows to look at

    def statuses(self, rows: Int64s) -> RowGroups:
        """What the allocator said, or that an allocated claim cannot be used there."""
        texts: dict[str, list[int]] = {}
        for row in rows.tolist():
            reason = ""
            if self.problem is not None:
                answer = self._allocator.judge(self.problem, self._state.nodes.name(row))
                reason = "" if answer.fits else answer.reason
            texts.setdefault(reason, []).append(row)
        return [
            (unresolvable(_NAME, reason) if reason else _UNAVAILABLE, np.array(found, np.int64))
            for reason, found in texts.items()
        ]


class DeviceScore(Scored):
    """Earlier alternatives of prioritized lists are better; 0 everywhere for claims without them."""

    __slots__ = ("_column",)

    def __init__(self, column: DeviceColumn) -> None:
        super().__init__(pointwise=False)
        self._column = column

    def refresh(self) -> None:
        """The filter column brings ``raw`` up to date."""
        self._column.refresh()
        self.stamp = self._column.stamp
        self.constant = None if self.raw.any() else 0

    def normalized(self, ok: Bools) -> Int64s:
        """Scale so that the best feasible node has 100."""
        return normalize_default(self.raw, ok, reverse=False)

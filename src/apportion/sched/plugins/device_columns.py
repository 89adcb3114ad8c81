"""The columns of DynamicResources: where claims can be allocated and used, and how well."""

from typing import Final

import numpy as np

from apportion.alloc import Allocator, Problem
from apportion.api.selectors import compile_node_selector
from apportion.api.view import NodeSelector
from apportion.sched.framework.columns import RowGroups, Scored, normalize_default
from apportion.sched.framework.status import Status, unresolvable
from apportion.sched.plugins.extended_claims import ExtendedProblems
from apportion.sched.state import Bools, ClusterState, Int64s, NodeTable

COLUMNS_MAX: Final = 512
SEARCHES_MAX: Final = 4  # a hostile claim must not hold up other pods node by node
_NAME = "DynamicResources"
_OPEN = unresolvable(_NAME, "search limit: the search on other nodes took all that one attempt may cost")
_UNAVAILABLE = unresolvable(_NAME, "resourceclaim not available on the node")


class DeviceColumn:
    """One problem (claims to allocate together) and the node selectors of the claims that are allocated.

    Nodes are judged again only when their devices, their labels or their Node object changed. One attempt may cost
    as much as `SEARCHES_MAX` searches that are given up; nodes beyond that stay open until the next.
    """

    __slots__ = (
        "_allocator",
        "_cursor",
        "_granted",
        "_is_shut",
        "_matchers",
        "_open",
        "_seen_nodes",
        "_state",
        "judged",
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
        self.judged = 0  # how often a node got another score
        self.score = DeviceScore(self)
        self.ok: Bools = np.zeros(0, np.bool_)
        self._open: set[int] = set()  # rows that nobody could afford to judge
        self._granted = allocator.work
        self._compute()

    def begin_attempt(self) -> None:
        """Judge what the last attempt left open, as far as this one may."""
        self._granted = self._allocator.work
        if not self._open:
            return
        rows, self._open = sorted(self._open), set()
        for row in rows:
            if row < len(self.ok) and self._state.nodes.valid[row]:
                self._judge(row)
        self.stamp += 1

    @property
    def _is_spent(self) -> bool:
        allocator = self._allocator
        return allocator.work - self._granted > SEARCHES_MAX * allocator.steps_max

    def problem_at(self, row: int) -> Problem | None:
        """Return what is to be allocated if the pod goes to a node, None for nothing."""
        return self.problem

    def _find_refusal(self, row: int) -> Status | None:
        """Return why a node will not do whatever its devices."""
        return None

    @property
    def _follows_devices(self) -> bool:
        return self.problem is not None

    def _compute(self) -> None:
        nodes = self._state.nodes
        self._seen_nodes = nodes.changes.head
        self._cursor = self._state.devices.cursor
        self.ok = np.zeros(nodes.rows, np.bool_)
        self.score.raw = np.zeros(nodes.rows, np.int64)
        self._open.clear()
        for row in np.flatnonzero(nodes.valid).tolist():
            self._judge(row)
        self.judged += 1
        self.stamp += 1

    def _judge(self, row: int) -> None:
        nodes = self._state.nodes
        name = nodes.name(row)
        fits, score = self._find_refusal(row) is None, 0
        problem = self.problem_at(row) if fits else None
        self._open.discard(row)
        if problem is not None and self._is_spent:
            self._open.add(row)
            fits = False
        elif problem is not None:
            answer = self._allocator.judge(problem, name)
            fits, score = answer.fits, answer.score
        fits = fits and not self._is_shut
        if fits and self._matchers:
            fits = all(m.matches(name, nodes.labels(row)) for m in self._matchers)
        self.ok[row] = fits
        raw = self.score.raw
        if raw[row] != score:
            raw[row] = score
            self.judged += 1

    def refresh(self) -> None:
        """Bring ``ok`` up to date; work is proportional to the nodes whose devices changed."""
        nodes, devices = self._state.nodes, self._state.devices
        if self._seen_nodes != nodes.changes.head or len(self.ok) != nodes.rows:
            self._compute()
            return
        if not self._follows_devices or self._cursor == devices.cursor:
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
        groups: dict[Status, list[int]] = {}
        for row in rows.tolist():
            groups.setdefault(self._find_refusal(row) or self._describe(row), []).append(row)
        return [(status, np.array(found, np.int64)) for status, found in groups.items()]

    def _describe(self, row: int) -> Status:
        if row in self._open:
            return _OPEN
        problem = self.problem_at(row)
        if problem is not None:
            answer = self._allocator.judge(problem, self._state.nodes.name(row))
            if not answer.fits:
                return unresolvable(_NAME, answer.reason)
        return _UNAVAILABLE


class ExtendedDeviceColumn(DeviceColumn):
    """Claims to allocate together, among them one for extended resources that differs from node to node."""

    __slots__ = ("problems",)

    def __init__(
        self,
        state: ClusterState,
        allocator: Allocator,
        problems: ExtendedProblems,
        selectors: tuple[NodeSelector, ...],
        is_shut: bool = False,
    ) -> None:
        self.problems = problems
        super().__init__(state, allocator, problems.shared, selectors, is_shut)

    def problem_at(self, row: int) -> Problem | None:
        """Return what is to be allocated if the pod goes to a node, None for nothing."""
        return self.problems.at(row)

    def _find_refusal(self, row: int) -> Status | None:
        return self.problems.request.find_refusal(row, _NAME)

    @property
    def _follows_devices(self) -> bool:
        return True


class DeviceScore(Scored):
    """Earlier alternatives of prioritized lists are better; 0 everywhere for claims without them."""

    __slots__ = ("_column", "_judged")

    def __init__(self, column: DeviceColumn) -> None:
        super().__init__(pointwise=False)
        self._column = column
        self._judged = -1

    def refresh(self) -> None:
        """The filter column brings ``raw`` up to date."""
        column = self._column
        column.refresh()
        self.stamp = column.stamp
        if self._judged != column.judged:
            self._judged = column.judged
            self.constant = None if self.raw.any() else 0

    def normalized(self, ok: Bools) -> Int64s:
        """Scale so that the best feasible node has 100."""
        return normalize_default(self.raw, ok, reverse=False)


class RefusedEverywhere:
    """The column of a pod that fits on no node, for one reason."""

    __slots__ = ("_nodes", "_status", "ok", "stamp")

    def __init__(self, nodes: NodeTable, status: Status) -> None:
        self._nodes = nodes
        self._status = status
        self.stamp = 0
        self.ok: Bools = np.zeros(nodes.rows, np.bool_)

    def refresh(self) -> None:
        """Only the number of rows can change."""
        if len(self.ok) != self._nodes.rows:
            self.ok = np.zeros(self._nodes.rows, np.bool_)
            self.stamp += 1

    def statuses(self, rows: Int64s) -> RowGroups:
        """All rows are refused for the same reason."""
        return [(self._status, rows)]


class DeviceColumns:
    """The columns in use; pods whose claims ask for the same share one."""

    def __init__(self, state: ClusterState, allocator: Allocator) -> None:
        self._state = state
        self._allocator = allocator
        self._columns: dict[tuple[object, ...], DeviceColumn] = {}
        self._extended: dict[tuple[object, ...], ExtendedDeviceColumn] = {}

    def get(self, problem: Problem | None, selectors: tuple[NodeSelector, ...], is_shut: bool) -> DeviceColumn:
        """Return the column for claims to allocate and the selectors of those that are allocated."""
        prepared = None if problem is None else problem.prepared
        key = (id(prepared), selectors, is_shut)
        column = self._columns.get(key)
        if column is None or column.prepared is not prepared:
            if len(self._columns) >= COLUMNS_MAX:
                self._columns.clear()
            column = self._columns[key] = DeviceColumn(self._state, self._allocator, problem, selectors, is_shut)
        else:
            column.begin_attempt()
        column.problem = problem  # claims with equal specs share the column; its texts name the pod's own
        return column

    def get_extended(
        self, problems: ExtendedProblems, selectors: tuple[NodeSelector, ...], is_shut: bool
    ) -> ExtendedDeviceColumn:
        """Return the column for pods of one template that use devices for extended resources."""
        prepared = None if problems.shared is None else problems.shared.prepared
        key = (id(problems.request), id(prepared), selectors, is_shut)
        column = self._extended.get(key)
        if column is None or column.problems.request is not problems.request or column.prepared is not prepared:
            if len(self._extended) >= COLUMNS_MAX:
                self._extended.clear()
            column = ExtendedDeviceColumn(self._state, self._allocator, problems, selectors, is_shut)
            self._extended[key] = column
        else:
            column.begin_attempt()
        column.problems = problems  # as above
        return column

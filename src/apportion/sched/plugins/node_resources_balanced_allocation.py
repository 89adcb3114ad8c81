"""NodeResourcesBalancedAllocation: prefers nodes whose resources are used evenly once the pod is there."""

import numpy as np

from apportion.sched.framework.columns import MAX_NODE_SCORE, Scored
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.scoring_strategy import read_resources
from apportion.sched.state import Int64s, NodeTable, PodInfo, Usage

_COLUMNS_MAX = 2048


class NodeResourcesBalancedAllocation:
    """Columns are shared by pods with equal requests; pods without requests are skipped."""

    name = "NodeResourcesBalancedAllocation"
    per_pod = False

    def __init__(self, handle: Handle) -> None:
        self._nodes = handle.state.nodes
        self._resources = read_resources(
            handle.args.get("resources"), "NodeResourcesBalancedAllocationArgs.resources"
        )
        self._columns: dict[tuple[int, ...], BalanceScore] = {}

    def pre_score(self, pod: PodInfo, state: object) -> "BalanceScore | None":
        """Return the column for these requests; None when the pod requests none of the resources."""
        requests = dict(pod.usage.requests)
        key = tuple(requests.get(name, 0) for name, _ in self._resources)
        if not any(key):
            return None
        column = self._columns.get(key)
        if column is None:
            if len(self._columns) >= _COLUMNS_MAX:
                self._columns.clear()
            column = self._columns[key] = BalanceScore(self._nodes, self._resources, pod.usage)
        return column


class BalanceScore(Scored):
    """How evenly the resources are used with the pod, compared with how evenly they are without it."""

    __slots__ = ("_cursor", "_nodes", "_terms")

    def __init__(self, nodes: NodeTable, resources: tuple[tuple[str, int], ...], usage: Usage) -> None:
        super().__init__(pointwise=True)
        self._nodes = nodes
        requests = dict(usage.requests)
        native = ("cpu", "memory", "ephemeral-storage")
        self._terms = [
            (nodes.resource_id(name), requests.get(name, 0))
            for name, _ in resources
            if name in native or requests.get(name)
        ]
        self._compute()

    def _compute(self) -> None:
        nodes = self._nodes
        self._cursor = nodes.usage.head
        rows = np.arange(nodes.rows)
        self.raw = self._score(rows)

    def _score(self, rows: Int64s) -> Int64s:
        ids = np.array([i for i, _ in self._terms], np.intp)[:, None]
        added = np.array([[v] for _, v in self._terms], np.int64)
        allocatable = self._nodes.allocatable[ids, rows]
        requested = self._nodes.requested[ids, rows]
        before = _evenness(allocatable, requested)
        after = _evenness(allocatable, requested + added)
        return (MAX_NODE_SCORE // 2 + (MAX_NODE_SCORE // 2 + after - before) / 2).astype(np.int64)

    def refresh(self) -> None:
        """Bring ``raw`` up to date; only rows whose pods or node changed are scored again."""
        nodes = self._nodes
        if self._cursor == nodes.usage.head:
            return
        rows = nodes.usage.since(self._cursor, max(8, nodes.rows // 8))
        if rows is None or len(self.raw) != nodes.rows:
            self._compute()
            return
        self._cursor = nodes.usage.head
        self.raw[rows] = self._score(np.array(rows))


def _evenness(allocatable: Int64s, requested: Int64s) -> "np.typing.NDArray[np.float64]":
    """Return 100 × (1 - standard deviation of the used fractions), per row; absent resources do not count."""
    present = allocatable > 0
    fraction = np.where(present, np.minimum(requested / np.maximum(allocatable, 1), 1.0), 0.0)
    count = np.maximum(present.sum(axis=0), 1)
    mean = fraction.sum(axis=0) / count
    deviation = np.where(present, fraction - mean, 0.0)
    return np.trunc((1 - np.sqrt((deviation**2).sum(axis=0) / count)) * MAX_NODE_SCORE)



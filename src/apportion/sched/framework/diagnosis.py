"""Why no node fits: for each node the first plugin in profile order that rejects it, with its reasons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from apportion.sched.framework.columns import FilterColumn, RowGroups
from apportion.sched.framework.status import Code, Status
from apportion.sched.state import Int64s, NodeTable

PRE_FILTER = "PreFilter"  # stands as plugin for nodes that a PreFilter result left out


@dataclass(slots=True)
class Diagnosis:
    """The outcome of a search that found no node.

    ``groups`` are rows with the same answer, each valid row in exactly one group; ``pre_filter`` is set instead
    when the pod was turned down before any node was looked at. ``node_count`` is the number of nodes.
    """

    node_count: int
    groups: RowGroups = field(default_factory=list)
    pre_filter: Status | None = None
    narrowed_by: frozenset[str] = frozenset()

    def unschedulable_plugins(self) -> frozenset[str]:
        """Return the plugins whose rejection an event could undo."""
        return self._plugins(Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def pending_plugins(self) -> frozenset[str]:
        """Return the plugins that answered Pending."""
        return self._plugins(Code.PENDING)

    def _plugins(self, *codes: Code) -> frozenset[str]:
        found = {s.plugin for s, rows in self.groups if s.code in codes and len(rows)}
        if self.pre_filter is not None and self.pre_filter.code in codes:
            found.add(self.pre_filter.plugin)
        found.discard(PRE_FILTER)
        return frozenset(found | self.narrowed_by) if Code.UNSCHEDULABLE in codes else frozenset(found)

    def message(self) -> str:
        """Return the text that kube-scheduler writes for this failure (framework.FitError)."""
        if not self.node_count:
            return "no nodes available to schedule pods"
        head = f"0/{self.node_count} nodes are available:"
        if self.pre_filter is not None:
            return f"{head} {self.pre_filter.message}."
        counts: dict[str, int] = {}
        for status, rows in self.groups:
            for reason in status.reasons:
                counts[reason] = counts.get(reason, 0) + len(rows)
        return f"{head} {', '.join(sorted(f'{n} {reason}' for reason, n in counts.items()))}."


def diagnose(nodes: NodeTable, filters: Sequence[FilterColumn], narrowed_by: Iterable[str] = ()) -> Diagnosis:
    """Ask the columns, in profile order, why each node is rejected. Cost: one pass over the rows per column."""
    remaining = nodes.valid.copy()
    groups: RowGroups = []
    for column in filters:
        column.refresh()
        rows: Int64s = np.flatnonzero(remaining & ~column.ok)
        if len(rows):
            groups.extend(column.statuses(rows))
            remaining[rows] = False
    return Diagnosis(nodes.count, groups, None, frozenset(narrowed_by))

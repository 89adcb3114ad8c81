"""Rows that would do for a pod but for other pods that are expected there."""

from apportion.sched.framework import FilterColumn, NodeProbe, RowGroups, RowStatuses, Status
from apportion.sched.state import Bools, ClusterState


class Contested:
    """For pods with equal columns and priority: which rows are blocked, and why.

    Work is proportional to the rows that changed and those whose expected pods did.
    """

    def __init__(self, state: ClusterState, columns: tuple[FilterColumn, ...]) -> None:
        self._nodes = state.nodes
        self._columns = columns  # kept, so that their ids stay theirs
        self._rows = RowStatuses()
        self._own: int | None = None  # a row that was judged for a pod that is expected there itself
        self._seen = (-1, -1, -1)  # stamps, changes of nodes and their pods, nominations
        self.hits = 0  # times that nothing had changed; tests of warm caches read it

    @property
    def groups(self) -> RowGroups:
        """The blocked rows by status; they must not be changed."""
        return self._rows.groups()

    def mask(self) -> Bools:
        """Return [row] bool: the row is blocked."""
        return self._rows.mask()

    def refresh(self, probe: NodeProbe) -> None:
        """Bring everything up to date for the pod of ``probe``."""
        own = probe.expected.own_row()
        stamp = probe.sum_stamps()
        if own is None and self._own is None and (stamp, *self._heads(probe)) == self._seen:
            self.hits += 1
            return
        for row in dict.fromkeys([*self._find_stale(probe, stamp), *(r for r in (self._own, own) if r is not None)]):
            self._rows.set(row, self._judge(row, probe))
        self._own = own
        # trials have put everything back, but changed the columns meanwhile
        self._seen = (stamp if probe.opens else probe.sum_stamps(), *self._heads(probe))

    def _heads(self, probe: NodeProbe) -> tuple[int, int]:
        return self._nodes.usage.head, probe.expected.nominator.changes.head

    def _find_stale(self, probe: NodeProbe, stamp: int) -> list[int]:
        seen_stamp, usage, nominations = self._seen
        if stamp == seen_stamp and len(self._rows) == self._nodes.rows:
            changed = self._nodes.usage.since(usage, 1024)
            expected = probe.expected.changed_rows(nominations)
            if changed is not None and expected is not None:
                return [*changed, *expected]
        self._rows.reset(self._nodes.rows)
        return probe.expected.all_rows()

    def _judge(self, row: int, probe: NodeProbe) -> Status | None:
        if not self._nodes.valid[row] or not probe.expected.on(row):
            return None
        for column in self._columns:
            column.refresh()
            if not column.ok[row]:
                return None  # it would not do anyway
        return probe.find_rejection(row)

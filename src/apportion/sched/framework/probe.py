"""One node asked at a time, as things stand now."""

from dataclasses import dataclass

import numpy as np

from apportion.sched.framework.columns import FilterColumn
from apportion.sched.framework.expected import ExpectedPods
from apportion.sched.framework.status import Status
from apportion.sched.state import ClusterState


@dataclass(frozen=True, slots=True)
class NodeProbe:
    """Asks whether a node would do as things stand now, also inside a trial.

    ``expected`` are the pods of equal or higher priority that are expected on nodes: the pod must fit with them and
    without them (RunFilterPluginsWithNominatedPods).
    """

    state: ClusterState
    columns: tuple[FilterColumn, ...]
    expected: ExpectedPods

    def sum_stamps(self) -> int:
        """Bring the columns up to date and return a number that rises when rows beyond the changed ones changed."""
        for column in self.columns:
            column.refresh()
        return sum(column.stamp for column in self.columns)

    def fits(self, row: int) -> bool:
        """Return whether the node in ``row`` would do; cheaper than asking for the reason."""
        expected = self.expected.on(row)
        if expected:
            with self.state.trial() as trial:
                for pod in expected:
                    trial.add(pod, row)
                if not self._fits(row):
                    return False
        return self._fits(row)

    def _fits(self, row: int) -> bool:
        for column in self.columns:
            column.refresh()
            if not column.ok[row]:
                return False
        return True

    def find_rejection(self, row: int) -> Status | None:
        """Return why the node in ``row`` is rejected, None if it is not."""
        expected = self.expected.on(row)
        if expected:
            with self.state.trial() as trial:
                for pod in expected:
                    trial.add(pod, row)
                rejection = self._ask(row)
            if rejection is not None:
                return rejection
        return self._ask(row)

    def _ask(self, row: int) -> Status | None:
        for column in self.columns:
            column.refresh()
            if not column.ok[row]:
                return column.statuses(np.array([row], np.int64))[0][0]
        return None

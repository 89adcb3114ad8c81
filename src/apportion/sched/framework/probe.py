"""One node asked at a time, as things stand now."""

from collections.abc import Sequence

from apportion.sched.framework.columns import FilterColumn, sum_stamps
from apportion.sched.framework.expected import ExpectedPods
from apportion.sched.framework.stages import LiveStage, PaperStage, Stage
from apportion.sched.framework.status import Status
from apportion.sched.state import ClusterState, PodInfo


class NodeProbe:
    """Asks whether a node would do as things stand now, also with other pods on it.

    ``expected`` are the pods of equal or higher priority that are expected on nodes: the pod must fit with them and
    without them (RunFilterPluginsWithNominatedPods). ``opens``: one node can be judged on paper (see ``can_open``).
    ``key`` stands for the columns for as long as somebody holds on to them. ``stamp``: what ``sum_stamps`` returns when
    somebody knows it already, and that it will not change.
    """

    __slots__ = ("columns", "expected", "key", "opens", "stamp", "state")

    def __init__(
        self,
        state: ClusterState,
        columns: tuple[FilterColumn, ...],
        expected: ExpectedPods,
        opens: bool = False,
        key: tuple[int, ...] | None = None,
    ) -> None:
        self.state = state
        self.columns = columns
        self.expected = expected
        self.opens = opens
        self.key = tuple(map(id, columns)) if key is None else key
        self.stamp: int | None = None

    def sum_stamps(self) -> int:
        """Bring the columns up to date and return a number that rises when rows beyond the changed ones changed."""
        return sum_stamps(self.columns) if self.stamp is None else self.stamp

    def open(self, row: int) -> Stage:
        """Return the node in ``row`` as a stage on which pods can be tried out."""
        if self.opens:
            return PaperStage(self.columns, row, self.stamp is not None)
        return LiveStage(self.state, self.columns, row)

    def find_rejection(self, row: int) -> Status | None:
        """Return why the node in ``row`` is rejected, None if it is not."""
        with self.open(row) as stage:
            return judge_stage(stage, self.expected.on(row))


def judge_stage(stage: Stage, expected: Sequence[PodInfo]) -> Status | None:
    """Return why the node is rejected as it stands on a stage, with and without expected pods; None if it is not."""
    if expected:
        for pod in expected:
            stage.add(pod)
        rejection = stage.ask()
        for pod in reversed(expected):
            stage.remove(pod)
        if rejection is not None:
            return rejection
    return stage.ask()

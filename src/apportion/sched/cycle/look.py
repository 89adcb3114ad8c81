"""One pod that looks for a node, from the first question to the last."""

from apportion.sched.cycle.contested import Contested
from apportion.sched.framework import ExpectedPods, NodeProbe, Plan
from apportion.sched.queue import Nominator
from apportion.sched.state import ClusterState, Int64s, PodInfo


class Look:
    """What has been found out for one pod, so that it is found out once.

    Holds while nothing happens to the state but trials that are taken back: for one decision.
    """

    __slots__ = ("contested", "has_contested", "is_ranked", "plan", "pod", "probe")

    def __init__(self, state: ClusterState, nominator: Nominator[PodInfo], pod: PodInfo, plan: Plan) -> None:
        self.pod = pod
        self.plan = plan
        self.probe = _make_probe(state, ExpectedPods(nominator, state.nodes, pod), plan)
        self.is_ranked = False
        self.has_contested = False
        self.contested: Contested | None = None

    def rank(self) -> Int64s:
        """Return [row] int64: the totals as the columns say, -1 where no node is feasible; the plan has a ranking."""
        ranking = self.plan.ranking
        assert ranking is not None
        if not self.is_ranked:
            self.is_ranked = True
            ranking.refresh()
            if ranking.opens:  # trials are made on paper, so that the columns stay as they are now
                self.probe.stamp = ranking.filter_stamp
        return ranking.ranked


def _make_probe(state: ClusterState, expected: ExpectedPods, plan: Plan) -> NodeProbe:
    if plan.ranking is None:
        return NodeProbe(state, tuple(c for _, _, c in plan.filters), expected)
    ranking = plan.ranking
    return NodeProbe(state, ranking.filters, expected, ranking.opens, ranking.key)

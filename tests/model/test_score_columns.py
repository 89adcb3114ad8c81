"""Scoring one row and scoring all rows are two ways to the same number, for every strategy."""

import numpy as np
import pytest
from builders import make_node
from hypothesis import given, settings
from hypothesis import strategies as st

from apportion.sched.plugins.fit_column import FitColumn
from apportion.sched.plugins.node_resources_balanced_allocation import BalanceScore
from apportion.sched.plugins.scoring_strategy import AllocationScore, ScoringStrategy, read_strategy
from apportion.sched.state import ClusterState, Usage

SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 30, "score": 7}, {"utilization": 100, "score": 10}]
STRATEGIES = {
    "least": read_strategy({}),
    "most": read_strategy({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 3}]}}),
    "ratio": read_strategy(
        {
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "resources": [
                    {"name": "cpu"},
                    {"name": "memory", "weight": 2},
                    {"name": "example.com/gpu", "weight": 5},
                ],
                "requestedToCapacityRatio": {"shape": SHAPE},
            }
        }
    ),
}
AMOUNTS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 12), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=6
)


def _state(rows: list[tuple[int, int, int, int]]) -> ClusterState:
    state = ClusterState()
    for i, (cpu, used, memory, gpus) in enumerate(rows):
        state.apply_node(make_node(f"n{i}", cpu=str(cpu), memory=f"{memory}Gi", extra={"example.com/gpu": str(gpus)}))
        state.nodes.requested[:2, i] = (used * 500, used << 29)
        state.nodes.nonzero[:, i] = (used * 500 + 100, used << 29)
        state.nodes.requested[state.nodes.resource_id("example.com/gpu"), i] = used // 4
    return state


def _usage(state: ClusterState, cpu: int, gpus: int) -> Usage:
    requests = tuple(r for r in (("cpu", cpu), ("example.com/gpu", gpus), ("memory", 1 << 30)) if r[1])
    amounts = tuple((state.nodes.resource_id(name), value) for name, value in requests)
    return Usage(0, requests, amounts, (cpu or 100, 1 << 30), (cpu or 100, 1 << 30))


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@given(rows=AMOUNTS, cpu=st.integers(0, 4000), gpus=st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_row_by_row_equals_all_at_once(
    strategy: ScoringStrategy, rows: list[tuple[int, int, int, int]], cpu: int, gpus: int
) -> None:
    state = _state(rows)
    usage = _usage(state, cpu, gpus)
    columns = [AllocationScore(state.nodes, strategy, usage)]
    if usage.requests:
        columns.append(BalanceScore(state.nodes, strategy.resources, usage))  # type: ignore[arg-type]
    for column in columns:
        assert [column._score_row(row) for row in range(len(rows))] == column.raw.tolist()
        assert not len(rows) or (column.raw.min() >= 0 and column.raw.max() <= 100)
    fit = FitColumn(state.nodes, usage.amounts)
    assert np.array_equal(fit.ok, [fit.fits(row) for row in range(len(rows))])

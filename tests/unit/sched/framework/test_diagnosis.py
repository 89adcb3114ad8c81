import numpy as np
from builders import Bench, node_tree, pod_tree

from apportion.sched.framework import Diagnosis, Status, diagnose, unresolvable, unschedulable


def test_every_row_is_in_exactly_one_group() -> None:
    bench = Bench()
    bench.put(
        "nodes",
        node_tree("small", cpu="1"),
        node_tree("cordoned", unschedulable=True),
        node_tree("tainted", taints=[{"key": "k", "effect": "NoExecute"}], cpu="1"),
        node_tree("full", pods="0"),
    )
    pod = bench.state.reader.read_tree(pod_tree("p", cpu="2"))
    plan = bench.scheduler.search.plan(pod)
    found = diagnose(bench.state.nodes, [c for _, _, c in plan.filters])
    rows = np.concatenate([rows for _, rows in found.groups])
    assert sorted(rows.tolist()) == [0, 1, 2, 3]
    by_node = {bench.state.nodes.name(r): s.plugin for s, group in found.groups for r in group.tolist()}
    assert by_node == {
        "small": "NodeResourcesFit",
        "cordoned": "NodeUnschedulable",
        "tainted": "TaintToleration",  # the first plugin in profile order speaks, though it is too small as well
        "full": "NodeResourcesFit",
    }


def test_the_message_counts_each_reason_and_sorts_the_texts() -> None:
    groups: list[tuple[Status, np.ndarray]] = [
        (unschedulable("Fit", "Insufficient cpu", "Too many pods"), np.arange(2)),
        (unschedulable("Fit", "Insufficient cpu"), np.arange(2, 12)),
        (unresolvable("Taint", "node(s) had untolerated taint(s)"), np.arange(12, 13)),
    ]
    found = Diagnosis(13, groups)
    assert found.message() == (
        "0/13 nodes are available: 1 node(s) had untolerated taint(s), 12 Insufficient cpu, 2 Too many pods."
    )
    assert found.unschedulable_plugins() == {"Fit", "Taint"}
    assert found.pending_plugins() == frozenset()

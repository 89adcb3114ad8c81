"""Rows that are blocked by pods that are expected there, kept between decisions."""

from builders import Bench, node_tree, pod_tree

from apportion.sched.cycle.contested import Contested
from apportion.sched.framework import ExpectedPods, NodeProbe


def probe_for(bench: Bench, name: str, priority: int = 0) -> NodeProbe:
    pod = bench.state.reader.read_tree(pod_tree(name, cpu="3", priority=priority))
    columns = tuple(c for _, _, c in bench.scheduler.search.plan(pod).filters)
    return NodeProbe(bench.state, columns, ExpectedPods(bench.scheduler.queue.nominator, bench.state.nodes, pod))


def nominate(bench: Bench, name: str, node: str, priority: int = 5) -> None:
    pod = bench.state.reader.read_tree(pod_tree(name, cpu="3", priority=priority))
    bench.scheduler.queue.nominator.add(pod, node)


def blocked(bench: Bench, contested: Contested, probe: NodeProbe) -> list[str]:
    contested.refresh(probe)
    rows = [row for _, rows in contested.groups for row in rows.tolist()]
    assert sorted(rows) == [int(r) for r in contested.mask().nonzero()[0]]
    return sorted(bench.state.nodes.name(row) for row in rows)


def test_nominations_block_rows_and_give_them_back() -> None:
    bench = Bench()
    bench.put("nodes", *(node_tree(f"n{i}") for i in range(4)))
    probe = probe_for(bench, "p")
    contested = Contested(bench.state, probe.columns)
    assert blocked(bench, contested, probe) == []
    nominate(bench, "a", "n1")
    nominate(bench, "b", "n2")
    nominate(bench, "elsewhere", "unknown")
    assert blocked(bench, contested, probe) == ["n1", "n2"]
    nominate(bench, "b", "n3")
    assert blocked(bench, contested, probe) == ["n1", "n3"]
    bench.put("nodes", node_tree("n1", cpu="8"))  # room for both
    assert blocked(bench, contested, probe) == ["n3"]
    bench.put("pods", pod_tree("other", cpu="4", node="n3"))  # it would not do anyway
    assert blocked(bench, contested, probe) == []
    bench.put("nodes", node_tree("unknown"))
    assert blocked(bench, contested, probe) == ["unknown"]


def test_a_pod_is_not_blocked_by_itself_nor_by_less_important_ones() -> None:
    bench = Bench()
    bench.put("nodes", *(node_tree(f"n{i}") for i in range(2)))
    nominate(bench, "p", "n0", priority=5)
    nominate(bench, "low", "n1", priority=1)
    probe, other = probe_for(bench, "p", 5), probe_for(bench, "q", 5)
    contested = Contested(bench.state, probe.columns)
    assert blocked(bench, contested, probe) == []
    assert blocked(bench, contested, other) == ["n0"]
    assert blocked(bench, contested, probe) == []

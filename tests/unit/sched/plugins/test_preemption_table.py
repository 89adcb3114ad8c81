"""How much of what is known of preemption candidates is worked out again."""

from builders import Bench, node_tree, pod_tree, read_pod

from apportion.sched.framework import PostFilterResult
from apportion.sched.plugins.default_preemption import DefaultPreemption
from apportion.sched.plugins.preemption_table import CandidateTable
from apportion.sched.state import PodInfo

NODES = 20


def full_cluster() -> Bench:
    bench = Bench()
    bench.put("nodes", *(node_tree(f"n{i:02}", cpu="4") for i in range(NODES)))
    bench.put("pods", *(pod_tree(f"low-{i:02}", cpu="3", node=f"n{i:02}", priority=1 + i) for i in range(NODES)))
    return bench


def preempt(bench: Bench, pod: PodInfo) -> PostFilterResult:
    search = bench.scheduler.search
    plan = search.plan(pod)
    found = search.post_filter(pod, plan, search.diagnose(pod, plan))
    assert found is not None
    return found


def table_of(bench: Bench) -> CandidateTable:
    plugins = bench.scheduler.profiles["default-scheduler"].post_filters
    (plugin,) = (p for p in plugins if isinstance(p, DefaultPreemption))
    ((_, table),) = plugin._tables.values()
    return table


def test_only_nodes_that_changed_are_worked_out_again() -> None:
    bench = full_cluster()
    high = read_pod(bench.state, "high", cpu="3", priority=100)
    assert preempt(bench, high).nominated_node_name == "n00"
    table = table_of(bench)
    assert table.judged == NODES
    assert preempt(bench, read_pod(bench.state, "other", cpu="3", priority=100)).nominated_node_name == "n00"
    assert table.judged == NODES
    bench.put("pods", pod_tree("more", cpu="1", node="n00", priority=50))
    assert preempt(bench, high).nominated_node_name == "n00"  # "more" may stay
    bench.put("pods", pod_tree("vip", cpu="0", memory="8Gi", node="n00", priority=100))
    assert preempt(bench, high).nominated_node_name == "n01"
    assert table.judged == NODES + 2


def test_a_node_that_removing_pods_cannot_help_is_no_candidate_until_it_can_again() -> None:
    bench = full_cluster()
    high = read_pod(bench.state, "high", cpu="3", priority=100)
    assert preempt(bench, high).nominated_node_name == "n00"
    bench.put("nodes", node_tree("n00", cpu="4", unschedulable=True))
    assert preempt(bench, high).nominated_node_name == "n01"
    bench.put("nodes", node_tree("n00", cpu="4"))
    assert preempt(bench, high).nominated_node_name == "n00"


def test_the_order_of_candidates_does_not_grow_with_their_changes() -> None:
    bench = full_cluster()
    high = read_pod(bench.state, "high", cpu="3", priority=100)
    for i in range(200):
        bench.put("nodes", node_tree(f"n{i % NODES:02}", cpu="4", labels={"turn": str(i)}))
        assert preempt(bench, high).nominated_node_name == "n00"
    assert len(table_of(bench)._by_cost) < 200

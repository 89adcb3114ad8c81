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
    look = search.look(pod)
    found = search.post_filter(look, search.diagnose(look))
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


def test_nothing_is_looked_at_while_nothing_changes() -> None:
    bench = full_cluster()
    none = read_pod(bench.state, "none", cpu="5", priority=100)
    texts = {preempt(bench, none).status.message for _ in range(3)}
    assert texts == {f"0/{NODES} nodes are available: {NODES} Preemption is not helpful for scheduling."}
    much = read_pod(bench.state, "much", cpu="4", priority=1)
    texts = {preempt(bench, much).status.message for _ in range(3)}
    assert texts == {f"0/{NODES} nodes are available: {NODES} No preemption victims found for incoming pod."}
    plugins = bench.scheduler.profiles["default-scheduler"].post_filters
    (plugin,) = (p for p in plugins if isinstance(p, DefaultPreemption))
    assert [table.hits for _, table in plugin._tables.values()] == [2, 2]


def test_who_has_run_longer_is_spared_also_when_that_becomes_known_late() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n", cpu="4"))
    early, late = {"startTime": "2026-01-01T00:00:01Z"}, {"startTime": "2026-01-01T00:00:09Z"}
    bench.put("pods", pod_tree("a", cpu="2", node="n", status=late), pod_tree("b", cpu="2", node="n"))
    high = read_pod(bench.state, "high", cpu="2", priority=100)
    assert [v.name for v in preempt(bench, high).victims] == ["b"]  # it has not started
    bench.put("pods", pod_tree("b", cpu="2", node="n", status=early))
    assert [v.name for v in preempt(bench, high).victims] == ["a"]

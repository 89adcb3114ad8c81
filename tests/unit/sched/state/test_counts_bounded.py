"""Selectors come and go with the pods that have them; what counts for them must not stay."""

from builders import Bench, node_tree, pod_tree

from apportion.api.selectors import compile_label_selector
from apportion.api.view import LabelSelector
from apportion.sched.state import Clause, NamespaceScope
from apportion.sched.state.counts import _COUNTERS_MIN
from apportion.sched.state.terms import _TERMS_MIN

HOSTNAME = "kubernetes.io/hostname"
SCOPE = NamespaceScope(frozenset({"default"}), None)


def clauses(app: str) -> tuple[Clause, ...]:
    return ((SCOPE, compile_label_selector(LabelSelector(match_labels={"app": app}))),)


def test_counters_that_nobody_reads_are_dropped_and_those_that_are_read_go_on() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    groups = bench.state.groups
    kept = groups.domain(clauses("kept"), HOSTNAME)
    for i in range(5 * _COUNTERS_MIN):
        groups.domain(clauses(f"a{i}"), HOSTNAME)
    assert len(groups._counters) <= _COUNTERS_MIN
    bench.put("pods", pod_tree("p", node="n1", labels={"app": "kept"}), pod_tree("q", node="n1", labels={"app": "a3"}))
    assert kept.current().all.sum() == 1
    assert groups.domain(clauses("a3"), HOSTNAME).current().all.sum() == 1  # counted anew
    assert groups.domain(clauses("kept"), HOSTNAME) is kept


def test_terms_that_no_pod_has_any_more_are_dropped() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))

    def apart(app: str) -> dict[str, object]:
        term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME}
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    bench.put("pods", pod_tree("stays", node="n1", affinity=apart("web")))
    for i in range(3 * _TERMS_MIN):
        bench.put("pods", pod_tree(f"p{i}", node="n1", affinity=apart(f"a{i}")))
        bench.transport.remove("pods", "default", f"p{i}")
        bench.deliver()
    assert len(bench.state.terms._terms) <= _TERMS_MIN
    bench.put("pods", pod_tree("w", labels={"app": "web"}), pod_tree("v", labels={"app": "a3"}))
    bench.run()
    assert {name: bench.state.pods[f"uid-default-{name}"].node_name for name in "v"} == {"v": "n1"}
    assert "uid-default-w" not in bench.state.pods  # the term of the pod that stays still keeps it away

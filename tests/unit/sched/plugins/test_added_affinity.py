"""addedAffinity of NodeAffinityArgs: what a profile demands and prefers for all its pods."""

from typing import Any

from builders import Bench, node_tree, pod_tree

from apportion.sched.framework.config import read_config


def bench_with(required: list[Any] | None = None, preferred: list[Any] | None = None) -> Bench:
    """Return a scheduler that demands or prefers something of all nodes."""
    added: dict[str, Any] = {}
    if required is not None:
        terms = {"nodeSelectorTerms": [{"matchExpressions": required}]}
        added["requiredDuringSchedulingIgnoredDuringExecution"] = terms
    if preferred is not None:
        term = {"weight": 1, "preference": {"matchExpressions": preferred}}
        added["preferredDuringSchedulingIgnoredDuringExecution"] = [term]
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinity": added}}]}],
    }
    return Bench(read_config(tree, "test"))


POOL = [{"key": "pool", "operator": "In", "values": ["a"]}]


def test_nodes_that_do_not_meet_it_are_out_for_every_pod() -> None:
    bench = bench_with(POOL)
    bench.put("nodes", node_tree("n1"), node_tree("n2", labels={"pool": "a"}))
    bench.put("pods", pod_tree("plain"), pod_tree("choosy", nodeSelector={"kubernetes.io/hostname": "n1"}))
    bench.run()
    assert (bench.node_of("plain"), bench.node_of("choosy")) == ("n2", "")
    enforced = "1 node(s) didn't match scheduler-enforced node affinity"
    own = "1 node(s) didn't match Pod's node affinity/selector"
    assert bench.message_of("choosy") == f"0/2 nodes are available: {own}, {enforced}."


def test_a_label_that_the_profile_demands_wakes_the_pod() -> None:
    bench = bench_with(POOL)
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("p"))
    bench.run()
    enforced = "1 node(s) didn't match scheduler-enforced node affinity"
    assert bench.message_of("p") == f"0/1 nodes are available: {enforced}."
    bench.put("nodes", node_tree("n1", labels={"pool": "a"}))
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n1"


def test_what_the_profile_prefers_adds_to_what_the_pod_prefers() -> None:
    bench = bench_with(preferred=POOL)
    bench.put("nodes", node_tree("n1"), node_tree("n2", labels={"pool": "a"}))
    bench.put("pods", pod_tree("plain"))
    bench.run()
    assert bench.node_of("plain") == "n2"
    own = {"weight": 5, "preference": {"matchExpressions": [{"key": "pool", "operator": "DoesNotExist"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [own]}}
    bench.put("pods", pod_tree("other", affinity=affinity))
    bench.run()
    assert bench.node_of("other") == "n1"


def test_terms_that_name_different_nodes_conflict() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n1", "n2")]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("p", affinity=affinity))
    bench.run()
    assert bench.message_of("p") == "0/1 nodes are available: pod affinity terms conflict."

"""A search that is given up keeps nobody out for good, and costs one pod its attempt, not the others theirs."""

from typing import Any

from builders import Bench, node_tree, pod_tree

from apportion.sched.framework.config import read_config

DRIVER = "d.example.com"


def put_slice(bench: Bench, devices: list[tuple[int, int]], node: str = "n1") -> None:
    listed: list[dict[str, Any]] = [
        {"name": f"d{i:02}", "attributes": {"a": {"int": a}, "b": {"int": b}}} for i, (a, b) in enumerate(devices)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": listed}
    bench.put("resourceslices", {"metadata": {"name": node}, "spec": spec})


STAR = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)]  # no four differ in both
GOOD = [(i, i) for i in range(4)]


def make_bench(timeout: str) -> Bench:
    profile = {"pluginConfig": [{"name": "DynamicResources", "args": {"filterTimeout": timeout}}]}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    bench = Bench(read_config({**kind, "profiles": [profile]}, "test"))
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
    return bench


def put_pods(bench: Bench) -> None:
    """Two pods, one with a claim for four devices that differ in both attributes."""
    constraints = [{"distinctAttribute": f"{DRIVER}/{name}"} for name in "ab"]
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 4}}]
    meta = {"name": "c", "namespace": "default", "uid": "uid-c"}
    spec = {"devices": {"requests": requests, "constraints": constraints}}
    bench.put("resourceclaims", {"metadata": meta, "spec": spec})
    claiming = {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]}
    bench.put("pods", pod_tree("p", **claiming), pod_tree("q"))
    bench.run()


def try_again(bench: Bench) -> None:
    bench.clock.advance_to(bench.clock.now() + 400)
    bench.scheduler.flush()
    bench.run()


def test_a_pod_that_was_given_up_comes_back_with_a_slice_that_helps() -> None:
    bench = make_bench("2ms")
    bench.put("nodes", node_tree("n1"))
    put_slice(bench, STAR)
    put_pods(bench)
    assert "search limit" in bench.message_of("p") and bench.node_of("q") == "n1"
    put_slice(bench, GOOD)
    try_again(bench)
    assert bench.node_of("p") == "n1"


def test_nodes_that_nobody_could_afford_to_judge_are_judged_the_next_time() -> None:
    bench = make_bench("2ms")
    for i in range(12):  # no two alike, so that no answer serves another node
        bench.put("nodes", node_tree(f"n{i:02}"))
        put_slice(bench, GOOD if i == 11 else [(a + i, b + i) for a, b in STAR], f"n{i:02}")
    put_pods(bench)
    text = bench.message_of("p")
    assert "5 search limit: no allocation was found" in text
    assert "7 search limit: the search on other nodes took all that one attempt may cost" in text
    assert bench.node_of("q") and bench.node_of("p") == ""
    try_again(bench)
    assert "10 search limit: no allocation was found" in bench.message_of("p")
    try_again(bench)
    assert bench.node_of("p") == "n11"


def test_what_all_nodes_cost_is_spent_at_once_when_it_is_not_much() -> None:
    bench = make_bench("10s")
    for i in range(12):
        bench.put("nodes", node_tree(f"n{i:02}"))
        put_slice(bench, [(a + i, b + i) for a, b in STAR], f"n{i:02}")
    put_pods(bench)
    assert bench.message_of("p") == "0/12 nodes are available: 12 cannot allocate all claims."

"""A search that is given up keeps nobody out for good."""

from typing import Any

from builders import Bench, node_tree, pod_tree

from apportion.sched.framework.config import read_config

DRIVER = "d.example.com"


def put_slice(bench: Bench, devices: list[tuple[int, int]]) -> None:
    listed: list[dict[str, Any]] = [
        {"name": f"d{i:02}", "attributes": {"a": {"int": a}, "b": {"int": b}}} for i, (a, b) in enumerate(devices)
    ]
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": listed}
    bench.put("resourceslices", {"metadata": {"name": "n1"}, "spec": spec})


def test_a_pod_that_was_given_up_comes_back_with_a_slice_that_helps() -> None:
    profile = {"pluginConfig": [{"name": "DynamicResources", "args": {"filterTimeout": "2ms"}}]}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    bench = Bench(read_config({**kind, "profiles": [profile]}, "test"))
    bench.put("nodes", node_tree("n1"))
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})
    put_slice(bench, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)])
    constraints = [{"distinctAttribute": f"{DRIVER}/{name}"} for name in "ab"]
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 4}}]
    meta = {"name": "c", "namespace": "default", "uid": "uid-c"}
    spec = {"devices": {"requests": requests, "constraints": constraints}}
    bench.put("resourceclaims", {"metadata": meta, "spec": spec})
    claiming = {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]}
    bench.put("pods", pod_tree("p", **claiming), pod_tree("q"))
    bench.run()
    assert "search limit" in bench.message_of("p") and bench.node_of("q") == "n1"
    put_slice(bench, [(0, 0), (1, 1), (2, 2), (3, 3)])
    bench.clock.advance_to(bench.clock.now() + 2)
    bench.scheduler.flush()
    bench.run()
    assert bench.node_of("p") == "n1"

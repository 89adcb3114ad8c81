"""The explanation names whose eviction would free devices, and says that preemption will not do it (B12)."""

from typing import Any

from builders import Bench, node_tree, pod_tree

from apportion.sched.explain import advise, judge

DRIVER = "d.example.com"
SENTENCE = "on {}: evicting {} would free enough devices, but preemption evicts nobody for devices"


def bench_with(**devices: int) -> Bench:
    bench = Bench()
    bench.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {"extendedResourceName": "example.com/gpu"}})
    for name, count in devices.items():
        bench.put("nodes", node_tree(name))
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        listed = [{"name": f"dev{i}"} for i in range(count)]
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": listed}
        bench.put("resourceslices", {"metadata": {"name": name}, "spec": spec})
    return bench


def put(bench: Bench, name: str, priority: int, count: int = 1, claim: str = "", **more: Any) -> None:
    """A pod with a claim for some devices; ``claim`` names one that is there already."""
    if not claim:
        requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": count}}]
        meta = {"name": f"c-{name}", "namespace": "default", "uid": f"uid-c-{name}"}
        bench.put("resourceclaims", {"metadata": meta, "spec": {"devices": {"requests": requests}}})
    claims = [{"name": "g", "resourceClaimName": claim or f"c-{name}"}]
    bench.put("pods", pod_tree(name, priority=priority, resourceClaims=claims, cpu="100m", **more))
    bench.run()


def advice(bench: Bench, name: str) -> list[str]:
    tree = bench.transport.find("pods", "default", name)
    assert tree is not None
    pod = bench.state.reader.read_tree(tree)
    return [s for s in advise(bench.scheduler, pod, judge(bench.scheduler, pod)) if "evicting" in s]


def test_a_pod_that_matters_less_is_named() -> None:
    bench = bench_with(n1=1)
    put(bench, "low", 0)
    put(bench, "vip", 10)
    before = bench.state.devices.cursor
    assert advice(bench, "vip") == [SENTENCE.format("n1", "default/low")]
    assert bench.state.devices.cursor == before and bench.node_of("low") == "n1"


def test_nobody_is_named_who_matters_as_much_or_would_not_help() -> None:
    bench = bench_with(n1=2)
    put(bench, "low", 0)
    put(bench, "same", 10)
    put(bench, "vip", 10, count=2)
    assert advice(bench, "vip") == []
    put(bench, "other", 10)
    assert advice(bench, "other") == [SENTENCE.format("n1", "default/low")]


def test_no_more_are_named_than_needed_and_of_those_who_matter_least() -> None:
    bench = bench_with(n1=3)
    for name, priority in (("a", 1), ("b", 3), ("c", 2)):
        put(bench, name, priority)
    put(bench, "vip", 10, count=2)
    assert advice(bench, "vip") == [SENTENCE.format("n1", "default/c, default/a")]


def test_a_shared_claim_is_free_only_when_all_its_pods_are_gone() -> None:
    bench = bench_with(n1=1)
    put(bench, "low", 0)
    put(bench, "sharing", 20, claim="c-low")
    put(bench, "vip", 10)
    assert bench.node_of("sharing") == "n1" and advice(bench, "vip") == []


def test_of_several_nodes_the_one_with_the_fewest_is_named() -> None:
    bench = bench_with(n1=2, n2=2)
    put(bench, "a", 0, nodeSelector={"kubernetes.io/hostname": "n1"})
    put(bench, "b", 0, nodeSelector={"kubernetes.io/hostname": "n1"})
    put(bench, "c", 0, count=2, nodeSelector={"kubernetes.io/hostname": "n2"})
    put(bench, "vip", 10, count=2)
    assert advice(bench, "vip") == [SENTENCE.format("n2", "default/c")]


def test_devices_for_extended_resources_count_too() -> None:
    bench = bench_with(n1=1)
    resources = {"requests": {"cpu": "100m", "example.com/gpu": "1"}}
    containers = [{"name": "c", "image": "i", "resources": resources}]
    for name, priority in (("low", 0), ("vip", 10)):
        bench.put("pods", pod_tree(name, priority=priority, containers=containers))
        bench.run()
    assert advice(bench, "vip") == [SENTENCE.format("n1", "default/low")]


def test_what_counters_give_back_counts() -> None:
    bench = bench_with(n1=0)
    counters = {"gib": {"value": "8"}}
    pool = {"name": "parts", "generation": 1, "resourceSliceCount": 2}
    draws = [{"counterSet": "set", "counters": {"gib": {"value": "8"}}}]
    listed = [{"name": f"half{i}", "consumesCounters": draws} for i in range(2)]
    for name, content in (
        ("sets", {"sharedCounters": [{"name": "set", "counters": counters}]}),
        ("devices", {"devices": listed}),
    ):
        spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, **content}
        bench.put("resourceslices", {"metadata": {"name": name}, "spec": spec})
    put(bench, "low", 0)
    put(bench, "vip", 10)
    assert bench.node_of("low") == "n1"
    assert advice(bench, "vip") == [SENTENCE.format("n1", "default/low")]

"""Scores of the strategies count devices where they stand for an extended resource."""

from random import Random
from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

from apportion.sched.explain import NodeScores, judge
from apportion.sched.framework.config import read_config
from apportion.sched.plugins.device_counts import DeviceCountColumn

DRIVER, GPU, NIC = "d.example.com", "example.com/gpu", "example.com/nic"
Tree = dict[str, Any]
SHAPE = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}


def bench_with(kind: str = "LeastAllocated", names: tuple[str, ...] = (GPU,), **more: Any) -> Bench:
    """Return a bench whose scoring plugins look at these resources; nodes n1 with 4 devices and n2 with 2."""
    resources = [{"name": name, "weight": 1} for name in names]
    plugins = {
        "NodeResourcesFit": {"scoringStrategy": {"type": kind, "resources": resources, **more}},
        "NodeResourcesBalancedAllocation": {"resources": resources},
    }
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": name, "args": args} for name, args in plugins.items()]}],
    }
    bench = Bench(read_config(tree, "test"))
    bench.put("nodes", node_tree("n1"), node_tree("n2"))
    put_slice(bench, "n1", 4)
    put_slice(bench, "n2", 2)
    put_class(bench, f'device.driver == "{DRIVER}"')
    return bench


def put_slice(bench: Bench, node: str, count: int, generation: int = 1, **more: Any) -> None:
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1, **more.pop("pool", {})}
    devices = [{"name": f"dev{i}", **more} for i in range(count)]
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    bench.put("resourceslices", {"metadata": {"name": f"{node}-{generation}"}, "spec": spec})


def put_class(bench: Bench, expression: str, name: str = "gpus", created: str = "2026-01-01T00:00:00Z") -> None:
    spec = {"selectors": [{"cel": {"expression": expression}}], "extendedResourceName": GPU}
    bench.put("deviceclasses", {"metadata": {"name": name, "creationTimestamp": created}, "spec": spec})


def asking(name: str, **requests: str) -> Tree:
    asked = {"cpu": "1", "memory": "1Gi", GPU: "1", **requests}
    return pod_tree(name, containers=[{"name": "main", "image": "i", "resources": {"requests": asked}}])


def scores(bench: Bench, pod: Tree | None = None, plugin: str = "NodeResourcesFit") -> dict[str, int]:
    judged = judge(bench.scheduler, bench.state.reader.read_tree(pod or asking("judged"))).nodes
    return {n: j.raw[plugin] for n, j in judged.items() if isinstance(j, NodeScores)}


@pytest.mark.parametrize(
    ("kind", "more", "wanted"),
    [
        ("LeastAllocated", {}, {"n1": 75, "n2": 50}),
        ("MostAllocated", {}, {"n1": 25, "n2": 50}),
        ("RequestedToCapacityRatio", {"requestedToCapacityRatio": SHAPE}, {"n1": 25, "n2": 50}),
    ],
)
def test_each_strategy_counts_devices(kind: str, more: Tree, wanted: dict[str, int]) -> None:
    assert scores(bench_with(kind, **more)) == wanted


def test_devices_in_use_count_and_come_back() -> None:
    bench = bench_with()
    bench.put("pods", asking("p"), asking("q"))
    bench.run()
    assert (bench.node_of("p"), bench.node_of("q")) == ("n1", "n1")
    assert scores(bench) == {"n1": 25, "n2": 50}
    (claim, _) = bench.transport.trees("resourceclaims")
    bench.put("resourceclaims", {**claim, "status": {}})
    assert scores(bench) == {"n1": 50, "n2": 50}


def test_what_a_device_plugin_offers_goes_first() -> None:
    bench = bench_with()
    bench.put("nodes", node_tree("n1", extra={GPU: "10"}))
    assert scores(bench) == {"n1": 90, "n2": 50}
    bench.put("nodes", node_tree("n1", extra={GPU: "0"}))
    assert scores(bench) == {"n1": 75, "n2": 50}


def test_a_resource_that_is_not_asked_for_does_not_count() -> None:
    bench = bench_with(names=(GPU, "cpu"))
    assert scores(bench, pod_tree("plain")) == {"n1": 75, "n2": 75}
    assert scores(bench, asking("p", **{GPU: "2"})) == {"n1": (50 + 75) // 2, "n2": (0 + 75) // 2}


def test_the_newest_class_as_it_is_now_decides() -> None:
    bench = bench_with()
    put_class(bench, "false", "newer", "2026-02-01T00:00:00Z")
    assert scores(bench, pod_tree("plain")) == {"n1": 0, "n2": 0}
    put_class(bench, 'device.driver != ""', "newer", "2026-02-01T00:00:00Z")
    assert scores(bench) == {"n1": 75, "n2": 50}
    bench.transport.remove("deviceclasses", "", "newer")
    bench.deliver()
    assert scores(bench) == {"n1": 75, "n2": 50}


def test_slices_that_come_and_change_count() -> None:
    bench = bench_with()
    assert scores(bench) == {"n1": 75, "n2": 50}
    put_slice(bench, "n2", 10, generation=2)  # the slice of the first generation is still there
    assert scores(bench) == {"n1": 75, "n2": 90}
    bench.put("nodes", node_tree("n3"))
    put_slice(bench, "n3", 1)
    assert scores(bench) == {"n1": 75, "n2": 90, "n3": 0}


def test_tainted_devices_count() -> None:
    bench = bench_with()
    tree = bench.transport.find("resourceslices", "", "n2-1")
    assert tree is not None
    tree["spec"]["devices"][0]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    bench.put("resourceslices", tree)
    assert scores(bench) == {"n1": 75, "n2": 50}


def test_a_selector_that_fails_counts_nothing_on_its_node() -> None:
    bench = bench_with(names=(GPU, "cpu"))
    put_slice(bench, "n2", 1, generation=2, attributes={"x": {"bool": True}})
    put_class(bench, f'device.attributes["{DRIVER}"].x')
    found = judge(bench.scheduler, bench.state.reader.read_tree(asking("p"))).nodes
    assert isinstance(found["n2"], NodeScores) and found["n2"].raw["NodeResourcesFit"] == (0 + 75) // 2
    assert not isinstance(found["n1"], NodeScores)


def test_balance_takes_devices_into_account() -> None:
    bench = bench_with(names=("cpu", GPU))
    found = scores(bench, plugin="NodeResourcesBalancedAllocation")
    # n1: cpu and devices are both used by a quarter; n2: a quarter against a half is less even than before
    assert found == {"n1": 50 + 50 // 2, "n2": 50 + (50 + int((1 - 0.125) * 100) - 100) // 2}


def test_a_pod_goes_where_the_scores_say() -> None:
    bench = bench_with("MostAllocated")
    bench.put("pods", *(asking(f"p{i}", cpu="10m", memory="1Mi") for i in range(4)))
    bench.run()
    assert [bench.node_of(f"p{i}") for i in range(4)] == ["n2", "n2", "n1", "n1"]


@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_lives_through_changes_counts_like_a_fresh_one(seed: int) -> None:
    bench, random = bench_with(), Random(seed)
    column = DeviceCountColumn(bench.state, GPU)

    def remove(resource: str, name: str) -> None:
        if bench.transport.find(resource, "", name) is not None:
            bench.transport.remove(resource, "", name)

    def change() -> None:
        node = f"n{random.randrange(1, 6)}"
        what = random.randrange(7)
        if what == 0:
            bench.put("nodes", node_tree(node, labels={"x": str(random.randrange(2))}))
        elif what == 1:
            remove("nodes", node)
        elif what == 2:
            put_slice(bench, node, random.randrange(5), generation=random.randrange(1, 4))
        elif what == 3:
            remove("resourceslices", f"{node}-{random.randrange(1, 4)}")
        elif what == 4:
            put_class(
                bench, random.choice(["true", "false", f'device.driver == "{DRIVER}"']), f"c{random.randrange(2)}"
            )
        elif what == 5:
            bench.put("pods", asking(f"p{random.randrange(99)}", cpu="1m", memory="1Mi"))
            bench.run()
        else:
            for claim in list(bench.transport.trees("resourceclaims"))[:1]:
                bench.put("resourceclaims", {**claim, "status": {}})
        bench.deliver()

    for _ in range(60):
        change()
        column.refresh()
        fresh = DeviceCountColumn(bench.state, GPU)
        assert column.devices.tolist() == fresh.devices.tolist()
        assert column.used.tolist() == fresh.used.tolist()

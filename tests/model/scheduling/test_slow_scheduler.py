"""The real filters and scores against slow ones, on random clusters and on recorded ones."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from random_clusters import NAMESPACES, Maker
from reference_filters import Cluster, find_rejector
from reference_objects import Tree, labels_of
from reference_scores import score

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.explain import NodeScores, judge
from apportion.sched.framework import plan
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.plugins import inter_pod_affinity, pod_topology_spread
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState, counts, terms

GOLDEN = Path(__file__).parents[2] / "golden"
# What these recordings are about stands in the slow plugins too.
RECORDED = ("taints", "nodeaffinity", "ports", "resources", "spread", "podaffinity")
WORLDS = 150
# how many columns, counters and terms are kept before those that are not used are looked for
LIMITS = [
    (inter_pod_affinity, "_COLUMNS_MAX"),
    (pod_topology_spread, "_COLUMNS_MAX"),
    (counts, "_COUNTERS_MIN"),
    (terms, "_TERMS_MIN"),
    (plan, "RANKING_BYTES_MAX"),
]


class Real:
    """The real scheduler, told of objects one by one."""

    def __init__(self) -> None:
        self.transport = MemoryTransport()
        clock = VirtualClock()
        self.scheduler: Scheduler = build_scheduler(
            SchedulerConfig(), ClusterState(), FeatureGates.parse(""), clock, Rng(0)
        )
        Shell(self.scheduler, self.transport, clock).start()

    def put(self, plural: str, tree: Tree) -> None:
        self.transport.put(plural, tree)
        while self.transport.deliver():
            pass

    def judge(self, pod: Tree) -> dict[str, str | int]:
        """Return by node the plugin that rejects it, or its total."""
        info = self.scheduler.state.reader.read_tree(pod)
        found = judge(self.scheduler, info).nodes
        return {n: f.total if isinstance(f, NodeScores) else f.plugin for n, f in found.items()}


def judge_slowly(cluster: Cluster, pod: Tree) -> dict[str, str | int]:
    rejected = {n["metadata"]["name"]: find_rejector(cluster, pod, n) for n in cluster.nodes}
    fitting = [n for n in cluster.nodes if rejected[n["metadata"]["name"]] is None]
    totals = {name: sum(found.values()) for name, found in score(cluster, pod, fitting).items()}
    return {name: totals[name] if plugin is None else plugin for name, plugin in rejected.items()}


@pytest.mark.parametrize("seed", range(WORLDS))
def test_random_clusters(seed: int) -> None:
    """Pods come, some go again, nodes change: the columns must follow."""
    _compare(seed, 6)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_dropped_to_save_memory_is_found_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in LIMITS:
        monkeypatch.setattr(module, name, 2)
    _compare(seed, 100)


def _compare(seed: int, steps: int) -> None:
    make, real = Maker(seed), Real()
    nodes = {f"n{i}": make.node(i) for i in range(3 + seed % 5)}
    namespaces = {name: make.namespace(name) for name in NAMESPACES}
    pods: dict[str, Tree] = {}
    for name, tree in nodes.items():
        real.put("nodes", tree)
        for _ in range(seed % 3):
            pod = make.pod(name)
            pods[pod["metadata"]["name"]] = pod
            real.put("pods", pod)
    for tree in namespaces.values():
        real.put("namespaces", tree)
    labels = {name: labels_of(tree) for name, tree in namespaces.items()}
    for step in range(steps):
        cluster = Cluster(list(nodes.values()), list(pods.values()), labels)
        pod = make.pod()
        assert real.judge(pod) == judge_slowly(cluster, pod), (step, pod)
        _change(make, real, nodes, pods, step)


def _change(make: Maker, real: Real, nodes: dict[str, Tree], pods: dict[str, Tree], step: int) -> None:
    if step % 3 == 0 and pods:
        gone = pods.pop(next(iter(pods)))
        real.transport.remove("pods", gone["metadata"]["namespace"], gone["metadata"]["name"])
    index = step % len(nodes)
    if step % 2:
        nodes[f"n{index}"] = make.node(index)
        real.put("nodes", nodes[f"n{index}"])
    else:
        pod = make.pod(f"n{index}")
        pods[pod["metadata"]["name"]] = pod
        real.put("pods", pod)


# ---- the slow plugins themselves --------------------------------------------------------------------------


def _read(group: str) -> Iterator[Tree]:
    with gzip.open(GOLDEN / f"filter-score-{group}.jsonl.gz") as lines:
        yield from map(orjson.loads, lines)


@pytest.mark.parametrize("group", RECORDED)
def test_the_slow_plugins_say_what_was_recorded(group: str) -> None:
    compared = 0
    for world in list(_read(group))[::4]:
        by_kind: dict[str, list[Tree]] = {}
        for tree in world["objects"]:
            by_kind.setdefault(tree["kind"], []).append(tree)
        if by_kind.keys() - {"Node", "Pod", "Namespace", "RuntimeClass"}:
            continue
        namespaces = {n["metadata"]["name"]: labels_of(n) for n in by_kind.get("Namespace", ())}
        bound = [p for p in by_kind.get("Pod", ()) if p["spec"].get("nodeName")]
        cluster = Cluster(by_kind["Node"], bound, namespaces)
        for pod, expected in zip(world["pending"], world["expect"], strict=True):
            if "nodes" not in expected or "preFilter" in expected or "preFilterNodes" in expected:
                continue
            recorded = {
                n: f["rejected"]["plugin"] if "rejected" in f else f["total"] for n, f in expected["nodes"].items()
            }
            assert judge_slowly(cluster, pod) == recorded, (world["id"], expected["pod"])
            compared += 1
    assert compared

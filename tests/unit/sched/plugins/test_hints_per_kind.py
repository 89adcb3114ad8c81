"""Hints that are asked about one of many equal pods must not read what is particular to it."""

from itertools import product
from typing import Any

from builders import Bench, make_node, node_tree, pod_tree, read_pod

from apportion.api.resource import DeviceClass
from apportion.sched.queue import Hint
from apportion.sched.state import PodInfo


class WhatEqualPodsShare:
    """A pod that has nothing but what all pods of its kind have."""

    def __init__(self, pod: PodInfo) -> None:
        self.kind, self.usage = pod.kind, pod.usage
        self.namespace, self.labels, self.spec = pod.namespace, pod.labels, pod.spec


def pods(bench: Bench) -> list[PodInfo]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    near = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spread = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term}
    port = {"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}
    web: dict[str, Any] = {"labels": {"app": "web"}}
    return [
        read_pod(bench.state, "plain", **web),
        read_pod(bench.state, "near", affinity={"podAffinity": near}, **web),
        read_pod(bench.state, "apart", affinity={"podAntiAffinity": near}, **web),
        read_pod(bench.state, "spread", topologySpreadConstraints=[spread], **web),
        read_pod(bench.state, "ports", containers=[port], **web),
        read_pod(bench.state, "chosen", nodeSelector={"a": "b"}, tolerations=[{"operator": "Exists"}]),
    ]


def test_they_read_nothing_else() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", pod_tree("there", node="n1"))
    registrations = bench.scheduler.profiles["default-scheduler"].registrations
    hints = {(r.plugin, r.event): r.hint for r in registrations if r.per_kind and r.hint is not None}
    assert len(hints) >= 10
    known = pods(bench)
    nodes = [make_node("n1"), make_node("n1", labels={"a": "b"}, unschedulable=True)]
    olds: list[object] = [None, *known, *nodes]
    news: list[object] = [None, *known, *nodes, DeviceClass()]
    answers = set()
    for hint, pod, old, new in product(hints.values(), known, olds, news):
        answers.add(hint(WhatEqualPodsShare(pod), old, new))
    assert answers == {Hint.QUEUE, Hint.SKIP}

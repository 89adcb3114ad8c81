"""For each plugin and each change that turns its "no" into "yes": the registered events and hints wake the pod."""

from collections.abc import Callable
from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree

Step = Callable[[Bench], None]
DRIVER = "d.example.com"


def _pods(*trees: dict[str, Any]) -> Step:
    return lambda b: b.put("pods", *trees)


def _nodes(*trees: dict[str, Any]) -> Step:
    return lambda b: b.put("nodes", *trees)


def _delete(kind: str, name: str, namespace: str = "") -> Step:
    def run(bench: Bench) -> None:
        bench.transport.remove(kind, namespace, name)
        bench.deliver()

    return run


def _affinity(kind: str, key: str = "kubernetes.io/hostname", app: str = "a") -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _spread(key: str = "kubernetes.io/hostname") -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "a"}}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]


def _port(name: str, **more: Any) -> dict[str, Any]:
    tree = pod_tree(name, **more)
    tree["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "containerPort": 80}]
    return tree


def _slice(devices: int, node: str = "n1", taint: bool = False, **where: Any) -> Step:
    taints = [{"key": "k", "effect": "NoSchedule"}] if taint else []
    listed = [{"name": f"dev-{i}", "taints": taints} for i in range(devices)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "devices": listed, **(where or {"nodeName": node})}
    return lambda b: b.put("resourceslices", {"metadata": {"name": f"slice-{node}"}, "spec": spec})


def _class(b: Bench) -> None:
    b.put("deviceclasses", {"metadata": {"name": "any"}, "spec": {}})


def _claim(name: str, device: str = "") -> Step:
    meta: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "count": 1}}]
    status: dict[str, Any] = {}
    if device:
        results = [{"request": "r", "driver": DRIVER, "pool": "n1", "device": device}]
        status = {"allocation": {"devices": {"results": results}}}
    tree = {"metadata": meta, "spec": {"devices": {"requests": requests}}, "status": status}
    return lambda b: b.put("resourceclaims", tree)


def _rule(b: Bench) -> None:
    spec = {"deviceSelector": {"driver": DRIVER}, "taint": {"key": "k", "effect": "NoSchedule"}}
    b.put("devicetaintrules", {"metadata": {"name": "rule"}, "spec": spec})


CLAIMED = {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
N1 = node_tree("n1", cpu="2")
ZONED = {"zone": "z"}

# name: (what is there, the pending pod, what changes)
CASES: dict[str, tuple[list[Step], dict[str, Any], Step]] = {
    "Fit/pod deleted": (
        [_nodes(N1), _pods(pod_tree("o", cpu="2", node="n1"))],
        pod_tree("p"),
        _delete("pods", "o", "default"),
    ),
    "Fit/pod ended": (
        [_nodes(N1), _pods(pod_tree("o", cpu="2", node="n1"))],
        pod_tree("p"),
        _pods({**pod_tree("o", cpu="2", node="n1"), "status": {"phase": "Failed"}}),
    ),
    "Fit/pod scaled down": (
        [_nodes(N1), _pods(pod_tree("o", cpu="2", node="n1"))],
        pod_tree("p"),
        _pods(pod_tree("o", cpu="1", node="n1")),
    ),
    "Fit/own scale down": ([_nodes(N1)], pod_tree("p", cpu="3"), _pods(pod_tree("p", cpu="1"))),
    "Fit/node grows": ([_nodes(N1)], pod_tree("p", cpu="3"), _nodes(node_tree("n1", cpu="4"))),
    "Fit/node added": ([_nodes(N1)], pod_tree("p", cpu="3"), _nodes(node_tree("n2", cpu="4"))),
    "NodeUnschedulable/uncordoned": (
        [_nodes(node_tree("n1", unschedulable=True))],
        pod_tree("p"),
        _nodes(node_tree("n1")),
    ),
    "TaintToleration/taint removed": (
        [_nodes(node_tree("n1", taints=[{"key": "k", "effect": "NoSchedule"}]))],
        pod_tree("p"),
        _nodes(node_tree("n1")),
    ),
    "TaintToleration/toleration added": (
        [_nodes(node_tree("n1", taints=[{"key": "k", "effect": "NoSchedule"}]))],
        pod_tree("p"),
        _pods(pod_tree("p", tolerations=[{"operator": "Exists"}])),
    ),
    "NodeAffinity/label added": (
        [_nodes(N1)],
        pod_tree("p", nodeSelector={"zone": "z"}),
        _nodes(node_tree("n1", labels=ZONED)),
    ),
    "NodeDeclaredFeatures/feature declared": (
        [_nodes(N1)],
        pod_tree("p", hostNetwork=True, hostUsers=False),
        _nodes({**N1, "status": {**N1["status"], "declaredFeatures": ["UserNamespacesHostNetworkSupport"]}}),
    ),
    "NodeDeclaredFeatures/no longer needed": (
        [_nodes(N1)],
        pod_tree("p", hostNetwork=True, hostUsers=False),
        _pods(pod_tree("p", hostNetwork=True)),
    ),
    "NodePorts/port freed": ([_nodes(N1), _pods(_port("o", node="n1"))], _port("p"), _delete("pods", "o", "default")),
    "PodTopologySpread/pod deleted": (
        [_nodes(N1, node_tree("n2", cpu="0")), _pods(pod_tree("o", node="n1", labels={"app": "a"}))],
        pod_tree("p", labels={"app": "a"}, topologySpreadConstraints=_spread()),
        _delete("pods", "o", "default"),
    ),
    "PodTopologySpread/pod added": (
        [
            _nodes(node_tree("n1", cpu="8"), node_tree("n2", cpu="8", unschedulable=True)),
            _pods(pod_tree("o", node="n1", labels={"app": "a"})),
        ],
        pod_tree("p", labels={"app": "a"}, topologySpreadConstraints=_spread()),
        _pods(pod_tree("q", node="n2", labels={"app": "a"})),
    ),
    "PodTopologySpread/node labelled": (
        [_nodes(N1)],
        pod_tree("p", labels={"app": "a"}, topologySpreadConstraints=_spread("zone")),
        _nodes(node_tree("n1", labels=ZONED)),
    ),
    "PodTopologySpread/node gone": (
        [
            _nodes(node_tree("n1", cpu="8"), node_tree("n2", cpu="0")),
            _pods(pod_tree("o", node="n1", labels={"app": "a"})),
        ],
        pod_tree("p", labels={"app": "a"}, topologySpreadConstraints=_spread()),
        _delete("nodes", "n2"),
    ),
    "InterPodAffinity/pod added": (
        [_nodes(N1)],
        pod_tree("p", affinity=_affinity("podAffinity")),
        _pods(pod_tree("o", node="n1", labels={"app": "a"})),
    ),
    "InterPodAffinity/pod labelled": (
        [_nodes(N1), _pods(pod_tree("o", node="n1"))],
        pod_tree("p", affinity=_affinity("podAffinity")),
        _pods(pod_tree("o", node="n1", labels={"app": "a"})),
    ),
    "InterPodAffinity/own label": (
        [_nodes(N1)],
        pod_tree("p", affinity=_affinity("podAffinity")),
        _pods(pod_tree("p", labels={"app": "a"}, affinity=_affinity("podAffinity"))),
    ),
    "InterPodAffinity/neighbour gone": (
        [_nodes(N1), _pods(pod_tree("o", node="n1", labels={"app": "a"}))],
        pod_tree("p", affinity=_affinity("podAntiAffinity")),
        _delete("pods", "o", "default"),
    ),
    "InterPodAffinity/objector gone": (
        [_nodes(N1), _pods(pod_tree("o", node="n1", affinity=_affinity("podAntiAffinity")))],
        pod_tree("p", labels={"app": "a"}),
        _delete("pods", "o", "default"),
    ),
    "InterPodAffinity/neighbour relabelled": (
        [_nodes(N1), _pods(pod_tree("o", node="n1", labels={"app": "a"}))],
        pod_tree("p", affinity=_affinity("podAntiAffinity")),
        _pods(pod_tree("o", node="n1", labels={"app": "b"})),
    ),
    "SchedulingGates/gate removed": (
        [_nodes(N1)],
        pod_tree("p", schedulingGates=[{"name": "g"}]),
        _pods(pod_tree("p")),
    ),
    "DynamicResources/slice added": ([_nodes(N1), _class, _claim("c")], pod_tree("p", **CLAIMED), _slice(1)),
    "DynamicResources/slice grows": ([_nodes(N1), _class, _slice(0), _claim("c")], pod_tree("p", **CLAIMED), _slice(1)),
    "DynamicResources/class added": ([_nodes(N1), _slice(1), _claim("c")], pod_tree("p", **CLAIMED), _class),
    "DynamicResources/claim created": ([_nodes(N1), _class, _slice(1)], pod_tree("p", **CLAIMED), _claim("c")),
    "DynamicResources/other claim deallocated": (
        [_nodes(N1), _class, _slice(1), _claim("o", "dev-0"), _claim("c")],
        pod_tree("p", **CLAIMED),
        _claim("o"),
    ),
    "DynamicResources/other claim deleted": (
        [_nodes(N1), _class, _slice(1), _claim("o", "dev-0"), _claim("c")],
        pod_tree("p", **CLAIMED),
        _delete("resourceclaims", "o", "default"),
    ),
    "DynamicResources/taint removed": (
        [_nodes(N1), _class, _slice(1, taint=True), _claim("c")],
        pod_tree("p", **CLAIMED),
        _slice(1),
    ),
    "DynamicResources/taint rule deleted": (
        [_nodes(N1), _class, _slice(1), _rule, _claim("c")],
        pod_tree("p", **CLAIMED),
        _delete("devicetaintrules", "rule"),
    ),
    "DynamicResources/node labelled": (
        [
            _nodes(N1),
            _class,
            _slice(
                1, nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
            ),
            _claim("c"),
        ],
        pod_tree("p", **CLAIMED),
        _nodes(node_tree("n1", labels=ZONED)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_change_wakes_the_pod(name: str) -> None:
    before, pod, change = CASES[name]
    bench = Bench()
    for step in before:
        step(bench)
    bench.put("pods", pod)
    bench.run()
    assert bench.node_of("p") == "", "the pod must be pending at first"
    change(bench)
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == ("n2" if name == "Fit/node added" else "n1")


def test_an_unrelated_change_does_not_wake_it() -> None:
    bench = Bench()
    _nodes(N1)(bench)
    bench.put("pods", pod_tree("p", nodeSelector={"zone": "z"}))
    bench.run()
    attempts = dict(bench.scheduler.attempts)
    _pods(pod_tree("other", cpu="0", node="n1", labels={"app": "a"}))(bench)
    _nodes(node_tree("n1", cpu="3"))(bench)
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.scheduler.attempts == attempts

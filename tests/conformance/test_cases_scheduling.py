"""Public reports about other schedulers as small inputs, with the right result; the ids are those of the reports."""

from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree


def _spread(app: str, key: str = "kubernetes.io/hostname", skew: int = 1, **more: Any) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": app}}
    constraint = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [{**constraint, **more}]


def _anti(app: str) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _affinity(*apps: str) -> dict[str, Any]:
    terms = [{"labelSelector": {"matchLabels": {"app": a}}, "topologyKey": "kubernetes.io/hostname"} for a in apps]
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def test_e03_the_first_of_a_series_rule_needs_that_no_pod_matches_any_term() -> None:
    """kubernetes#129319: two affinity terms, one matched by another pod, the other only by the pod itself."""
    bench = Bench()
    bench.put("nodes", node_tree("n1"), node_tree("n2"))
    bench.put("pods", pod_tree("other", labels={"app": "db"}, node="n1"))
    bench.put("pods", pod_tree("p", labels={"app": "web"}, affinity=_affinity("db", "web")))
    bench.run()
    assert bench.node_of("p") == ""
    bench.put("pods", pod_tree("first", labels={"app": "web"}, affinity=_affinity("web")))
    bench.run()
    assert bench.node_of("first") != ""


def test_e10_assumed_pods_count_while_their_binding_is_slow() -> None:
    """kubernetes#138546: two pods with mutual anti-affinity, the second decided before the first is confirmed."""
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    bench.put("pods", *(pod_tree(n, labels={"app": "x"}, affinity=_anti("x")) for n in ("a", "b")))
    assert bench.scheduler.schedule_one()
    assert bench.scheduler.schedule_one()  # no command was carried out in between
    bench.run()
    assert sorted([bench.node_of("a"), bench.node_of("b")]) == ["", "n1"]


def test_e07_a_toleration_added_later_gets_a_pod_onto_a_cordoned_node() -> None:
    """kubernetes#127427."""
    bench = Bench()
    bench.put("nodes", node_tree("n1", unschedulable=True))
    bench.put("pods", pod_tree("p"))
    bench.run()
    assert bench.node_of("p") == ""
    toleration = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    bench.put("pods", pod_tree("p", tolerations=[toleration]))
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n1"


def test_e12_skew_two_lets_one_zone_take_all_three() -> None:
    """kubernetes#121284: z1 has two pods, z2 one; three more may leave 4 and 2, or 3 and 3, never worse."""
    bench = Bench()
    bench.put("nodes", *(node_tree(f"n{z}", cpu="32", labels={"zone": z}) for z in ("z1", "z2")))
    for i, node in enumerate(("nz1", "nz1", "nz2")):
        bench.put("pods", pod_tree(f"old{i}", labels={"app": "a"}, node=node))
    new = [
        pod_tree(f"new{i}", labels={"app": "a"}, topologySpreadConstraints=_spread("a", "zone", 2)) for i in range(3)
    ]
    bench.put("pods", *new)
    bench.run()
    counts = {z: sum(bench.node_of(f"new{i}") == z for i in range(3)) for z in ("nz1", "nz2")}
    assert counts["nz1"] + counts["nz2"] == 3
    assert abs(2 + counts["nz1"] - 1 - counts["nz2"]) <= 2


@pytest.mark.parametrize(("policy", "placed"), [(None, False), ("Honor", True)])
def test_e14_tainted_nodes_count_as_empty_domains_unless_taints_are_honored(policy: str | None, placed: bool) -> None:
    bench = Bench()
    taint = [{"key": "k", "effect": "NoSchedule"}]
    bench.put("nodes", *(node_tree(f"w{i}") for i in range(3)), *(node_tree(f"t{i}", taints=taint) for i in range(3)))
    for i in range(3):
        bench.put("pods", pod_tree(f"old{i}", labels={"app": "a"}, node=f"w{i}"))
    more = {"nodeTaintsPolicy": policy} if policy else {}
    bench.put("pods", pod_tree("p", labels={"app": "a"}, topologySpreadConstraints=_spread("a", **more)))
    bench.run()
    assert bool(bench.node_of("p")) is placed


def test_e15_sidecars_count_beside_the_main_container() -> None:
    """kubernetes#127868: main 4 CPU and a restartable init container of 250m do not fit on 4 CPU."""
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="4"))
    sidecar = {"name": "s", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}}
    bench.put("pods", pod_tree("p", cpu="4", initContainers=[sidecar]))
    bench.run()
    assert bench.message_of("p") == "0/1 nodes are available: 1 Insufficient cpu."


def test_e16_init_containers_still_count_once_the_pod_runs() -> None:
    """kubernetes#90177, #124282: init 8, main 0.1 on 8 CPU leaves no room for 6."""
    bench = Bench()
    bench.put("nodes", node_tree("n1", cpu="8"))
    init = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "8"}}}
    bench.put("pods", pod_tree("one", cpu="100m", initContainers=[init], node="n1"), pod_tree("two", cpu="6"))
    bench.run()
    assert bench.node_of("two") == ""


def test_e18_terms_are_alternatives() -> None:
    """kubernetes#44349: foo Gt 4 or bar Gt 8, on a node with foo=5 and bar=6."""
    bench = Bench()
    bench.put("nodes", node_tree("n1", labels={"foo": "5", "bar": "6"}))
    terms = [
        {"matchExpressions": [{"key": k, "operator": "Gt", "values": [v]}]} for k, v in (("foo", "4"), ("bar", "8"))
    ]
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    bench.put("pods", pod_tree("p", affinity=required))
    bench.run()
    assert bench.node_of("p") == "n1"


def test_e21_host_ports_conflict_by_protocol_port_and_address() -> None:
    """kubernetes#51950: different addresses and protocols coexist, the wildcard address conflicts with all."""
    bench = Bench()
    bench.put("nodes", node_tree("n1"))

    def pod(name: str, protocol: str, address: str) -> dict[str, Any]:
        tree = pod_tree(name)
        port = {"hostPort": 8080, "containerPort": 80, "protocol": protocol, "hostIP": address}
        tree["spec"]["containers"][0]["ports"] = [port]
        return tree

    bench.put("pods", pod("a", "TCP", "10.0.0.1"), pod("b", "TCP", "10.0.0.2"), pod("c", "UDP", "10.0.0.1"))
    bench.run()
    assert [bench.node_of(n) for n in "abc"] == ["n1"] * 3
    bench.put("pods", pod("d", "TCP", "0.0.0.0"), pod("e", "UDP", ""))
    bench.run()
    assert bench.node_of("d") == "" and bench.node_of("e") == ""


def test_e02_a_namespace_that_gets_the_label_wakes_the_pods_that_look_for_it() -> None:
    """kubernetes#141953: affinity to pods in namespaces with team=x."""
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    namespace = {"kind": "Namespace", "metadata": {"name": "other", "labels": {}}}
    bench.put("namespaces", namespace)
    bench.put("pods", pod_tree("worker", namespace="other", labels={"app": "worker"}, node="n1"))
    term = {
        "labelSelector": {"matchLabels": {"app": "worker"}},
        "topologyKey": "kubernetes.io/hostname",
        "namespaceSelector": {"matchLabels": {"team": "x"}},
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    bench.put("pods", pod_tree("p", affinity=affinity))
    bench.run()
    assert bench.node_of("p") == ""
    bench.put("namespaces", {"kind": "Namespace", "metadata": {"name": "other", "labels": {"team": "x"}}})
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n1"

from typing import Any

import pytest

from apportion.api.defaults import set_defaults, set_pod_spec_defaults
from apportion.api.kinds import Tree, find_kind_of


def complete(tree: Tree) -> Tree:
    kind = find_kind_of(tree)
    assert kind is not None
    return set_defaults(tree, kind)


def core(name: str, **parts: Any) -> Tree:
    return {"apiVersion": "v1", "kind": name, "metadata": {"name": "x"}, **parts}


def test_namespace_is_default_for_namespaced_kinds_only() -> None:
    assert complete(core("Pod"))["metadata"]["namespace"] == "default"
    node = core("Node")
    node["metadata"]["namespace"] = "left-over"
    assert "namespace" not in complete(node)["metadata"]


def test_pod_gets_scheduler_restart_policy_and_phase() -> None:
    pod = complete(core("Pod", spec={"containers": []}))
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    assert pod["spec"]["restartPolicy"] == "Always"
    assert pod["status"] == {"phase": "Pending"}
    assert complete(core("Pod", spec={}, status={"phase": "Running"}))["status"] == {"phase": "Running"}


def test_requests_are_taken_from_limits_where_absent() -> None:
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    spec = set_pod_spec_defaults({"containers": [{"resources": resources}], "initContainers": [{"resources": {}}]})
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert spec["initContainers"][0]["resources"] == {}


def test_ports_get_a_protocol_and_on_the_host_network_a_host_port() -> None:
    containers = [{"ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]}]
    plain = set_pod_spec_defaults({"containers": containers})["containers"][0]["ports"]
    assert plain == [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}]
    hosted = set_pod_spec_defaults({"containers": containers, "hostNetwork": True})["containers"][0]["ports"]
    assert [p["hostPort"] for p in hosted] == [80, 53]


def test_pod_level_requests_come_from_containers_then_from_limits() -> None:
    spec = set_pod_spec_defaults(
        {
            "containers": [
                {"resources": {"requests": {"cpu": "100m", "example.com/x": "1"}}},
                {"resources": {"requests": {"cpu": "150m"}}},
            ],
            "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
        }
    )
    assert spec["resources"]["requests"] == {"cpu": "250m", "memory": "1Gi"}


def test_node_offers_its_capacity_when_it_says_nothing_else() -> None:
    assert complete(core("Node", status={"capacity": {"cpu": "4"}}))["status"]["allocatable"] == {"cpu": "4"}
    stated = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3"}}
    assert complete(core("Node", status=stated))["status"] == stated


def test_namespace_carries_its_name_as_label() -> None:
    assert complete(core("Namespace"))["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}


def test_claim_requests_are_completed() -> None:
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "c", "tolerations": [{"key": "k"}]}},
        {"name": "b", "exactly": {"deviceClassName": "c", "allocationMode": "All"}},
        {"name": "c", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]},
    ]
    spec = {"devices": {"requests": requests}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {}, "spec": spec}
    a, b, c = complete(claim)["spec"]["devices"]["requests"]
    assert (a["exactly"]["allocationMode"], a["exactly"]["count"]) == ("ExactCount", 1)
    assert a["exactly"]["tolerations"] == [{"key": "k", "operator": "Equal"}]
    assert "count" not in b["exactly"]
    assert c["firstAvailable"][0]["count"] == 1
    template = {**claim, "kind": "ResourceClaimTemplate", "spec": {"spec": spec}}
    assert complete(template)["spec"]["spec"] == complete(claim)["spec"]


@pytest.mark.parametrize(
    "spec",
    [None, "text", {"containers": "x"}, {"containers": [1, {"resources": 2, "ports": 3}], "resources": {"limits": 1}}],
)
def test_odd_shapes_are_left_for_validation_to_name(spec: object) -> None:
    assert complete(core("Pod", spec=spec))["kind"] == "Pod"

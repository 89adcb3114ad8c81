"""Which features pods need is taken from the features registered in Kubernetes 1.37."""

from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree, read_pod

from apportion.sched.plugins.node_declared_features import find_needed_features

RESTART = {"restartPolicyRules": [{"action": "RestartAllContainers"}]}
MOUNT = {"volumeMounts": [{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}]}


def container(**more: Any) -> dict[str, Any]:
    """Return a container."""
    return {"name": "c", "image": "i", **more}


@pytest.mark.parametrize(
    ("spec", "needed"),
    [
        ({}, set()),
        ({"hostNetwork": True}, set()),
        ({"hostUsers": False}, set()),
        ({"hostNetwork": True, "hostUsers": True}, set()),
        ({"hostNetwork": True, "hostUsers": False}, {"UserNamespacesHostNetworkSupport"}),
        ({"containers": [container(**RESTART)]}, {"RestartAllContainersOnContainerExits"}),
        ({"initContainers": [container(**RESTART)]}, {"RestartAllContainersOnContainerExits"}),
        ({"containers": [container(restartPolicyRules=[{"action": "Restart"}])]}, set()),
        ({"containers": [container(**MOUNT)]}, {"VolumeBindMountOptions"}),
        ({"initContainers": [container(**MOUNT)]}, {"VolumeBindMountOptions"}),
        ({"ephemeralContainers": [container(**MOUNT)]}, {"VolumeBindMountOptions"}),
        ({"containers": [container(volumeMounts=[{"name": "v", "mountPath": "/v"}])]}, set()),
        (
            {"containers": [container(**RESTART, **MOUNT)]},
            {"RestartAllContainersOnContainerExits", "VolumeBindMountOptions"},
        ),
    ],
)
def test_what_a_pod_needs(spec: dict[str, Any], needed: set[str]) -> None:
    pod = read_pod(Bench().state, "p", **spec)
    assert find_needed_features(pod.spec) == needed


def declaring(name: str, *features: str) -> dict[str, Any]:
    """Return a node that has declared features."""
    tree = node_tree(name)
    tree["status"]["declaredFeatures"] = list(features)
    return tree


def test_a_pod_goes_where_everything_it_needs_is_declared() -> None:
    bench = Bench()
    bench.put("nodes", declaring("none"), declaring("one", "VolumeBindMountOptions"))
    bench.put("nodes", declaring("both", "Other", "RestartAllContainersOnContainerExits", "VolumeBindMountOptions"))
    for i in range(3):
        bench.put("pods", pod_tree(f"p{i}", containers=[container(**RESTART, **MOUNT)]))
    bench.run()
    assert [bench.node_of(f"p{i}") for i in range(3)] == ["both"] * 3


def test_the_reason_is_upstreams_and_eviction_is_not_tried() -> None:
    bench = Bench()
    bench.put("nodes", declaring("n1", "Other"))
    bench.put("pods", pod_tree("p", hostNetwork=True, hostUsers=False))
    bench.run()
    assert bench.message_of("p") == "0/1 nodes are available: 1 node(s) didn't match Pod's required features."
    (entry,) = bench.scheduler.queue.dump()
    assert entry["unschedulable_plugins"] == ["NodeDeclaredFeatures"]


def test_other_changes_of_a_node_do_not_wake_the_pod() -> None:
    bench = Bench()
    bench.put("nodes", declaring("n1"))
    bench.put("pods", pod_tree("p", hostNetwork=True, hostUsers=False))
    bench.run()
    tree = declaring("n1")
    tree["metadata"]["labels"]["zone"] = "z"
    bench.put("nodes", tree)
    assert bench.scheduler.queue.pending("unschedulable") == 1
    bench.put("nodes", declaring("n1", "UserNamespacesHostNetworkSupport"))
    assert bench.scheduler.queue.pending("unschedulable") == 0

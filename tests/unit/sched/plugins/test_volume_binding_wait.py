"""PreBind waits for the volume controller, which a test plays here."""

from typing import Any

import pytest
from builders import Bench, Tree, node_tree, pod_tree
from volume_trees import ZONE, bind_timeout, claim_tree, class_tree, mounting, volume_tree

SELECTED = "volume.kubernetes.io/selected-node"


def bench_with(claim: Tree, *volumes: Tree, timeout_s: int = 600) -> Bench:
    """Return a cluster in which a pod has got as far as waiting for its claim."""
    bench = Bench(bind_timeout(timeout_s))
    bench.put("nodes", node_tree("n0", labels={ZONE: "a"}))
    bench.put("storageclasses", class_tree("local"), class_tree("made", "csi.example.com"))
    bench.put("persistentvolumes", *volumes)
    bench.put("persistentvolumeclaims", claim)
    bench.put("pods", pod_tree("p", volumes=mounting("c")))
    bench.run()
    return bench


def change(bench: Bench, resource: str, name: str, namespace: str = "", **more: Any) -> None:
    """Change an object that the API has."""
    tree = bench.transport.find(resource, namespace, name)
    assert tree is not None
    merged = {k: {**tree.get(k, {}), **v} for k, v in more.items()}
    bench.put(resource, {**tree, **merged})
    bench.run()


def complete(bench: Bench, volume: str) -> None:
    """Do what the volume controller does in the end."""
    done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes", SELECTED: "n0"}}
    change(bench, "persistentvolumeclaims", "c", "default", metadata=done, spec={"volumeName": volume})


def settle(bench: Bench) -> None:
    """Let everything happen that is under way, without a new attempt."""
    while bench.shell.send():
        bench.deliver()


def nominated(bench: Bench) -> str:
    tree = bench.transport.find("pods", "default", "p")
    assert tree is not None
    name: str = tree["status"].get("nominatedNodeName", "")
    return name


def test_a_pod_is_bound_when_its_claim_is() -> None:
    bench = bench_with(claim_tree("c"), volume_tree("v"))
    assert (bench.node_of("p"), nominated(bench)) == ("", "n0")
    complete(bench, "v")
    assert bench.node_of("p") == "n0"


def test_a_provisioned_volume_is_waited_for() -> None:
    bench = bench_with(claim_tree("c", storage_class="made"))
    assert bench.node_of("p") == ""
    complete(bench, "new")  # the claim names a volume that is not known yet
    assert bench.node_of("p") == ""
    bench.put("persistentvolumes", volume_tree("new"))
    bench.run()
    assert bench.node_of("p") == "n0"


def test_the_wait_ends_at_its_deadline() -> None:
    bench = bench_with(claim_tree("c"), volume_tree("v"), timeout_s=30)
    bench.clock.advance_to(bench.clock.now() + 29)
    bench.scheduler.flush()
    bench.run()
    assert bench.scheduler.attempts["error"] == 0
    bench.clock.advance_to(bench.clock.now() + 1)
    bench.scheduler.flush()
    bench.run()
    assert bench.message_of("p") == "binding volumes: context deadline exceeded"


def test_a_provisioner_that_gives_up_sends_the_pod_back() -> None:
    bench = bench_with(claim_tree("c", storage_class="made"))
    bench.put("persistentvolumeclaims", claim_tree("c", storage_class="made"))
    settle(bench)
    assert bench.message_of("p") == 'binding volumes: provisioning failed for PVC "c"'


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"claimRef": None}, 'binding volumes: ClaimRef got reset for pv "v"'),
        (
            {
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["b"]}]}]
                    }
                }
            },
            'binding volumes: pv "v" node affinity doesn\'t match node "n0": no matching NodeSelectorTerms',
        ),
    ],
)
def test_a_volume_that_is_lost_meanwhile_sends_the_pod_back(spec: Tree, text: str) -> None:
    bench = bench_with(claim_tree("c"), volume_tree("v"))
    tree = bench.transport.find("persistentvolumes", "", "v")
    assert tree is not None
    bench.transport.put("persistentvolumes", {**tree, "spec": {**tree["spec"], **spec}})
    bench.deliver()
    settle(bench)
    assert bench.message_of("p") == text


def test_without_a_timeout_nobody_waits() -> None:
    assert bench_with(claim_tree("c"), volume_tree("v"), timeout_s=0).node_of("p") == "n0"


def test_pods_whose_claims_are_bound_are_not_nominated() -> None:
    bench = bench_with(claim_tree("c", volume="v"), volume_tree("v", phase="Bound"))
    assert (bench.node_of("p"), nominated(bench)) == ("n0", "")


def test_nobody_waits_for_a_pod_that_is_gone() -> None:
    bench = bench_with(claim_tree("c", storage_class="made"))
    assert bench.scheduler.binding_count == 1
    bench.transport.remove("pods", "default", "p")
    bench.deliver()
    assert (bench.scheduler.binding_count, bench.state.assumed) == (0, {})
    assert bench.scheduler.tasks.next_deadline_s() is None

import msgspec
import orjson
import pytest
from builders import Bench, node_tree, pod_tree, read_pod
from volume_trees import claim_tree, csi_volume_tree, mounting, volume_tree

from apportion.api.storage import PersistentVolume
from apportion.base import InvariantError
from apportion.sched.state import ClusterState


def _volume(version: str, size: str = "1Gi") -> PersistentVolume:
    tree = volume_tree("v", size)
    tree["metadata"]["resourceVersion"] = version
    return msgspec.json.decode(orjson.dumps(tree), type=PersistentVolume)


def test_an_assumption_stands_until_the_api_shows_another_version() -> None:
    state = ClusterState()
    store = state.volumes
    first, second = _volume("1"), _volume("2", "3Gi")
    state.apply_object("PersistentVolume", "v", first)
    assumed = _volume("1", "2Gi")
    store.assume_volume(assumed)
    assert (store.find_volume("v"), store.find_actual_volume("v")) == (assumed, first)
    state.apply_object("PersistentVolume", "v", first)  # the same version again
    assert store.find_volume("v") is assumed
    assert state.apply_object("PersistentVolume", "v", second) is first
    assert store.find_volume("v") is second
    store.restore(["v"], [])  # too late to take anything back
    assert store.find_volume("v") is second
    store.assume_volume(assumed)
    store.restore(["v"], [])
    assert store.find_volume("v") is second


def test_only_what_exists_can_be_assumed() -> None:
    with pytest.raises(InvariantError, match="cannot assume a change of v"):
        ClusterState().volumes.assume_volume(_volume("1"))


def test_usage_follows_pods_and_claims() -> None:
    bench = Bench()
    usage = bench.state.volumes.usage
    bench.put("nodes", node_tree("n1"), node_tree("n2"))
    bench.put("pods", pod_tree("a", node="n1", volumes=mounting("c")), pod_tree("b", node="n1", volumes=mounting("c")))
    row = bench.state.nodes.row_of["n1"]
    assert usage.count_users("default/c") == 2
    assert not usage.attached(row, "csi.example.com")
    bench.put("persistentvolumes", csi_volume_tree("v", phase="Bound"))
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    assert list(usage.attached(row, "csi.example.com")) == ["handle-v"]
    bench.put("pods", pod_tree("a", node="n1", status={"phase": "Failed"}))
    assert usage.is_in_use(("csi.example.com", "handle-v"))
    bench.put("pods", pod_tree("b", node="n1", status={"phase": "Failed"}))
    assert usage.count_users("default/c") == 0
    assert not usage.is_in_use(("csi.example.com", "handle-v"))
    assert usage.claims_in_use() == []


def test_a_trial_leaves_usage_as_it_was() -> None:
    bench = Bench()
    usage = bench.state.volumes.usage
    bench.put("nodes", node_tree("n1"))
    bench.put("persistentvolumes", csi_volume_tree("v", phase="Bound"))
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    bench.put("pods", pod_tree("a", node="n1", volumes=mounting("c")))
    row = bench.state.nodes.row_of["n1"]
    with bench.state.trial() as trial:
        trial.remove(bench.state.pods["uid-default-a"], row)
        assert usage.count_users("default/c") == 0 and not usage.attached(row, "csi.example.com")
        trial.add(read_pod(bench.state, "new", volumes=mounting("c")), row)
        assert usage.count_users("default/c") == 1
    assert usage.count_users("default/c") == 1
    assert dict(usage.attached(row, "csi.example.com")) == {"handle-v": 1}


def test_kinds_that_only_volume_plugins_read_leave_plans_alone() -> None:
    bench = Bench()
    before = bench.state.plan_epoch
    bench.put("persistentvolumes", volume_tree("v"))
    bench.put("persistentvolumeclaims", claim_tree("c"))
    assert bench.state.plan_epoch == before
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"}, "spec": {}}
    bench.put("services", service)
    assert bench.state.plan_epoch == before + 1

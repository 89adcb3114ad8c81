from typing import Any

import pytest
from builders import Bench, node_tree, pod_tree
from volume_trees import claim_tree, mounting, volume_tree

NO_DISK = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had no available disk."


def _bench(disk: dict[str, Any]) -> Bench:
    """Return two nodes, one of them full, the other with a pod on it that names a disk."""
    bench = Bench()
    bench.put("nodes", node_tree("n1"), node_tree("n2", cpu="100m"))
    bench.put("pods", pod_tree("user", cpu="100m", node="n1", volumes=[{"name": "d", **disk}]))
    return bench


def _place(bench: Bench, disk: dict[str, Any]) -> str:
    bench.put("pods", pod_tree("p", volumes=[{"name": "d", **disk}]))
    bench.run()
    return bench.node_of("p") or bench.message_of("p")


def _gce(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def _rbd(monitor: str, image: str) -> dict[str, Any]:
    return {"rbd": {"monitors": [monitor, "m0"] if image == "both" else [monitor], "image": image}}


EBS = {"awsElasticBlockStore": {"volumeID": "v", "readOnly": True}}
ISCSI = {"iscsi": {"iqn": "q", "targetPortal": "x", "lun": 0, "readOnly": True}}


@pytest.mark.parametrize(
    ("used", "wanted", "expected"),
    [
        (_gce("a"), _gce("a"), NO_DISK),
        (_gce("a"), _gce("b"), "n1"),
        (_gce("a", True), _gce("a"), NO_DISK),
        (_gce("a", True), _gce("a", True), "n1"),
        (EBS, EBS, NO_DISK),
        (ISCSI, ISCSI, "n1"),
        (ISCSI, {"iscsi": {"iqn": "q"}}, NO_DISK),
        (_rbd("m1", "both"), _rbd("m0", "both"), NO_DISK),
        (_rbd("m1", "i"), _rbd("m2", "i"), "n1"),
        (_rbd("m1", "i"), _rbd("m1", "j"), "n1"),
    ],
)
def test_one_node_writes_to_a_disk(used: dict[str, Any], wanted: dict[str, Any], expected: str) -> None:
    assert _place(_bench(used), wanted) == expected


def test_a_pod_that_goes_frees_its_disk() -> None:
    bench = _bench(_gce("a"))
    assert _place(bench, _gce("a")) == NO_DISK
    bench.put("pods", pod_tree("user", node="n1", status={"phase": "Succeeded"}))
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n1"


def test_a_claim_for_one_pod_is_used_by_one_pod_anywhere() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"), node_tree("n2"))
    bench.put("persistentvolumes", volume_tree("v", phase="Bound"))
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v", modes=["ReadWriteOncePod"]))
    bench.put("pods", pod_tree("first", priority=5, volumes=mounting("c")))
    bench.run()
    assert bench.node_of("first") != ""
    bench.put("pods", pod_tree("second", priority=5, volumes=mounting("c")))
    bench.run()
    text = "unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
    assert bench.message_of("second") == f"0/2 nodes are available: 2 node(s) {text}."
    bench.put("pods", pod_tree("vip", priority=10, volumes=mounting("c")))
    bench.run()
    assert bench.transport.find("pods", "default", "first") is None  # preemption frees the claim


def test_a_missing_claim_wakes_the_pod_when_it_appears() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    bench.put("persistentvolumes", volume_tree("v", phase="Bound"))
    bench.put("pods", pod_tree("p", volumes=mounting("c")))
    bench.run()
    assert bench.message_of("p") == '0/1 nodes are available: persistentvolumeclaim "c" not found.'
    bench.clock.advance_to(bench.clock.now() + 15)
    bench.put("persistentvolumeclaims", claim_tree("other", volume="w"))
    bench.run()
    assert bench.scheduler.attempts["unschedulable"] == 1
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    bench.run()
    assert bench.node_of("p") == "n1"

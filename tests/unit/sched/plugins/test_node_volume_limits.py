from builders import Bench, node_tree, pod_tree
from volume_trees import (
    attachment_tree,
    claim_tree,
    class_tree,
    csi_node_tree,
    csi_volume_tree,
    driver_tree,
    mounting,
)

from apportion.sched.explain import judge
from apportion.sched.framework import Status

TOO_MANY = "node(s) exceed max volume count"


def _bench(count: int | None) -> Bench:
    """Return one node that can attach ``count`` volumes, and claims c0 to c4, each bound to its own."""
    bench = Bench()
    bench.put("nodes", node_tree("n1"))
    bench.put("csinodes", csi_node_tree("n1", count))
    for i in range(5):
        bench.put("persistentvolumes", csi_volume_tree(f"v{i}", phase="Bound"))
        bench.put("persistentvolumeclaims", claim_tree(f"c{i}", volume=f"v{i}"))
    return bench


def _reason(bench: Bench, *claims: str) -> str:
    """Return why a pod with these claims is rejected, empty when it fits."""
    pod = bench.state.reader.read_tree(pod_tree("asked", volumes=mounting(*claims)))
    found = judge(bench.scheduler, pod).nodes["n1"]
    return found.message if isinstance(found, Status) else ""


def test_new_volumes_count_on_top_of_those_in_use() -> None:
    bench = _bench(3)
    assert _reason(bench, "c0", "c1", "c2") == ""
    assert _reason(bench, "c0", "c1", "c2", "c3") == TOO_MANY
    bench.put("pods", pod_tree("user", node="n1", volumes=mounting("c0", "c1")))
    assert _reason(bench, "c2") == ""
    assert _reason(bench, "c2", "c3") == TOO_MANY
    assert _reason(bench, "c0", "c1", "c2") == ""  # two of them are attached already
    bench.put("pods", pod_tree("user", node="n1", status={"phase": "Failed"}))
    assert _reason(bench, "c2", "c3") == ""


def test_limits_follow_the_csi_node() -> None:
    bench = _bench(1)
    assert _reason(bench, "c0", "c1") == TOO_MANY
    bench.put("csinodes", csi_node_tree("n1", 2))
    assert _reason(bench, "c0", "c1") == ""
    bench.put("csinodes", csi_node_tree("n1", 0, driver="another.example.com"))
    assert _reason(bench, "c0", "c1") == ""
    bench.put("csinodes", csi_node_tree("n1", None))
    assert _reason(bench, "c0", "c1", "c2") == ""


def test_attachments_without_a_pod_count() -> None:
    bench = _bench(2)
    bench.put("volumeattachments", attachment_tree("a", "n1", "v0"), attachment_tree("b", "n1", "v1"))
    assert _reason(bench, "c2") == TOO_MANY
    assert _reason(bench, "c0") == ""
    bench.put("volumeattachments", attachment_tree("b", "elsewhere", "v1"))
    assert _reason(bench, "c2") == ""


def test_a_claim_that_gets_its_volume_is_counted_once() -> None:
    bench = _bench(1)
    bench.put("storageclasses", class_tree("made", "csi.example.com"))
    bench.put("persistentvolumeclaims", claim_tree("late", storage_class="made"))
    bench.put("pods", pod_tree("user", node="n1", volumes=mounting("late")))
    assert _reason(bench, "c0") == TOO_MANY  # a place is kept for what is to be provisioned
    bench.put("persistentvolumeclaims", claim_tree("late", volume="v0", storage_class="made"))
    assert _reason(bench, "c0") == ""  # the same volume
    assert _reason(bench, "c1") == TOO_MANY


def test_a_driver_may_ask_to_be_waited_for() -> None:
    bench = _bench(None)
    bench.put("csinodes", csi_node_tree("n1", None, driver="another.example.com"))
    assert _reason(bench, "c0") == ""
    bench.put("csidrivers", driver_tree(preventPodSchedulingIfMissing=True))
    assert _reason(bench, "c0") == "csi.example.com CSI driver is not installed on the node"
    bench.put("csinodes", csi_node_tree("n1", None))
    assert _reason(bench, "c0") == ""


def test_a_pod_that_goes_makes_room() -> None:
    bench = _bench(1)
    bench.put("pods", pod_tree("user", node="n1", volumes=mounting("c0")))
    bench.put("pods", pod_tree("p", volumes=mounting("c1")))
    bench.run()
    assert bench.message_of("p") == f"0/1 nodes are available: 1 {TOO_MANY}."
    bench.put("pods", pod_tree("user", node="n1", status={"phase": "Succeeded"}))
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n1"

from builders import Bench, node_tree, pod_tree
from volume_trees import ZONE, claim_tree, class_tree, csi_volume_tree, mounting

from apportion.sched.explain import judge
from apportion.sched.explain.judgement import Judgement
from apportion.sched.framework import Status

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"


def _judge(labels: dict[str, str], *nodes: dict[str, str]) -> Judgement:
    """Return the judgement on a pod with one volume with labels, for nodes n0, n1, ... with labels."""
    bench = Bench()
    bench.put("nodes", *(node_tree(f"n{i}", labels=own) for i, own in enumerate(nodes)))
    bench.put("persistentvolumes", csi_volume_tree("v", labels=labels, phase="Bound"))
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    return judge(bench.scheduler, bench.state.reader.read_tree(pod_tree("p", volumes=mounting("c"))))


def _rejected(judgement: Judgement) -> list[str]:
    found = [n for n, a in judgement.nodes.items() if isinstance(a, Status) and a.plugin == "VolumeZone"]
    assert all(judgement.nodes[n].reasons == ("node(s) had no available volume zone",) for n in found)  # type: ignore[union-attr]
    return sorted(found)


def test_the_node_needs_one_of_the_volumes_zones() -> None:
    nodes = ({ZONE: "a"}, {ZONE: "b"}, {ZONE: "c"}, {}, {"topology.kubernetes.io/region": "r"})
    assert _rejected(_judge({ZONE: "a__b"}, *nodes)) == ["n2", "n4"]
    assert _rejected(_judge({}, *nodes)) == []
    assert _rejected(_judge({ZONE: "a__"}, *nodes)) == []  # malformed


def test_an_old_label_of_the_volume_meets_the_new_one_of_the_node() -> None:
    nodes = ({ZONE: "a"}, {ZONE: "b"}, {OLD_ZONE: "a", ZONE: "b"}, {OLD_ZONE: "b", ZONE: "a"})
    assert _rejected(_judge({OLD_ZONE: "a"}, *nodes)) == ["n1", "n3"]


def test_claims_that_cannot_be_looked_up_turn_the_pod_down_unless_they_wait_for_it() -> None:
    bench = Bench()
    bench.put("nodes", node_tree("n0"))
    bench.put("storageclasses", class_tree("late", "csi.example.com"))
    plugin = next(p for p in bench.scheduler.profiles["default-scheduler"].filters if p.name == "VolumeZone")
    bench.put(
        "persistentvolumeclaims",
        claim_tree("late", storage_class="late"),
        claim_tree("unknown", storage_class="unknown"),
        claim_tree("none", storage_class=""),
        claim_tree("gone", volume="gone"),
    )

    def text(name: str) -> str:
        found = plugin.pre_filter(bench.state.reader.read_tree(pod_tree("p", volumes=mounting(name))))
        return found.status.message if found.status is not None else ""

    assert text("late") == ""
    assert text("unknown") == 'storageclass.storage.k8s.io "unknown" not found'
    assert text("none") == "PersistentVolumeClaim had no pv name and storageClass name"
    assert text("gone") == 'persistentvolume "gone" not found'

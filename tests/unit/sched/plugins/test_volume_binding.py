from builders import Bench, node_tree, pod_tree
from volume_trees import (
    ZONE,
    bind_timeout,
    capacity_tree,
    claim_tree,
    class_tree,
    csi_volume_tree,
    driver_tree,
    mounting,
    volume_tree,
)

from apportion.sched.explain import judge
from apportion.sched.explain.judgement import NodeScores
from apportion.sched.framework import Status

HOST = "kubernetes.io/hostname"
CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"


def _bench(*zones: str) -> Bench:
    """Return a cluster with one node in each zone, n0 first, and a class "local" without provisioner."""
    bench = Bench(bind_timeout(0))  # what is written is of interest here, not the wait
    bench.put("nodes", *(node_tree(f"n{i}", labels={ZONE: zone}) for i, zone in enumerate(zones)))
    bench.put("storageclasses", class_tree("local"), class_tree("made", "csi.example.com"))
    return bench


def _answers(bench: Bench, *claims: str, name: str = "p") -> dict[str, str | int]:
    """Return for each node the storage score, or why it is rejected."""
    pod = bench.state.reader.read_tree(pod_tree(name, volumes=mounting(*claims)))
    judgement = judge(bench.scheduler, pod)
    found: dict[str, str | int] = {}
    for node, answer in judgement.nodes.items():
        if isinstance(answer, Status):
            found[node] = ", ".join(answer.reasons)
        else:
            assert isinstance(answer, NodeScores)
            found[node] = answer.raw["VolumeBinding"]
    return found


# ---- judging ----------------------------------------------------------------------------------------------


def test_a_bound_volume_is_reached_from_where_its_affinity_says() -> None:
    bench = _bench("a", "b")
    bench.put("persistentvolumes", volume_tree("v", at=(ZONE, ["b", "c"]), phase="Bound"))
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    assert _answers(bench, "c") == {"n0": CONFLICT, "n1": 0}
    bench.put("nodes", node_tree("n0", labels={ZONE: "c"}))
    assert _answers(bench, "c") == {"n0": 0, "n1": 0}


def test_a_claim_bound_to_a_volume_that_is_gone_fits_nowhere() -> None:
    bench = _bench("a")
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    text = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    column = bench.scheduler.profiles["default-scheduler"].filters
    plugin = next(p for p in column if p.name == "VolumeBinding")
    found = plugin.pre_filter(bench.state.reader.read_tree(pod_tree("p", volumes=mounting("c"))))
    assert found.column is not None
    assert not found.column.ok.any()
    assert [s.reasons for s, _ in found.column.statuses(bench.state.nodes.valid.nonzero()[0])] == [(text,)]


def test_the_smallest_volume_in_reach_is_chosen() -> None:
    bench = _bench("a", "b", "c")
    bench.put(
        "persistentvolumes",
        volume_tree("big", "100Gi", at=(ZONE, ["a"])),
        volume_tree("small", "20Gi", at=(ZONE, ["a", "b"])),
        volume_tree("tiny", "5Gi"),
        volume_tree("read", "10Gi", accessModes=["ReadOnlyMany"]),
    )
    bench.put("persistentvolumeclaims", claim_tree("c", "10Gi"))
    assert _answers(bench, "c") == {"n0": 50, "n1": 50, "n2": NOTHING_TO_BIND}


def test_two_claims_need_two_volumes_and_the_smaller_claim_chooses_first() -> None:
    bench = _bench("a", "b")
    bench.put(
        "persistentvolumes",
        volume_tree("v10", "10Gi", at=(ZONE, ["a", "b"])),
        volume_tree("v40", "40Gi", at=(ZONE, ["a"])),
    )
    bench.put("persistentvolumeclaims", claim_tree("large", "10Gi"), claim_tree("small", "5Gi"))
    # 15 of 50 GiB; had the large claim taken v10 first, the sums would be the same but v40 would serve the small one
    assert _answers(bench, "large", "small") == {"n0": 70, "n1": NOTHING_TO_BIND}
    bench.put("pods", pod_tree("p", volumes=mounting("large", "small")))
    bench.run()
    assert _claim_of(bench, "v10") == "small"
    assert _claim_of(bench, "v40") == "large"


def test_a_volume_meant_for_the_claim_is_the_only_one() -> None:
    bench = _bench("a", "b")
    ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"}
    bench.put("persistentvolumes", volume_tree("free"), volume_tree("mine", "50Gi", at=(ZONE, ["b"]), claimRef=ref))
    bench.put("persistentvolumeclaims", claim_tree("c", "10Gi"), claim_tree("other", "10Gi"))
    assert _answers(bench, "c") == {"n0": NOTHING_TO_BIND, "n1": 80}
    assert _answers(bench, "other") == {"n0": 0, "n1": 0}


def test_selector_mode_and_attributes_class_must_agree() -> None:
    bench = _bench("a")
    bench.put(
        "persistentvolumes",
        volume_tree("plain", labels={"tier": "slow"}),
        volume_tree("block", volumeMode="Block", labels={"tier": "fast"}),
        volume_tree("gold", volumeAttributesClassName="gold"),
    )
    selector = {"matchLabels": {"tier": "fast"}}
    bench.put(
        "persistentvolumeclaims",
        claim_tree("fast", selector=selector),
        claim_tree("fast-block", selector=selector, volumeMode="Block"),
        claim_tree("silver", volumeAttributesClassName="silver"),
        claim_tree("gold", volumeAttributesClassName="gold"),
    )
    assert _answers(bench, "fast") == {"n0": NOTHING_TO_BIND}
    assert _answers(bench, "fast-block") == {"n0": 90}
    assert _answers(bench, "silver") == {"n0": NOTHING_TO_BIND}
    assert _answers(bench, "gold") == {"n0": 90}


def test_storage_is_made_where_topology_and_capacity_allow() -> None:
    bench = _bench("a", "b", "c")
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]
    bench.put("storageclasses", class_tree("made", "csi.example.com", allowedTopologies=topologies))
    bench.put("persistentvolumeclaims", claim_tree("c", "10Gi", storage_class="made"))
    assert _answers(bench, "c") == {"n0": 0, "n1": 0, "n2": NOTHING_TO_BIND}
    bench.put("csidrivers", driver_tree(storageCapacity=True))
    bench.put("csistoragecapacities", capacity_tree("a", "made", "100Gi", "a"), capacity_tree("b", "made", "9Gi", "b"))
    no_space = "node(s) did not have enough free storage"
    assert _answers(bench, "c") == {"n0": 90, "n1": no_space, "n2": NOTHING_TO_BIND}
    bench.put("csistoragecapacities", capacity_tree("b", "made", "20Gi", "b", maximumVolumeSize="5Gi"))
    assert _answers(bench, "c")["n1"] == no_space
    bench.put("csistoragecapacities", capacity_tree("b", "made", "20Gi", "b", maximumVolumeSize="15Gi"))
    assert _answers(bench, "c")["n1"] == 50


def test_claims_that_nobody_can_use_yet_turn_the_pod_down() -> None:
    bench = _bench("a")
    immediate = class_tree("now", "csi.example.com", volumeBindingMode="Immediate")
    bench.put("storageclasses", immediate)
    lost = claim_tree("lost", volume="v")
    lost["status"]["phase"] = "Lost"
    bench.put(
        "persistentvolumeclaims",
        claim_tree("now", storage_class="now"),
        claim_tree("named", volumeName="v"),
        claim_tree("going", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        claim_tree("p-eph"),
        lost,
    )

    def reject(**volume: object) -> str:
        pod = bench.state.reader.read_tree(pod_tree("p", volumes=[volume]))
        found = judge(bench.scheduler, pod).pre_filter
        assert found is not None
        return found.message

    def mount(name: str) -> str:
        return reject(name="v", persistentVolumeClaim={"claimName": name})

    assert mount("now") == mount("named") == "pod has unbound immediate PersistentVolumeClaims"
    assert mount("going") == 'persistentvolumeclaim "going" is being deleted'
    assert mount("lost") == 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "v"'
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-new"'
    assert reject(name="new", ephemeral={}) == waiting
    assert reject(name="eph", ephemeral={}).endswith("was not created for pod default/p (pod is not owner)")


# ---- binding ----------------------------------------------------------------------------------------------


def _claim_of(bench: Bench, volume: str) -> str:
    tree = bench.transport.find("persistentvolumes", "", volume)
    assert tree is not None
    name: str = tree["spec"].get("claimRef", {}).get("name", "")
    return name


def test_a_binding_is_written_before_the_pod_gets_its_node() -> None:
    bench = _bench("a", "b")
    bench.put("persistentvolumes", volume_tree("v", at=(ZONE, ["b"])))
    bench.put("persistentvolumeclaims", claim_tree("c"))
    bench.put("pods", pod_tree("p", volumes=mounting("c")))
    bench.run()
    assert bench.node_of("p") == "n1"
    tree = bench.transport.find("persistentvolumes", "", "v")
    assert tree is not None
    assert tree["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
    ref = tree["spec"]["claimRef"]
    assert (ref["kind"], ref["namespace"], ref["name"], ref["uid"]) == (
        "PersistentVolumeClaim", "default", "c", "uid-default-c",
    )  # fmt: skip
    assert bench.state.volumes.find_actual_volume("v") == bench.state.volumes.find_volume("v")


def test_pods_that_wait_together_get_different_volumes() -> None:
    """The second is judged while the first one's binding is only assumed."""
    bench = _bench("a", "a", "a")
    bench.put("persistentvolumes", *(volume_tree(f"v{i}", at=(HOST, [f"n{i}"])) for i in range(2)))
    bench.put("persistentvolumeclaims", *(claim_tree(f"c{i}") for i in range(3)))
    bench.put("pods", *(pod_tree(f"p{i}", volumes=mounting(f"c{i}")) for i in range(3)))
    while bench.scheduler.schedule_one():
        pass
    bench.run()
    assert sorted(bench.node_of(f"p{i}") for i in range(3)) == ["", "n0", "n1"]
    assert {_claim_of(bench, "v0"), _claim_of(bench, "v1")} < {"c0", "c1", "c2"}


def test_a_claim_on_its_way_to_a_node_draws_other_pods_there() -> None:
    bench = _bench("a", "b", "c")
    bench.put("persistentvolumeclaims", claim_tree("c", storage_class="made"))
    bench.put("pods", pod_tree("first", volumes=mounting("c"), nodeSelector={ZONE: "b"}))
    bench.put("pods", pod_tree("second", volumes=mounting("c")))
    bench.run()
    assert (bench.node_of("first"), bench.node_of("second")) == ("n1", "n1")
    tree = bench.transport.find("persistentvolumeclaims", "default", "c")
    assert tree is not None
    assert tree["metadata"]["annotations"] == {"volume.kubernetes.io/selected-node": "n1"}
    bench.put("pods", pod_tree("third", volumes=mounting("c"), nodeSelector={ZONE: "a"}))
    bench.run()
    expected = "node(s) didn't find available persistent volumes to bind"
    assert f"1 {expected}" in bench.message_of("third")


def test_a_failed_write_takes_the_assumptions_back() -> None:
    bench = _bench("a")
    bench.put("persistentvolumes", volume_tree("v"))
    bench.put("persistentvolumeclaims", claim_tree("c"))
    bench.put("pods", pod_tree("p", volumes=mounting("c")))
    assert bench.scheduler.schedule_one()
    assumed = bench.state.volumes.find_volume("v")
    assert assumed is not None and assumed.spec.claim_ref is not None
    bench.transport.put("persistentvolumes", volume_tree("v", "11Gi"))  # a newer version: the write conflicts
    bench.shell.send()
    while bench.transport.deliver():
        pass
    found = bench.state.volumes.find_volume("v")
    assert found is not None and found.spec.claim_ref is None
    assert bench.node_of("p") == "" and not bench.state.assumed
    bench.clock.advance_to(bench.clock.now() + 5)
    bench.scheduler.queue.flush()
    bench.run()
    assert bench.node_of("p") == "n0" and _claim_of(bench, "v") == "c"


# ---- columns stay up to date ------------------------------------------------------------------------------


def test_what_changes_is_noticed_by_columns_in_use() -> None:
    bench = _bench("a", "b", "c")
    bench.put("persistentvolumeclaims", claim_tree("c", "10Gi"))
    assert set(_answers(bench, "c").values()) == {NOTHING_TO_BIND}
    bench.put("persistentvolumes", volume_tree("v", "20Gi", at=(HOST, ["n1"])))
    assert _answers(bench, "c") == {"n0": NOTHING_TO_BIND, "n1": 50, "n2": NOTHING_TO_BIND}
    bench.put("persistentvolumes", volume_tree("w", "100Gi", at=(ZONE, ["c"])))
    assert _answers(bench, "c") == {"n0": NOTHING_TO_BIND, "n1": 50, "n2": 90}
    bench.put("persistentvolumes", volume_tree("v", "20Gi", at=(HOST, ["n1"]), phase="Released"))
    assert _answers(bench, "c") == {"n0": NOTHING_TO_BIND, "n1": NOTHING_TO_BIND, "n2": 90}
    bench.put("persistentvolumes", volume_tree("w", "50Gi", at=(ZONE, ["a"])))
    assert _answers(bench, "c") == {"n0": 80, "n1": NOTHING_TO_BIND, "n2": NOTHING_TO_BIND}


def test_a_pod_without_volumes_has_no_column_and_scores_nothing() -> None:
    bench = _bench("a")
    bench.put("persistentvolumes", csi_volume_tree("v", phase="Bound"))
    bench.put("persistentvolumeclaims", claim_tree("c", volume="v"))
    plain = bench.state.reader.read_tree(pod_tree("plain"))
    anywhere = bench.state.reader.read_tree(pod_tree("anywhere", volumes=mounting("c")))
    plans = [bench.scheduler.search.plan(pod) for pod in (plain, anywhere)]
    assert [name for _, name, _ in plans[0].filters] == [n for _, n, _ in plans[1].filters if n != "NodeVolumeLimits"]
    assert _answers(bench, "c") == {"n0": 0}

"""ReplicaSets beside a real API server."""

from workload_rig import APPS, AT_ONCE, NAMESPACE, PODS, Rig, Tree, conditions, workload

SETS = f"{APPS}/replicasets"


def make(replicas: int = 3, **spec: object) -> Rig:
    rig = Rig()
    rig.call("POST", SETS, workload("ReplicaSet", "web", replicas=replicas, **spec))
    rig.settle()
    return rig


def bare_pod(name: str, **labels: str) -> Tree:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": spec}


def owner_of(pod: Tree) -> str | None:
    return next((o["name"] for o in pod["metadata"].get("ownerReferences") or [] if o.get("controller")), None)


def test_pods_are_made_as_upstream_makes_them() -> None:
    rig = make(2)
    pods = rig.pods()
    web = rig.get(f"{SETS}/web")
    assert len(pods) == 2
    for pod in pods:
        meta = pod["metadata"]
        assert meta["generateName"] == "web-" and len(meta["name"]) == len("web-") + 5
        assert meta["labels"] == {"app": "web"}
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": web["metadata"]["uid"]}
        assert meta["ownerReferences"] == [{**reference, "controller": True, "blockOwnerDeletion": True}]
    assert rig.events() == [("SuccessfulCreate", f"Created pod: {name}") for name in sorted_by_version(pods)]
    assert web["status"] == {
        "replicas": 2, "fullyLabeledReplicas": 2, "observedGeneration": 1, "terminatingReplicas": 0,
    }  # fmt: skip


def sorted_by_version(pods: list[Tree]) -> list[str]:
    return [p["metadata"]["name"] for p in sorted(pods, key=lambda p: int(p["metadata"]["resourceVersion"]))]


def test_scaling_up_and_down() -> None:
    rig = make(2)
    rig.run_pods()
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 5}})
    rig.settle()
    assert len(rig.pods()) == 5
    status = rig.get(f"{SETS}/web")["status"]
    assert (status["replicas"], status["readyReplicas"], status["availableReplicas"]) == (5, 5, 5)
    before = set(rig.names())
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 1}})
    rig.settle()
    gone = before - set(rig.names())
    assert len(gone) == 4
    assert {m for _, m in rig.events("SuccessfulDelete")} == {f"Deleted pod: {n}" for n in gone}
    status = rig.get(f"{SETS}/web")["status"]
    assert (status["replicas"], status["observedGeneration"]) == (1, 3)
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 0}})
    rig.settle()
    assert rig.names() == []
    status = rig.get(f"{SETS}/web")["status"]
    assert status == {"replicas": 0, "observedGeneration": 4, "terminatingReplicas": 0}


def test_a_pod_that_is_deleted_or_has_ended_is_replaced() -> None:
    rig = make(2)
    first, second = rig.names()
    rig.delete(f"{PODS}/{first}", AT_ONCE)
    rig.finish(second, "Failed", 1)
    rig.settle()
    active = [p["metadata"]["name"] for p in rig.pods() if p["status"]["phase"] == "Pending"]
    assert len(active) == 2 and not {first, second} & set(active)


def test_a_pod_that_is_being_deleted_is_replaced_at_once_and_counted_as_terminating() -> None:
    rig = make(1)
    (name,) = rig.names()
    rig.bind(name, "n1")
    rig.delete(f"{PODS}/{name}")
    rig.settle()
    assert len(rig.names()) == 2
    status = rig.get(f"{SETS}/web")["status"]
    assert (status["replicas"], status["terminatingReplicas"]) == (1, 1)


def test_the_pod_without_node_goes_first_then_the_one_that_is_not_alone() -> None:
    """As kubectl's recorded scaling: of two pods on n1 and one on n2, both on n1 go."""
    rig = make(4)
    alone, one, two, nowhere = rig.names()
    for name, node in ((alone, "n2"), (one, "n1"), (two, "n1")):
        rig.bind(name, node)
    rig.settle()
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 3}})
    rig.settle()
    assert nowhere not in rig.names()
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 1}})
    rig.settle()
    left = [p["metadata"]["name"] for p in rig.pods() if not p["metadata"].get("deletionTimestamp")]
    assert left == [alone]


def test_a_cheap_pod_goes_before_others_that_are_ready_too() -> None:
    rig = make(3)
    rig.run_pods()
    rig.settle()
    cheap = rig.names()[1]
    rig.patch(f"{PODS}/{cheap}", {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}})
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 2}})
    rig.settle()
    assert cheap not in rig.names()


def test_orphans_are_adopted_and_surplus_goes() -> None:
    rig = Rig()
    for name in ("a", "b", "c"):
        rig.call("POST", PODS, bare_pod(name, app="web"))
    rig.call("POST", PODS, bare_pod("other", app="db"))
    rig.call("POST", SETS, workload("ReplicaSet", "web", replicas=2))
    rig.settle()
    owned = [p["metadata"]["name"] for p in rig.pods() if owner_of(p) == "web"]
    assert len(owned) == 2 and set(owned) < {"a", "b", "c"}
    assert owner_of(rig.get(f"{PODS}/other")) is None


def test_a_pod_that_changes_its_labels_is_released_and_replaced_and_taken_back() -> None:
    rig = make(1)
    (name,) = rig.names()
    rig.patch(f"{PODS}/{name}", {"metadata": {"labels": {"app": "debug"}}})
    rig.settle()
    assert owner_of(rig.get(f"{PODS}/{name}")) is None
    assert len(rig.names()) == 2
    rig.patch(f"{PODS}/{name}", {"metadata": {"labels": {"app": "web"}}})
    rig.settle()
    assert [owner_of(p) for p in rig.pods()] == ["web"], "it was adopted, and one of the two went"


def test_a_deleted_set_neither_makes_nor_takes_pods() -> None:
    rig = make(1)
    rig.patch(f"{SETS}/web", {"metadata": {"finalizers": ["example.com/hold"]}})
    rig.delete(f"{SETS}/web")
    rig.call("POST", PODS, bare_pod("late", app="web"))
    rig.settle()
    (name,) = (n for n in rig.names() if n != "late")
    rig.delete(f"{PODS}/{name}", AT_ONCE)
    rig.settle()
    assert rig.names() == ["late"] and owner_of(rig.get(f"{PODS}/late")) is None


def test_available_comes_after_the_minimum_of_ready_seconds() -> None:
    rig = make(2, minReadySeconds=30)
    rig.run_pods()
    rig.settle()
    status = rig.get(f"{SETS}/web")["status"]
    assert status["readyReplicas"] == 2 and "availableReplicas" not in status
    rig.run(29)
    assert "availableReplicas" not in rig.get(f"{SETS}/web")["status"]
    rig.run(1)
    assert rig.get(f"{SETS}/web")["status"]["availableReplicas"] == 2
    assert rig.next_due_s() is None


def test_a_refusal_is_told_and_tried_again_later_and_later() -> None:
    rig = Rig()
    tree = workload("ReplicaSet", "web", replicas=3)
    tree["spec"]["template"]["spec"]["priorityClassName"] = "missing"
    rig.call("POST", SETS, tree)
    rig.run(1)
    assert rig.names() == []
    events = rig.events("FailedCreate")
    assert len(events) == len(rig.events()) <= 10, "from ten on they are combined"
    assert all(message.startswith('Error creating: pods "web-') for _, message in events)
    status, why, text = conditions(rig.get(f"{SETS}/web"))["ReplicaFailure"]
    assert (status, why) == ("True", "FailedCreate") and "no PriorityClass with name missing was found" in text
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "missing"}, "value": 1}
    rig.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", high)
    rig.run(5)
    assert len(rig.names()) == 3
    assert conditions(rig.get(f"{SETS}/web")) == {}


def test_a_controller_that_starts_anew_in_the_middle_makes_no_pod_twice() -> None:
    rig = Rig()
    rig.call("POST", SETS, workload("ReplicaSet", "web", replicas=20))
    while len(rig.names()) < 7:
        rig.step()
    rig.restart()
    rig.settle()
    assert len(rig.names()) == 20
    assert not rig.events("SuccessfulDelete")


def test_a_late_watch_makes_no_pod_twice() -> None:
    rig = Rig()
    rig.settle()
    rig.transport.late = "pods"
    rig.call("POST", SETS, workload("ReplicaSet", "web", replicas=3))
    rig.settle()
    rig.patch(f"{SETS}/web", {"metadata": {"labels": {"look": "again"}}})
    rig.settle()
    assert len(rig.names()) == 3
    rig.patch(f"{SETS}/web", {"spec": {"replicas": 1}})
    rig.settle()
    rig.patch(f"{SETS}/web", {"metadata": {"labels": {"look": "once-more"}}})
    rig.settle()
    rig.transport.release()
    rig.settle()
    assert len(rig.names()) == 1
    assert len(rig.events("SuccessfulCreate")) == 3 and len(rig.events("SuccessfulDelete")) == 2


def test_a_replication_controller_does_the_same() -> None:
    rig = Rig()
    tree = workload("ReplicationController", "old", replicas=2)
    tree["apiVersion"] = "v1"
    tree["spec"]["selector"] = {"app": "old"}
    rig.call("POST", f"{NAMESPACE}/replicationcontrollers", tree)
    rig.settle()
    assert [owner_of(p) for p in rig.pods()] == ["old", "old"]
    assert rig.get(f"{NAMESPACE}/replicationcontrollers/old")["status"]["replicas"] == 2

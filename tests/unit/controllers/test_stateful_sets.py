"""StatefulSets beside a real API server, with stand-in kubelets."""

from typing import Any

import pytest
from workload_rig import APPS, AT_ONCE, NAMESPACE, PODS, Rig, Tree, workload

PATH, REVISIONS = f"{APPS}/statefulsets", f"{APPS}/controllerrevisions"
CLAIMS = f"{NAMESPACE}/persistentvolumeclaims"
HASH = "controller-revision-hash"


def make(replicas: int = 3, ready: bool = True, claims: bool = False, **spec: Any) -> Rig:
    rig = Rig()
    if ready:
        rig.kubelet = lambda pod: run_pod(rig, pod)
    if claims:
        resources = {"requests": {"storage": "1Gi"}}
        template = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}
        spec["volumeClaimTemplates"] = [template]
    rig.call("POST", PATH, workload("StatefulSet", "db", replicas=replicas, serviceName="db", **spec))
    rig.settle()
    return rig


def run_pod(rig: Rig, pod: Tree) -> Tree | None:
    if pod["status"].get("conditions") or image_of(pod) == "broken":
        return None
    return rig.ready_status()


def image_of(pod: Tree) -> str:
    return str(pod["spec"]["containers"][0]["image"])


def images(rig: Rig) -> dict[str, str]:
    return {p["metadata"]["name"]: image_of(p) for p in rig.pods()}


def set_image(rig: Rig, image: str) -> None:
    spec = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
    rig.patch(f"{PATH}/db", spec)
    rig.settle()


def make_ready(rig: Rig, name: str) -> None:
    rig.set_status(name, rig.ready_status())
    rig.settle()


def status(rig: Rig) -> Tree:
    found: Tree = rig.get(f"{PATH}/db")["status"]
    return found


def test_pods_come_one_after_the_other_and_know_who_they_are() -> None:
    rig = make(3, ready=False)
    assert rig.names() == ["db-0"]
    make_ready(rig, "db-0")
    assert rig.names() == ["db-0", "db-1"]
    make_ready(rig, "db-1")
    assert rig.names() == ["db-0", "db-1", "db-2"]
    pod = rig.get(f"{PODS}/db-1")
    (revision,) = rig.names(REVISIONS)
    assert pod["metadata"]["labels"] == {
        "app": "db", "statefulset.kubernetes.io/pod-name": "db-1", "apps.kubernetes.io/pod-index": "1", HASH: revision,
    }  # fmt: skip
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db")
    assert "generateName" not in pod["metadata"]
    assert rig.events() == [("SuccessfulCreate", f"create Pod db-{i} in StatefulSet db successful") for i in range(3)]
    make_ready(rig, "db-2")
    assert status(rig) == {
        "observedGeneration": 1, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "currentReplicas": 3,
        "updatedReplicas": 3, "currentRevision": revision, "updateRevision": revision, "collisionCount": 0,
    }  # fmt: skip


def test_in_parallel_all_come_and_go_at_once() -> None:
    rig = make(3, ready=False, podManagementPolicy="Parallel")
    assert rig.names() == ["db-0", "db-1", "db-2"]
    rig.patch(f"{PATH}/db", {"spec": {"replicas": 0}})
    rig.settle()
    assert rig.names() == []


def test_scaling_down_takes_the_highest_first_and_waits_for_it_to_be_gone() -> None:
    rig = make(3)
    for i in range(3):
        rig.bind(f"db-{i}", "n")
    rig.kubelet = None
    rig.patch(f"{PATH}/db", {"spec": {"replicas": 1}})
    rig.settle()
    deleted = [p["metadata"]["name"] for p in rig.pods() if p["metadata"].get("deletionTimestamp")]
    assert deleted == ["db-2"]
    rig.delete(f"{PODS}/db-2", AT_ONCE)
    rig.settle()
    rig.delete(f"{PODS}/db-1", AT_ONCE)
    rig.settle()
    assert rig.names() == ["db-0"]
    message = "delete Pod db-2 in StatefulSet db successful"
    assert rig.events("SuccessfulDelete")[0] == ("SuccessfulDelete", message)


def test_ordinals_may_start_later() -> None:
    rig = make(2, ordinals={"start": 5})
    assert rig.names() == ["db-5", "db-6"]
    rig.patch(f"{PATH}/db", {"spec": {"ordinals": {"start": 6}}})
    rig.settle()
    assert rig.names() == ["db-6", "db-7"]


def test_a_rolling_update_goes_from_the_top_and_stops_at_a_pod_that_does_not_get_ready() -> None:
    rig = make(3)
    first = status(rig)["currentRevision"]
    set_image(rig, "broken")
    assert images(rig) == {"db-0": "img:1", "db-1": "img:1", "db-2": "broken"}
    found = status(rig)
    assert (found["currentRevision"], found["currentReplicas"], found["updatedReplicas"]) == (first, 2, 1)
    assert found["updateRevision"] != first
    set_image(rig, "img:3")
    assert set(images(rig).values()) == {"broken", "img:1"}, "the broken pod has to be deleted by hand, as upstream"
    rig.delete(f"{PODS}/db-2", AT_ONCE)
    rig.settle()
    assert set(images(rig).values()) == {"img:3"}
    found = status(rig)
    assert found["currentRevision"] == found["updateRevision"] and found["currentReplicas"] == 3


def test_the_order_of_an_update() -> None:
    rig = make(3)
    set_image(rig, "img:2")
    assert [m.split()[2] for _, m in rig.events("SuccessfulDelete")] == ["db-2", "db-1", "db-0"]
    assert set(images(rig).values()) == {"img:2"}


def test_a_partition_keeps_the_pods_below_it() -> None:
    rig = make(3, updateStrategy={"rollingUpdate": {"partition": 2}})
    set_image(rig, "img:2")
    assert images(rig) == {"db-0": "img:1", "db-1": "img:1", "db-2": "img:2"}
    rig.delete(f"{PODS}/db-0", AT_ONCE)
    rig.settle()
    assert images(rig)["db-0"] == "img:1", "below the partition a pod comes back as it was"
    rig.patch(f"{PATH}/db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    rig.settle()
    assert set(images(rig).values()) == {"img:2"}


def test_several_pods_may_be_missing() -> None:
    rig = make(4, podManagementPolicy="Parallel", updateStrategy={"rollingUpdate": {"maxUnavailable": 2}})
    set_image(rig, "broken")
    assert images(rig) == {"db-0": "img:1", "db-1": "img:1", "db-2": "broken", "db-3": "broken"}


def test_in_parallel_pods_that_never_worked_are_replaced() -> None:
    rig = make(2, podManagementPolicy="Parallel")
    set_image(rig, "broken")
    set_image(rig, "img:3")
    assert set(images(rig).values()) == {"img:3"}


def test_on_delete_only_what_is_deleted_changes() -> None:
    rig = make(2, updateStrategy={"type": "OnDelete"})
    set_image(rig, "img:2")
    assert set(images(rig).values()) == {"img:1"}
    rig.delete(f"{PODS}/db-0", AT_ONCE)
    rig.settle()
    assert images(rig) == {"db-0": "img:2", "db-1": "img:1"}


def test_a_pod_that_ended_is_made_anew() -> None:
    rig = make(1)
    rig.finish("db-0", "Failed", 1)
    rig.settle()
    assert rig.get(f"{PODS}/db-0")["status"]["phase"] == "Running"
    text = "StatefulSet default/db is recreating failed Pod db-0"
    assert rig.events("RecreatingFailedPod") == [("RecreatingFailedPod", text)]


def test_orphans_with_the_right_name_are_adopted_and_others_are_not() -> None:
    rig = Rig()
    spec = {"containers": [{"name": "c", "image": "img:1"}]}
    for name in ("db-0", "db-x"):
        meta = {"name": name, "labels": {"app": "db"}}
        rig.call("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    rig.run_pods()
    rig.call("POST", PATH, workload("StatefulSet", "db", replicas=1, updateStrategy={"type": "OnDelete"}))
    rig.settle()
    owners = {p["metadata"]["name"]: bool(p["metadata"].get("ownerReferences")) for p in rig.pods()}
    assert owners == {"db-0": True, "db-x": False}
    assert rig.get(f"{PODS}/db-0")["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "0"


def test_revisions_are_used_again_and_cleaned_up() -> None:
    rig = make(1, revisionHistoryLimit=1)
    first = status(rig)["currentRevision"]
    set_image(rig, "img:2")
    set_image(rig, "img:1")
    assert status(rig)["currentRevision"] == first
    assert sorted(r["revision"] for r in rig.items(REVISIONS)) == [2, 3]
    for image in ("img:4", "img:5"):
        set_image(rig, image)
    assert sorted(r["revision"] for r in rig.items(REVISIONS)) == [4, 5]


def test_a_pod_waits_for_the_one_before_to_be_ready_for_long_enough() -> None:
    rig = make(2, minReadySeconds=10)
    assert rig.names() == ["db-0"] and status(rig)["availableReplicas"] == 0
    rig.run(10)
    assert rig.names() == ["db-0", "db-1"]
    rig.run(10)
    assert status(rig)["availableReplicas"] == 2


# ---- volume claims ----------------------------------------------------------------------------------------


def owners_of(claim: Tree) -> list[tuple[str, str]]:
    return [(r["kind"], r["name"]) for r in claim["metadata"].get("ownerReferences") or []]


def test_claims_are_made_and_stay() -> None:
    rig = make(2, claims=True)
    assert rig.names(CLAIMS) == ["data-db-0", "data-db-1"]
    claim = rig.get(f"{CLAIMS}/data-db-0")
    assert claim["metadata"]["labels"] == {"app": "db"} and owners_of(claim) == []
    (volume,) = (v for v in rig.get(f"{PODS}/db-0")["spec"]["volumes"] if v["name"] == "data")
    assert volume["persistentVolumeClaim"]["claimName"] == "data-db-0"
    created = [m for _, m in rig.events("SuccessfulCreate")]
    assert created[:2] == [
        "create Claim data-db-0 Pod db-0 in StatefulSet db success",
        "create Pod db-0 in StatefulSet db successful",
    ]
    rig.patch(f"{PATH}/db", {"spec": {"replicas": 1}})
    rig.settle()
    assert rig.names() == ["db-0"] and rig.names(CLAIMS) == ["data-db-0", "data-db-1"]


def test_claims_may_go_with_the_set_or_with_a_pod_that_scaling_removes() -> None:
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    rig = make(2, claims=True, persistentVolumeClaimRetentionPolicy=policy)
    assert owners_of(rig.get(f"{CLAIMS}/data-db-1")) == [("StatefulSet", "db")]
    rig.patch(f"{PATH}/db", {"spec": {"replicas": 1}})
    rig.settle()
    assert owners_of(rig.get(f"{CLAIMS}/data-db-1")) == [("Pod", "db-1")], "the garbage collector does the rest"
    rig.patch(f"{PATH}/db", {"spec": {"replicas": 2}})
    rig.settle()
    assert rig.names() == ["db-0"], "the next pod does not get a claim that is about to go"
    rig.delete(f"{CLAIMS}/data-db-1", {"gracePeriodSeconds": 0})
    rig.settle()
    assert rig.names() == ["db-0", "db-1"] and owners_of(rig.get(f"{CLAIMS}/data-db-1")) == [("StatefulSet", "db")]
    keep = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    rig.patch(f"{PATH}/db", {"spec": {"persistentVolumeClaimRetentionPolicy": keep}})
    rig.settle()
    assert [owners_of(c) for c in rig.items(CLAIMS)] == [[], []]


# ---- what goes wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(3, 130, 11))
def test_a_controller_that_starts_anew_in_the_middle_makes_nothing_twice(steps: int) -> None:
    rig = make(3, claims=True)
    rig.patch(f"{PATH}/db", {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "img:2"}]}}}})
    for _ in range(steps):
        if not rig.step():
            rig._run_kubelet()
    rig.restart()
    rig.settle()
    assert images(rig) == {f"db-{i}": "img:2" for i in range(3)}
    assert len(rig.items(REVISIONS)) == 2 and len(rig.items(CLAIMS)) == 3
    assert len(rig.events("SuccessfulDelete")) == 3


@pytest.mark.parametrize("resource", ["persistentvolumeclaims", "controllerrevisions", "statefulsets"])
def test_a_late_watch_makes_nothing_twice(resource: str) -> None:
    rig = make(2, claims=True)
    rig.transport.late = resource
    set_image(rig, "img:2")
    rig.patch(f"{PATH}/db", {"spec": {"replicas": 3}})
    rig.settle()
    rig.transport.release()
    rig.settle()
    assert images(rig) == {f"db-{i}": "img:2" for i in range(3)}
    assert len(rig.items(REVISIONS)) == 2 and len(rig.items(CLAIMS)) == 3

"""Deployments beside a real API server, their replica sets and stand-in kubelets."""

from typing import Any

import pytest
from workload_rig import APPS, AT_ONCE, PODS, Rig, Tree, conditions, workload

from apportion.controllers.rollout_amounts import get_limits, get_share, scale_amount

PATH, SETS = f"{APPS}/deployments", f"{APPS}/replicasets"
HASH, REVISION = "pod-template-hash", "deployment.kubernetes.io/revision"


def make(replicas: int = 3, ready: bool = True, **spec: Any) -> Rig:
    rig = Rig()
    if ready:
        rig.run_pods()
    rig.call("POST", PATH, workload("Deployment", "web", replicas=replicas, **spec))
    rig.settle()
    return rig


def set_image(rig: Rig, image: str) -> None:
    container = {"name": "c", "image": image}
    rig.patch(f"{PATH}/web", {"spec": {"template": {"spec": {"containers": [container]}}}})


def sizes(rig: Rig) -> dict[str, int]:
    """Return the pods of each image that the sets ask for."""
    found = {s["spec"]["template"]["spec"]["containers"][0]["image"]: s["spec"]["replicas"] for s in rig.items(SETS)}
    return dict(sorted(found.items()))


def set_of(rig: Rig, image: str) -> Tree:
    return next(s for s in rig.items(SETS) if s["spec"]["template"]["spec"]["containers"][0]["image"] == image)


def status(rig: Rig) -> Tree:
    found: Tree = rig.get(f"{PATH}/web")["status"]
    return found


def test_the_first_set_and_the_status() -> None:
    rig = make(2)
    (made,) = rig.items(SETS)
    meta, name = made["metadata"], made["metadata"]["name"]
    name_hash = meta["labels"][HASH]
    assert name == f"web-{name_hash}" and meta["labels"] == {"app": "web", HASH: name_hash}
    assert meta["annotations"] == {
        REVISION: "1", "deployment.kubernetes.io/desired-replicas": "2", "deployment.kubernetes.io/max-replicas": "3",
    }  # fmt: skip
    assert made["spec"]["selector"]["matchLabels"] == made["spec"]["template"]["metadata"]["labels"] == meta["labels"]
    assert all(p["metadata"]["name"].startswith(f"{name}-") for p in rig.pods())
    found = status(rig)
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "terminatingReplicas")
    assert [found[n] for n in counts] == [2, 2, 2, 2, 0] and "unavailableReplicas" not in found
    text = "Deployment has minimum availability."
    assert conditions(rig.get(f"{PATH}/web")) == {
        "Progressing": ("True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'),
        "Available": ("True", "MinimumReplicasAvailable", text),
    }
    meta = rig.get(f"{PATH}/web")["metadata"]
    assert meta["annotations"] == {REVISION: "1"} and meta["generation"] == 1
    assert rig.events("ScalingReplicaSet") == [("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 2")]


def test_scaling_keeps_the_set() -> None:
    rig = make(2)
    (name,) = rig.names(SETS)
    for replicas in (5, 1):
        rig.patch(f"{PATH}/web", {"spec": {"replicas": replicas}})
        rig.settle()
        assert sizes(rig) == {"img:1": replicas} and len(rig.names()) == replicas
    assert rig.events("ScalingReplicaSet")[1:] == [
        ("ScalingReplicaSet", f"Scaled up replica set {name} from 2 to 5"),
        ("ScalingReplicaSet", f"Scaled down replica set {name} from 5 to 1"),
    ]
    assert rig.items(SETS)[0]["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] == "1"


def test_a_rolling_update_stays_within_its_limits_to_the_end() -> None:
    rig = make(4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    set_image(rig, "img:2")
    seen = []
    for _ in range(5000):
        if not rig.step() and not rig._run_kubelet():
            break
        pods = [p for p in rig.pods() if not p["metadata"].get("deletionTimestamp")]
        ready = [p for p in pods if p["status"].get("conditions")]
        seen.append((len(pods), len(ready)))
    assert max(total for total, _ in seen) == 5 and min(ready for _, ready in seen) >= 3
    assert sizes(rig) == {"img:1": 0, "img:2": 4}
    assert status(rig)["updatedReplicas"] == 4
    assert {p["spec"]["containers"][0]["image"] for p in rig.pods()} == {"img:2"}


def test_a_rollout_waits_for_pods_that_do_not_get_ready() -> None:
    rig = make(4, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    rig.kubelet = None
    set_image(rig, "broken")
    rig.run(60)
    assert sizes(rig) == {"broken": 1, "img:1": 4}
    found = conditions(rig.get(f"{PATH}/web"))
    assert found["Progressing"][:2] == ("True", "ReplicaSetUpdated") and found["Available"][0] == "True"


def test_old_pods_that_never_were_ready_make_room_as_far_as_the_limits_go() -> None:
    rig = make(4, ready=False)
    set_image(rig, "img:2")
    rig.settle()
    assert sizes(rig) == {"img:1": 3, "img:2": 2}


def test_of_one_pod_that_is_not_ready_both_are_kept() -> None:
    """As recorded with kubectl set image."""
    rig = make(1, ready=False)
    set_image(rig, "img:2")
    rig.settle()
    assert sizes(rig) == {"img:1": 1, "img:2": 1}


def test_a_rollout_that_does_not_move_is_told_after_its_deadline() -> None:
    rig = make(2, progressDeadlineSeconds=60)
    rig.kubelet = None
    set_image(rig, "broken")
    rig.run(59)
    assert conditions(rig.get(f"{PATH}/web"))["Progressing"][1] == "ReplicaSetUpdated"
    rig.run(5)
    name = set_of(rig, "broken")["metadata"]["name"]
    text = f'ReplicaSet "{name}" has timed out progressing.'
    assert conditions(rig.get(f"{PATH}/web"))["Progressing"] == ("False", "ProgressDeadlineExceeded", text)
    assert rig.next_due_s() is None
    rig.run_pods()
    rig.settle()
    assert conditions(rig.get(f"{PATH}/web"))["Progressing"][:2] == ("True", "NewReplicaSetAvailable")


def test_recreate_ends_the_old_pods_before_it_starts_new_ones() -> None:
    rig = make(3, strategy={"type": "Recreate"})
    for i, name in enumerate(rig.names()):
        rig.bind(name, f"n{i}")
    rig.kubelet = None
    set_image(rig, "img:2")
    rig.settle()
    assert sizes(rig) == {"img:1": 0} and len(rig.names()) == 3, "they are terminating"
    for name in rig.names():
        assert sizes(rig) == {"img:1": 0}
        rig.delete(f"{PODS}/{name}", AT_ONCE)
        rig.settle()
    assert sizes(rig) == {"img:1": 0, "img:2": 3}
    rig.run_pods()
    rig.settle()
    assert conditions(rig.get(f"{PATH}/web"))["Progressing"][1] == "NewReplicaSetAvailable"


def test_going_back_uses_the_old_set_under_a_new_revision() -> None:
    rig = make(2)
    set_image(rig, "img:2")
    rig.settle()
    first, second = set_of(rig, "img:1"), set_of(rig, "img:2")
    assert [s["metadata"]["annotations"][REVISION] for s in (first, second)] == ["1", "2"]
    set_image(rig, "img:1")  # what kubectl rollout undo writes
    rig.settle()
    assert sizes(rig) == {"img:1": 2, "img:2": 0} and len(rig.names(SETS)) == 2
    annotations = set_of(rig, "img:1")["metadata"]["annotations"]
    assert annotations[REVISION] == "3" and annotations["deployment.kubernetes.io/revision-history"] == "1"
    assert rig.get(f"{PATH}/web")["metadata"]["annotations"][REVISION] == "3"


def test_a_paused_deployment_scales_and_does_not_roll() -> None:
    rig = make(2)
    rig.patch(f"{PATH}/web", {"spec": {"paused": True}})
    set_image(rig, "img:2")
    rig.settle()
    assert sizes(rig) == {"img:1": 2}
    paused = ("Unknown", "DeploymentPaused", "Deployment is paused")
    assert conditions(rig.get(f"{PATH}/web"))["Progressing"] == paused
    rig.patch(f"{PATH}/web", {"spec": {"replicas": 4}})
    rig.settle()
    assert sizes(rig) == {"img:1": 4}
    rig.patch(f"{PATH}/web", {"spec": {"paused": False}})
    rig.settle()
    assert sizes(rig) == {"img:1": 0, "img:2": 4}
    assert conditions(rig.get(f"{PATH}/web"))["Progressing"][1] == "NewReplicaSetAvailable"


def test_scaling_in_the_middle_of_a_rollout_is_shared_out() -> None:
    rig = make(10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    rig.kubelet = None
    set_image(rig, "broken")
    rig.settle()
    assert sizes(rig) == {"broken": 5, "img:1": 8}
    rig.patch(f"{PATH}/web", {"spec": {"replicas": 15}})
    rig.settle()
    assert sizes(rig) == {"broken": 7, "img:1": 11}, "18 pods: 15 and the surge"


def test_old_sets_beyond_the_limit_go() -> None:
    rig = make(1, revisionHistoryLimit=1)
    for i in range(2, 5):
        set_image(rig, f"img:{i}")
        rig.settle()
    assert sizes(rig) == {"img:3": 0, "img:4": 1}


def test_a_set_without_owner_is_adopted_and_one_that_is_not_selected_any_more_is_released() -> None:
    rig = make(1)
    (made,) = rig.items(SETS)
    path = f"{SETS}/{made['metadata']['name']}"
    rig.patch(path, {"metadata": {"ownerReferences": None}})
    rig.settle()
    assert rig.get(path)["metadata"]["ownerReferences"][0]["name"] == "web"
    rig.patch(path, {"metadata": {"labels": {"app": "other"}}})
    rig.settle()
    assert "ownerReferences" not in rig.get(path)["metadata"]


def test_a_taken_name_is_a_collision_and_the_next_name_is_tried() -> None:
    rig = make(1)
    (name,) = rig.names(SETS)
    rig.delete(f"{PATH}/web", {"propagationPolicy": "Background"})
    rig.delete(f"{SETS}/{name}", {"propagationPolicy": "Background"})
    foreign = workload("ReplicaSet", name, labels={"app": "foreign"}, replicas=0)
    rig.call("POST", SETS, foreign)
    rig.settle()
    rig.call("POST", PATH, workload("Deployment", "web", replicas=1))
    rig.run(1)
    assert status(rig)["collisionCount"] == 1 and len(rig.names(SETS)) == 2
    assert status(rig)["availableReplicas"] == 1


def test_the_sets_take_over_annotations() -> None:
    rig = make(1)
    rig.patch(f"{PATH}/web", {"metadata": {"annotations": {"kubernetes.io/change-cause": "first"}}})
    rig.settle()
    assert rig.items(SETS)[0]["metadata"]["annotations"]["kubernetes.io/change-cause"] == "first"


@pytest.mark.parametrize("steps", range(3, 120, 9))
def test_a_controller_that_starts_anew_in_the_middle_makes_nothing_twice(steps: int) -> None:
    rig = make(3)
    set_image(rig, "img:2")
    for _ in range(steps):
        rig.step()
    rig.restart()
    rig.settle()
    assert sizes(rig) == {"img:1": 0, "img:2": 3} and len(rig.names()) == 3


@pytest.mark.parametrize("resource", ["pods", "replicasets", "deployments"])
def test_a_late_watch_makes_nothing_twice(resource: str) -> None:
    rig = make(3)
    rig.transport.late = resource
    set_image(rig, "img:2")
    rig.settle()
    rig.transport.release()
    rig.settle()
    assert sizes(rig) == {"img:1": 0, "img:2": 3} and len(rig.names()) == 3
    assert len(rig.names(SETS)) == 2


def test_amounts() -> None:
    assert [scale_amount("25%", n, True) for n in (1, 4, 10)] == [1, 1, 3]
    assert [scale_amount("25%", n, False) for n in (1, 4, 10)] == [0, 1, 2]
    rolling = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    assert get_limits({"replicas": 5, "strategy": rolling}) == (0, 1), "not both can be none"
    assert get_share(replicas=10, wanted=15, largest=20, largest_before=15, to_add=5) == 3
    assert get_share(replicas=10, wanted=0, largest=0, largest_before=15, to_add=-12) == -10

"""Jobs beside a real API server; the test ends the pods."""

from typing import Any

import pytest
from workload_rig import AT_ONCE, PODS, Rig, Tree, conditions

from apportion.controllers.job_indexes import Indexes

JOBS = "/apis/batch/v1/namespaces/default/jobs"
FINALIZER = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"


def job(name: str = "j", restart: str = "Never", **spec: Any) -> Tree:
    template = {"spec": {"restartPolicy": restart, "containers": [{"name": "c", "image": "i"}]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"template": template, **spec}}


def make(**spec: Any) -> Rig:
    rig = Rig()
    rig.call("POST", JOBS, job(**spec))
    rig.settle()
    return rig


def active(rig: Rig) -> list[str]:
    pods = [p for p in rig.pods() if p["status"]["phase"] == "Pending" and not p["metadata"].get("deletionTimestamp")]
    return sorted(p["metadata"]["name"] for p in pods)


def index_of(pod: Tree) -> int:
    return int(pod["metadata"]["annotations"][INDEX])


def by_index(rig: Rig) -> dict[int, str]:
    return {index_of(p): p["metadata"]["name"] for p in rig.pods() if p["metadata"]["name"] in active(rig)}


def end(rig: Rig, name: str, phase: str = "Succeeded", code: int = 0) -> None:
    rig.finish(name, phase, code)
    rig.settle()


def status(rig: Rig) -> Tree:
    found: Tree = rig.get(f"{JOBS}/j")["status"]
    return found


def test_the_pods_are_as_recorded() -> None:
    rig = make(parallelism=3, completions=3)
    uid = rig.get(f"{JOBS}/j")["metadata"]["uid"]
    labels = {"controller-uid": uid, "job-name": "j"}
    assert len(rig.pods()) == 3
    for pod in rig.pods():
        meta = pod["metadata"]
        assert meta["generateName"] == "j-"
        assert meta["labels"] == {**labels, **{f"batch.kubernetes.io/{k}": v for k, v in labels.items()}}
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": uid}
        assert meta["ownerReferences"] == [{**owner, "controller": True, "blockOwnerDeletion": True}]
        assert meta["finalizers"] == [FINALIZER]
    assert sorted(rig.events()) == [("SuccessfulCreate", f"Created pod: {n}") for n in rig.names()]
    assert status(rig) == {
        "active": 3, "ready": 0, "terminating": 0, "startTime": "2026-01-01T00:00:00Z", "uncountedTerminatedPods": {},
    }  # fmt: skip


def test_a_job_is_complete_when_enough_pods_have_succeeded() -> None:
    rig = make(parallelism=2, completions=3)
    first, second = active(rig)
    end(rig, first)
    assert len(active(rig)) == 2 and status(rig)["succeeded"] == 1
    assert FINALIZER not in rig.get(f"{PODS}/{first}")["metadata"].get("finalizers", [])
    rig.run(60)
    end(rig, second)
    (last,) = active(rig)
    end(rig, last)
    done = status(rig)
    assert (done["succeeded"], done.get("active"), done["completionTime"]) == (3, None, "2026-01-01T00:01:00Z")
    message = "Reached expected number of succeeded pods"
    assert list(conditions({"status": done})) == ["SuccessCriteriaMet", "Complete"]
    assert conditions({"status": done})["Complete"] == ("True", "CompletionsReached", message)
    assert rig.events("Completed") == [("Completed", "Job completed")]
    assert len(rig.names()) == 3


def test_without_completions_one_success_is_enough_and_no_pod_follows() -> None:
    rig = make(parallelism=2)
    first, second = active(rig)
    end(rig, first)
    assert active(rig) == [second] and "Complete" not in conditions(rig.get(f"{JOBS}/j"))
    end(rig, second, "Failed", 1)
    assert "Complete" in conditions(rig.get(f"{JOBS}/j"))


def test_parallelism_can_be_changed() -> None:
    rig = make(parallelism=1, completions=5)
    rig.patch(f"{JOBS}/j", {"spec": {"parallelism": 3}})
    rig.settle()
    assert len(active(rig)) == 3
    rig.patch(f"{JOBS}/j", {"spec": {"parallelism": 1}})
    rig.settle()
    assert len(rig.names()) == 1
    assert "failed" not in status(rig), "what was too much did not fail"


def test_failures_wait_longer_and_longer_until_the_limit() -> None:
    rig = make(backoffLimit=2)
    end(rig, active(rig)[0], "Failed", 1)
    assert active(rig) == [] and status(rig)["failed"] == 1
    rig.run(9)
    assert active(rig) == []
    rig.run(1)
    end(rig, active(rig)[0], "Failed", 1)
    rig.run(19)
    assert active(rig) == []
    rig.run(1)
    end(rig, active(rig)[0], "Failed", 1)
    message = "Job has reached the specified backoff limit"
    assert list(conditions(rig.get(f"{JOBS}/j"))) == ["FailureTarget", "Failed"]
    assert conditions(rig.get(f"{JOBS}/j"))["Failed"] == ("True", "BackoffLimitExceeded", message)
    assert rig.events("BackoffLimitExceeded") == [("BackoffLimitExceeded", message)]
    assert status(rig)["failed"] == 3
    rig.run(3600)
    assert active(rig) == []


def test_restarts_by_the_kubelet_count_too() -> None:
    rig = make(restart="OnFailure", backoffLimit=1)
    (name,) = active(rig)
    waiting = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 1, "state": {}}
    rig.set_status(name, {"phase": "Running", "containerStatuses": [waiting]})
    rig.settle()
    assert conditions(rig.get(f"{JOBS}/j"))["Failed"][1] == "BackoffLimitExceeded"
    assert rig.names() == []


def test_a_deleted_pod_is_a_failure_and_is_replaced() -> None:
    rig = make()
    (name,) = active(rig)
    rig.delete(f"{PODS}/{name}", AT_ONCE)
    rig.run(10)
    assert name not in rig.names() and len(active(rig)) == 1
    assert status(rig)["failed"] == 1


def test_the_deadline_ends_a_job() -> None:
    rig = make(activeDeadlineSeconds=30)
    (name,) = active(rig)
    rig.bind(name, "n")
    rig.run(29)
    assert active(rig) == [name]
    rig.run(1)
    assert active(rig) == []
    found = conditions(rig.get(f"{JOBS}/j"))
    assert found["FailureTarget"][1] == "DeadlineExceeded" and "Failed" not in found, "the pod still terminates"
    assert status(rig)["terminating"] == 1
    rig.delete(f"{PODS}/{name}", AT_ONCE)
    rig.settle()
    text = "Job was active longer than specified deadline"
    assert conditions(rig.get(f"{JOBS}/j"))["Failed"] == ("True", "DeadlineExceeded", text)


def test_a_finished_job_goes_when_its_time_is_up() -> None:
    rig = make(ttlSecondsAfterFinished=100)
    end(rig, active(rig)[0])
    rig.run(99)
    assert rig.names(JOBS) == ["j"]
    rig.run(1)
    (left,) = rig.items(JOBS)
    assert left["metadata"]["deletionTimestamp"], "in the foreground: the garbage collector does the rest"
    assert left["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_a_suspended_job_has_no_pods_and_its_deadline_starts_anew() -> None:
    rig = make(suspend=True, activeDeadlineSeconds=50)
    assert rig.names() == [] and "startTime" not in status(rig)
    assert conditions(rig.get(f"{JOBS}/j"))["Suspended"] == ("True", "JobSuspended", "Job suspended")
    rig.run(100)
    rig.patch(f"{JOBS}/j", {"spec": {"suspend": False}})
    rig.settle()
    assert len(active(rig)) == 1
    assert conditions(rig.get(f"{JOBS}/j"))["Suspended"] == ("False", "JobResumed", "Job resumed")
    assert status(rig)["startTime"] == "2026-01-01T00:01:40Z"
    rig.run(20)
    rig.patch(f"{JOBS}/j", {"spec": {"suspend": True}})
    rig.settle()
    assert rig.names() == [] and "failed" not in status(rig)
    rig.run(100)
    assert "Failed" not in conditions(rig.get(f"{JOBS}/j"))
    assert rig.events("Suspended", "Resumed") == [("Resumed", "Job resumed"), ("Suspended", "Job suspended")]


# ---- indexes ----------------------------------------------------------------------------------------------


def indexed(**spec: Any) -> Rig:
    return make(**{"completionMode": "Indexed", "parallelism": 4, "completions": 4, **spec})


def test_each_index_gets_a_pod_that_knows_it() -> None:
    rig = indexed(parallelism=2, completions=3)
    assert sorted(by_index(rig)) == [0, 1]
    pod = rig.get(f"{PODS}/{by_index(rig)[1]}")
    assert pod["metadata"]["generateName"] == "j-1-" and pod["metadata"]["labels"][INDEX] == "1"
    assert pod["spec"]["hostname"] == "j-1"
    (variable,) = pod["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"
    end(rig, by_index(rig)[1])
    assert sorted(by_index(rig)) == [0, 2] and status(rig)["completedIndexes"] == "1"
    end(rig, by_index(rig)[2])
    end(rig, by_index(rig)[0])
    assert status(rig)["completedIndexes"] == "0-2" and status(rig)["succeeded"] == 3
    assert "Complete" in conditions(rig.get(f"{JOBS}/j"))


def test_a_long_name_leaves_room_for_the_index() -> None:
    name = "a" * 60
    rig = Rig()
    rig.call("POST", JOBS, job(name, completionMode="Indexed", parallelism=2, completions=2))
    rig.settle()
    assert [n[:-5] for n in rig.names()] == ["a" * 55 + "-0-", "a" * 55 + "-1-"]


def test_a_failed_index_is_tried_again_alone() -> None:
    rig = indexed(completions=2, parallelism=2, backoffLimit=6)
    pods = by_index(rig)
    end(rig, pods[1], "Failed", 1)
    assert sorted(by_index(rig)) == [0]
    rig.run(10)
    assert sorted(by_index(rig)) == [0, 1] and by_index(rig)[0] == pods[0]


def test_a_limit_per_index_lets_the_other_indexes_go_on() -> None:
    rig = indexed(completions=2, parallelism=2, backoffLimitPerIndex=1)
    first = by_index(rig)[0]
    assert rig.get(f"{PODS}/{first}")["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "0"
    end(rig, first, "Failed", 1)
    assert FINALIZER in rig.get(f"{PODS}/{first}")["metadata"]["finalizers"], "its successor has to know of it"
    rig.run(10)
    second = by_index(rig)[0]
    assert rig.get(f"{PODS}/{second}")["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] == "1"
    assert FINALIZER not in rig.get(f"{PODS}/{first}")["metadata"].get("finalizers", [])
    end(rig, second, "Failed", 1)
    rig.run(100)
    assert sorted(by_index(rig)) == [1] and status(rig)["failedIndexes"] == "0"
    end(rig, by_index(rig)[1])
    assert conditions(rig.get(f"{JOBS}/j"))["Failed"] == ("True", "FailedIndexes", "Job has failed indexes")
    assert (status(rig)["failed"], status(rig)["succeeded"], status(rig)["completedIndexes"]) == (2, 1, "1")


def test_too_many_failed_indexes_end_the_job() -> None:
    rig = indexed(backoffLimitPerIndex=0, maxFailedIndexes=1)
    end(rig, by_index(rig)[0], "Failed", 1)
    assert sorted(by_index(rig)) == [1, 2, 3]
    end(rig, by_index(rig)[2], "Failed", 1)
    assert by_index(rig) == {}
    assert conditions(rig.get(f"{JOBS}/j"))["Failed"][1] == "MaxFailedIndexesExceeded"
    assert status(rig)["failedIndexes"] == "0,2"


@pytest.mark.parametrize(
    ("rule", "met"),
    [({"succeededIndexes": "0"}, True), ({"succeededIndexes": "0-1"}, False), ({"succeededCount": 1}, True),
     ({"succeededIndexes": "1-3", "succeededCount": 1}, False)],
)  # fmt: skip
def test_a_success_policy_ends_the_job_early(rule: Tree, met: bool) -> None:
    rig = indexed(successPolicy={"rules": [rule]})
    end(rig, by_index(rig)[0])
    found = conditions(rig.get(f"{JOBS}/j"))
    assert ("Complete" in found) == met
    if met:
        assert found["SuccessCriteriaMet"] == ("True", "SuccessPolicy", "Matched rules at index 0")
        assert active(rig) == []


def test_indexes_are_printed_as_upstream_prints_them() -> None:
    indexes = Indexes.parse("1,3-5,7", 100)
    assert [list(indexes), len(indexes), str(indexes)] == [[1, 3, 4, 5, 7], 5, "1,3-5,7"]
    assert str(indexes.add([2, 8, 9, 20])) == "1-5,7-9,20"
    assert str(Indexes().add([4, 5])) == "4,5"
    assert str(Indexes.parse("0-9", 4)) == "0-3"
    assert [indexes.next_missing(i) for i in (0, 1, 3, 8)] == [0, 2, 6, 8]


# ---- failure policy ---------------------------------------------------------------------------------------


def rule(action: str, *values: int) -> Tree:
    return {"action": action, "onExitCodes": {"operator": "In", "values": list(values)}}


def test_a_rule_can_end_the_job_at_once() -> None:
    rig = make(parallelism=2, completions=2, podFailurePolicy={"rules": [rule("FailJob", 42)]})
    first, _ = active(rig)
    end(rig, first, "Failed", 42)
    text = f"Container c for pod default/{first} failed with exit code 42 matching FailJob rule at index 0"
    assert conditions(rig.get(f"{JOBS}/j"))["FailureTarget"] == ("True", "PodFailurePolicy", text)
    assert conditions(rig.get(f"{JOBS}/j"))["Failed"] == ("True", "PodFailurePolicy", text)
    assert active(rig) == []


def test_ignored_failures_do_not_count() -> None:
    condition = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    rig = make(backoffLimit=0, podFailurePolicy={"rules": [condition]})
    (name,) = active(rig)
    rig.set_status(name, {"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True"}]})
    rig.settle()
    assert len(active(rig)) == 1 and "failed" not in status(rig)
    assert "Failed" not in conditions(rig.get(f"{JOBS}/j"))


def test_fail_index_ends_one_index_for_good() -> None:
    rig = indexed(backoffLimitPerIndex=5, podFailurePolicy={"rules": [rule("FailIndex", 3)]})
    end(rig, by_index(rig)[1], "Failed", 3)
    rig.run(100)
    assert sorted(by_index(rig)) == [0, 2, 3] and status(rig)["failedIndexes"] == "1"


def test_a_terminating_pod_is_replaced_when_it_has_ended_if_asked() -> None:
    rig = make(podReplacementPolicy="Failed")
    (name,) = active(rig)
    rig.bind(name, "n")
    rig.delete(f"{PODS}/{name}")
    rig.run(60)
    assert active(rig) == [] and status(rig)["terminating"] == 1
    end(rig, name, "Failed", 1)
    rig.run(10)
    assert len(active(rig)) == 1 and status(rig)["failed"] == 1


# ---- what goes wrong --------------------------------------------------------------------------------------


def test_the_pods_of_a_job_that_is_gone_are_let_go() -> None:
    rig = make(parallelism=2, completions=2)
    names = active(rig)
    rig.delete(f"{JOBS}/j", {"propagationPolicy": "Background"})
    for name in names:
        rig.delete(f"{PODS}/{name}", AT_ONCE)  # as the garbage collector does
    rig.settle()
    assert rig.names() == []


def test_the_pods_of_a_job_that_went_while_nobody_watched_are_let_go() -> None:
    rig = make()
    rig.delete(f"{JOBS}/j", {"propagationPolicy": "Background"})
    rig.restart()
    rig.settle()
    assert [p["metadata"].get("finalizers") for p in rig.pods()] == [None]


@pytest.mark.parametrize("steps", range(4, 40, 3))
def test_a_controller_that_starts_anew_in_the_middle_counts_every_pod_once(steps: int) -> None:
    rig = make(parallelism=4, completions=6)
    for name, phase in zip(active(rig), ("Succeeded", "Succeeded", "Failed", "Succeeded"), strict=True):
        rig.finish(name, phase, 0)
    for _ in range(steps):
        rig.step()
    rig.restart()
    rig.run(60)
    assert (status(rig)["succeeded"], status(rig)["failed"], len(active(rig))) == (3, 1, 3)
    assert len(rig.names()) == 7
    for name in active(rig):
        rig.finish(name, "Succeeded")
    rig.settle()
    assert "Complete" in conditions(rig.get(f"{JOBS}/j")) and status(rig)["succeeded"] == 6


def test_a_late_watch_makes_and_counts_no_pod_twice() -> None:
    rig = Rig()
    rig.settle()
    rig.transport.late = "pods"
    rig.call("POST", JOBS, job(parallelism=2, completions=4))
    rig.settle()
    rig.patch(f"{JOBS}/j", {"metadata": {"labels": {"look": "again"}}})
    rig.settle()
    assert len(rig.names()) == 2
    for name in active(rig):
        rig.finish(name, "Succeeded")
    rig.transport.release()
    rig.transport.late = "jobs"
    rig.settle()
    assert status(rig)["succeeded"] == 2 and len(rig.names()) == 4
    rig.transport.release()
    rig.settle()
    assert status(rig)["succeeded"] == 2 and len(rig.names()) == 4

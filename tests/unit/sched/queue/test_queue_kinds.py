"""Hints that are asked once for many equal pods."""

from queue_rig import Pod, Rig, always

from apportion.sched.queue import NODE_ADD, Hint, Registration


def rig_of(count: int, *registrations: Registration) -> tuple[Rig, list[Pod]]:
    rig = Rig(*registrations)
    pods = [Pod(f"p{i}") for i in range(count)]
    rig.kinds = {pod.name: "web" for pod in pods}
    return rig, pods


def test_one_of_many_equal_pods_is_asked_about_and_all_of_them_move() -> None:
    asked: list[str] = []
    rig, pods = rig_of(5, Registration("Fit", NODE_ADD, always(Hint.QUEUE, asked), per_kind=True))
    rig.kinds["p4"] = "db"
    for pod in pods:
        rig.fail(pod, ["Fit"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert asked == ["p0", "p4"]
    assert set(rig.where().values()) == {"backoff"}


def test_each_pod_is_asked_about_when_a_plugin_that_rejected_it_wants_that() -> None:
    asked: list[str] = []
    rig, pods = rig_of(
        4,
        Registration("Fit", NODE_ADD, always(Hint.SKIP), per_kind=True),
        Registration("Claims", NODE_ADD, always(Hint.SKIP, asked)),
    )
    for pod in pods:
        rig.fail(pod, ["Fit"] if pod.name < "p2" else ["Fit", "Claims"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert asked == ["p2", "p3"]


def test_equal_pods_that_other_plugins_rejected_are_asked_about_apart() -> None:
    rig, pods = rig_of(
        2,
        Registration("Fit", NODE_ADD, always(Hint.SKIP), per_kind=True),
        Registration("Affinity", NODE_ADD, always(Hint.QUEUE), per_kind=True),
    )
    rig.fail(pods[0], ["Fit"])
    rig.fail(pods[1], ["Affinity"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p0": "unschedulable", "p1": "backoff"}


def test_a_check_still_looks_at_each_pod() -> None:
    rig, pods = rig_of(3, Registration("Fit", NODE_ADD, always(Hint.QUEUE), per_kind=True))
    for pod in pods:
        rig.fail(pod, ["Fit"])
    rig.queue.move_all(NODE_ADD, None, None, lambda pod: pod.name != "p1")
    assert rig.where() == {"p0": "backoff", "p1": "unschedulable", "p2": "backoff"}


def test_a_pod_that_became_another_kind_is_asked_about_as_that() -> None:
    asked: list[str] = []
    rig, pods = rig_of(3, Registration("Fit", NODE_ADD, always(Hint.SKIP, asked), per_kind=True))
    for pod in pods:
        rig.fail(pod, ["Fit"])
    rig.kinds["p1"] = "db"
    rig.queue.update(pods[1], pods[1], ())
    rig.queue.move_all(NODE_ADD, None, None)
    assert sorted(asked) == ["p0", "p1"]
    rig.queue.delete(pods[0])
    rig.queue.move_all(NODE_ADD, None, None)
    assert sorted(asked[2:]) == ["p1", "p2"]


def test_equal_pods_are_found_by_interests_of_their_own() -> None:
    asked: list[str] = []
    claims = Registration("Claims", NODE_ADD, always(Hint.QUEUE, asked), lambda old, new: ("a", "b"), per_kind=True)
    rig, pods = rig_of(4, claims)
    rig.interests = {"p0": ("a",), "p1": ("a", "b"), "p2": ("b",), "p3": ("c",)}
    for pod in pods:
        rig.fail(pod, ["Claims"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert asked == ["p0"]
    assert rig.where() == {"p0": "backoff", "p1": "backoff", "p2": "backoff", "p3": "unschedulable"}

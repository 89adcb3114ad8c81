import pytest
from queue_rig import PROFILE, Pod, Rig, always

from apportion.sched.queue import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    ActionType,
    ClusterEvent,
    Hint,
    Registration,
)


def test_only_plugins_that_rejected_the_pod_are_asked() -> None:
    asked: list[str] = []
    rig = Rig(
        Registration("Fit", NODE_ADD, always(Hint.SKIP, asked)),
        Registration("Affinity", NODE_ADD, always(Hint.QUEUE)),
    )
    rig.fail(Pod("p1"), ["Fit"])
    rig.fail(Pod("p2"), ["Other"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert asked == ["p1"]
    assert rig.where() == {"p1": "unschedulable", "p2": "unschedulable"}


def test_one_plugin_that_says_queue_is_enough() -> None:
    rig = Rig(
        Registration("Fit", NODE_ADD, always(Hint.SKIP)),
        Registration("Affinity", NODE_ADD, always(Hint.QUEUE)),
    )
    rig.fail(Pod("p1"), ["Fit", "Affinity"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "backoff"}


@pytest.mark.parametrize("is_in_flight", [False, True])
@pytest.mark.parametrize("order", [("Fit", "Claims"), ("Claims", "Fit")])
def test_a_pending_plugin_spares_the_backoff_whoever_speaks_first(order: tuple[str, str], is_in_flight: bool) -> None:
    rig = Rig(*[Registration(plugin, NODE_ADD, always(Hint.QUEUE)) for plugin in order])
    rig.queue.add(Pod("p1"))
    queued = rig.pop()
    if is_in_flight:
        rig.queue.move_all(NODE_ADD, None, None)
    rig.queue.add_unschedulable(queued, ["Fit"], ["Claims"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "active"}


def test_a_hint_that_raises_counts_as_queue() -> None:
    def raises(_pod: Pod, _old: object, _new: object) -> Hint:
        raise ValueError("broken")

    rig = Rig(Registration("Fit", NODE_ADD, raises))
    rig.fail(Pod("p1"), ["Fit"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "backoff"}
    assert rig.queue.hint_faults() == {"Fit": 1}


def test_a_gated_pod_hears_only_what_its_gate_registered_for() -> None:
    rig = Rig(
        Registration("Fit", NODE_ADD, always(Hint.QUEUE)),
        Registration("Gates", ASSIGNED_POD_DELETE, always(Hint.QUEUE)),
    )
    rig.fail(Pod("p1"), ["Fit"])
    rig.gates["p1"] = "Gates"
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "gated"}
    del rig.gates["p1"]
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "gated"}
    rig.queue.move_all(ASSIGNED_POD_DELETE, None, None)
    assert rig.where() == {"p1": "backoff"}


def test_a_pod_of_an_unknown_profile_is_woken_by_whatever_interests_anybody() -> None:
    rig = Rig(Registration("Fit", NODE_ADD))
    rig.fail(Pod("p1", scheduler_name="nobody"), ["Fit"])
    rig.queue.move_all(NODE_DELETE, None, None)
    assert rig.where() == {"p1": "unschedulable"}
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "backoff"}


def test_interest() -> None:
    rig = Rig(Registration("Affinity", ClusterEvent("Pod", ActionType.ADD)))
    assert rig.queue.is_of_interest(ASSIGNED_POD_ADD)
    assert not rig.queue.is_of_interest(NODE_ADD)


def test_an_event_of_no_interest_is_not_kept_for_pods_in_flight() -> None:
    rig = Rig(Registration("Fit", NODE_ADD))
    rig.queue.add(Pod("p1"))
    rig.pop()
    rig.queue.move_all(NODE_DELETE, None, None)
    assert rig.queue.in_flight_events() == {"PodPopped": 1}


def test_a_pre_check_excludes_parked_pods_but_not_those_in_flight() -> None:
    rig = Rig(Registration("Fit", NODE_ADD))
    rig.fail(Pod("low"), ["Fit"])
    rig.fail(Pod("high", priority=9), ["Fit"])
    rig.queue.add(Pod("flying", priority=99))
    rig.pop()
    rig.queue.move_all(NODE_ADD, None, None, lambda pod: pod.priority < 5)
    assert rig.where() == {"flying": "in flight", "high": "unschedulable", "low": "backoff"}
    assert rig.queue.in_flight_events() == {"NodeAdd": 1, "PodPopped": 1}


def test_made_up_events_do_not_fill_the_memory() -> None:
    rig = Rig(Registration("Fit", NODE_ADD))
    for number in range(5000):
        rig.queue.is_of_interest(ClusterEvent(f"kind{number}", ActionType.ADD))
    assert len(rig.queue._events._audiences) <= 4096
    assert rig.queue.is_of_interest(NODE_ADD)


def test_wakes_on_names_the_events_of_the_holders() -> None:
    rig = Rig(Registration("Fit", NODE_ADD), Registration("Other", NODE_DELETE))
    rig.fail(Pod("p1", scheduler_name=PROFILE), ["Fit"])
    assert rig.queue.dump()[0]["wakes_on"] == ["NodeAdd"]


def test_an_event_that_names_something_is_judged_for_those_interested_in_it_alone() -> None:
    asked: list[str] = []
    names: dict[str, tuple[str, ...] | None] = {"event": ("a",)}
    claims = Registration("Claims", NODE_ADD, always(Hint.QUEUE, asked), lambda old, new: names["event"])
    rig = Rig(claims, Registration("Fit", NODE_ADD, always(Hint.SKIP, asked)))
    rig.interests = {"p1": ("a",), "p2": ("b", "a"), "p3": ("b",), "fit": ("a",)}
    for name in ("p1", "p2", "p3"):
        rig.fail(Pod(name), ["Claims"])
    rig.fail(Pod("fit"), ["Fit"])  # another plugin's pods are looked at as ever
    rig.queue.move_all(NODE_ADD, None, None)
    assert sorted(asked) == ["fit", "p1", "p2"]
    assert rig.where() == {"p1": "backoff", "p2": "backoff", "p3": "unschedulable", "fit": "unschedulable"}
    names["event"] = None  # it may help any pod
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where()["p3"] == "backoff"


def test_a_parked_pod_that_changes_is_found_by_its_new_interests() -> None:
    rig = Rig(Registration("Claims", NODE_ADD, always(Hint.QUEUE), lambda old, new: ("a",)))
    old, new = Pod("p1"), Pod("p1", priority=5)
    rig.fail(old, ["Claims"])
    rig.interests = {"p1": ("a",)}
    rig.queue.update(old, new, [])
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "backoff"}


def test_a_fault_while_naming_looks_at_every_pod() -> None:
    def fail(old: object, new: object) -> tuple[str, ...]:
        raise ValueError

    rig = Rig(Registration("Claims", NODE_ADD, always(Hint.QUEUE), fail))
    rig.fail(Pod("p1"), ["Claims"])
    rig.queue.move_all(NODE_ADD, None, None)
    assert rig.where() == {"p1": "backoff"}
    assert rig.queue.hint_faults() == {"Claims": 1}

from queue_rig import START_S, Pod, Rig

from apportion.sched.queue import (
    NODE_ADD,
    TARGET_POD,
    UNSCHEDULABLE_TIMEOUT,
    ActionType,
    ClusterEvent,
    QueueConfig,
    Registration,
)

TOLERATION = ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_TOLERATION)
FIT = Registration("Fit", NODE_ADD)


def names_popped(rig: Rig) -> list[str]:
    names = []
    while (queued := rig.queue.pop()) is not None:
        names.append(queued.pod.name)
    return names


def test_priority_then_time_then_order_of_arrival() -> None:
    rig = Rig()
    rig.queue.add(Pod("second"))
    rig.queue.add(Pod("third"))
    rig.clock.advance_to(START_S + 1)
    rig.queue.add(Pod("late"))
    rig.queue.add(Pod("first", priority=1))
    assert names_popped(rig) == ["first", "second", "third", "late"]


def test_backoff_ends_by_window_then_priority() -> None:
    rig = Rig(FIT)
    rig.clock.advance_to(START_S + 0.1)
    for name, priority in (("low", 0), ("high", 1)):
        rig.queue.add(Pod(name, priority))
        queued = rig.pop()
        rig.queue.move_all(NODE_ADD, None, None)
        rig.queue.add_unschedulable(queued, ["Fit"])
        rig.clock.advance_to(START_S + 0.9)
    assert names_popped(rig) == ["high", "low"]


def test_updating_the_priority_reorders() -> None:
    rig = Rig()
    old = Pod("b")
    rig.queue.add(Pod("a"))
    rig.queue.add(old)
    rig.queue.update(old, Pod("b", priority=1), [])
    assert names_popped(rig) == ["b", "a"]


def test_adding_twice_replaces_and_adding_in_flight_is_ignored() -> None:
    rig = Rig()
    rig.queue.add(Pod("a"))
    rig.queue.add(Pod("a", priority=3))
    assert len(rig.queue) == 1
    queued = rig.pop()
    assert queued.pod.priority == 3
    rig.queue.add(Pod("a"))
    assert len(rig.queue) == 0
    assert rig.where() == {"a": "in flight"}


def test_a_pod_made_anew_under_the_same_name_starts_afresh() -> None:
    rig = Rig()
    old, new = Pod("a"), Pod("a", made=1)
    rig.fail(old, ["Fit"])
    rig.queue.update(old, new, [TOLERATION])
    assert (old.uid in rig.queue, new.uid in rig.queue) == (False, True)
    assert rig.pop().attempts == 1


def test_updating_an_unknown_pod_adds_it() -> None:
    rig = Rig()
    rig.queue.update(Pod("a"), Pod("a"), [TOLERATION])
    assert rig.where() == {"a": "active"}


def test_an_update_moves_a_parked_pod_once() -> None:
    label_change = ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_LABEL)
    rig = Rig(Registration("Fit", TOLERATION), Registration("Claims", label_change))
    pod = Pod("a")
    rig.fail(pod, ["Fit"], ["Claims"])
    rig.queue.update(pod, pod, [TOLERATION, label_change])
    assert rig.where() == {"a": "backoff"}
    assert rig.queue.incoming()["backoff", TOLERATION.label] == 1


def test_a_deleted_pod_is_forgotten_wherever_it_stands() -> None:
    rig = Rig(FIT)
    pods = [Pod("parked"), Pod("error"), Pod("backoff"), Pod("active", nominated_node_name="n1")]
    rig.fail(pods[0], ["Fit"])
    rig.fail(pods[1])
    rig.queue.add(pods[2])
    queued = rig.pop()
    rig.queue.move_all(NODE_ADD, None, None)
    rig.queue.delete(pods[0])
    rig.queue.add_unschedulable(queued, ["Fit"])
    rig.queue.add(pods[3])
    assert rig.where() == {"active": "active", "backoff": "backoff", "error": "error backoff"}
    for pod in pods:
        rig.queue.delete(pod)
    assert (len(rig.queue), rig.where(), rig.queue.nominator.node_names()) == (0, {}, [])
    assert rig.queue.next_wakeup_s() is None


def test_deleting_a_pod_in_flight_leaves_its_attempt_alone() -> None:
    rig = Rig()
    rig.queue.add(Pod("a"))
    queued = rig.pop()
    rig.queue.delete(queued.pod)
    assert rig.queue.in_flight_count == 1
    rig.queue.done(queued.uid)
    assert rig.queue.in_flight_count == 0


def test_a_failed_pod_that_is_queued_already_stays_and_its_attempt_ends() -> None:
    rig = Rig()
    rig.queue.add(Pod("a"))
    queued = rig.pop()
    rig.queue.done(queued.uid)
    rig.queue.add(queued.pod)
    assert not rig.queue.add_unschedulable(queued, ["Fit"])
    assert rig.where() == {"a": "active"}
    assert queued.unschedulable_count == 0


def test_a_failure_after_done_is_retried_since_its_events_are_not_known() -> None:
    rig = Rig(FIT)
    rig.queue.add(Pod("a"))
    queued = rig.pop()
    rig.queue.done(queued.uid)
    rig.queue.add_unschedulable(queued, ["Fit"])
    assert rig.where() == {"a": "backoff"}


def test_rejections_of_one_attempt_do_not_reach_the_next() -> None:
    rig = Rig(FIT)
    queued = rig.fail(Pod("a"), ["Fit"], ["Claims"])
    rig.queue.activate([queued.pod])
    rig.queue.add_unschedulable(rig.pop())
    assert (queued.unschedulable_plugins, queued.pending_plugins) == (frozenset(), frozenset())
    assert rig.where() == {"a": "error backoff"}
    assert rig.queue.unschedulable_pods() == {}


def test_errors_in_a_row_and_rejections_count_apart() -> None:
    rig = Rig()
    queued = rig.fail(Pod("a"))
    counts = []
    for plugins in ([], ["Fit"], []):
        rig.queue.activate([queued.pod])
        rig.queue.add_unschedulable(rig.pop(), plugins)
        counts.append((queued.consecutive_errors, queued.unschedulable_count))
    assert counts == [(2, 0), (0, 1), (1, 1)]


def test_a_nomination_counts_before_the_pod_can_be_popped() -> None:
    rig = Rig()
    rig.gates["a"] = "Gates"
    rig.queue.add(Pod("a", nominated_node_name="n1"))
    assert [pod.name for pod in rig.queue.nominator.for_node("n1")] == ["a"]


def test_a_gate_is_not_asked_again_when_a_backoff_ends() -> None:
    rig = Rig(FIT)
    rig.fail(Pod("a"))
    rig.gates["a"] = "Gates"
    rig.clock.advance_to(START_S + 2)
    rig.queue.flush()
    assert rig.where() == {"a": "active"}


def test_first_attempt_time_is_kept() -> None:
    rig = Rig()
    queued = rig.fail(Pod("a"), ["Fit"])
    rig.clock.advance_to(START_S + 60)
    rig.queue.activate([queued.pod])
    assert (queued.initial_attempt_s, queued.timestamp_s) == (START_S, START_S)


def test_resting_too_long_marks_the_pod_until_it_fails_again() -> None:
    rig = Rig(config=QueueConfig(max_parked_s=60))
    queued = rig.fail(Pod("a"), ["Fit"])
    wakeup_s = rig.queue.next_wakeup_s()
    assert wakeup_s == START_S + 90
    rig.clock.advance_to(wakeup_s)
    rig.queue.flush()
    assert (queued.place, queued.was_flushed) == ("active", True)
    rig.queue.add_unschedulable(rig.pop(), ["Fit"])
    assert not queued.was_flushed


def test_a_flush_tells_pods_in_flight() -> None:
    rig = Rig(FIT, config=QueueConfig(max_parked_s=60))
    rig.fail(Pod("parked"), ["Fit"])
    rig.queue.add(Pod("flying"))
    rig.pop()
    rig.queue.flush()
    assert rig.queue.in_flight_events() == {"PodPopped": 1}
    rig.clock.advance_to(START_S + 90)
    rig.queue.flush()
    assert rig.queue.in_flight_events() == {"PodPopped": 1, UNSCHEDULABLE_TIMEOUT.label: 1}


def test_counters() -> None:
    rig = Rig(FIT)
    rig.gates["gated"] = "Gates"
    rig.queue.add(Pod("gated"))
    rig.fail(Pod("parked"), ["Fit"])
    rig.fail(Pod("error"))
    rig.queue.add(Pod("waits"))
    assert [rig.queue.pending(name) for name in ("active", "backoff", "unschedulable", "gated")] == [1, 1, 1, 1]
    assert rig.queue.unschedulable_pods() == {
        ("Fit", "default-scheduler"): 1,
        ("Gates", "default-scheduler"): 1,
    }
    assert rig.queue.incoming() == {
        ("active", "UnscheduledPodAdd"): 3,
        ("backoff", "ScheduleAttemptFailure"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("unschedulable", "UnscheduledPodAdd"): 1,
    }


def test_dump_tells_all_of_a_pod() -> None:
    rig = Rig(FIT)
    rig.fail(Pod("b"), ["Fit"])
    rig.fail(Pod("a"))
    rig.clock.advance_to(START_S + 0.5)
    first, second = rig.queue.dump()
    assert first == {
        "pod": "default/a",
        "uid": "uid-a-0",
        "where": "error backoff",
        "since_s": START_S,
        "priority": 0,
        "attempts": 1,
        "unschedulable_plugins": [],
        "pending_plugins": [],
        "gate": "",
        "gate_reasons": [],
        "wakes_on": [],
        "backoff_left_s": 0.5,
    }
    assert (second["pod"], second["wakes_on"], second["backoff_left_s"]) == ("default/b", ["NodeAdd"], 0.0)

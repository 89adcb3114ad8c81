from apportion.sched.queue import ASSIGNED_POD_DELETE, NODE_ADD, TARGET_POD, ActionType, ClusterEvent
from apportion.sched.queue.entity import QueuedEntity
from apportion.sched.queue.in_flight import InFlightList

OWN_UPDATE = ClusterEvent(TARGET_POD, ActionType.UPDATE_POD_LABEL)


def make(name: str) -> QueuedEntity:
    return QueuedEntity(name, 0, "", 0.0, 0)


def seen(in_flight: InFlightList[QueuedEntity], entity: QueuedEntity) -> list[object] | None:
    events = in_flight.find_events(entity)
    return None if events is None else [recorded.new for recorded in events]


def test_a_pod_sees_the_events_after_its_mark() -> None:
    in_flight: InFlightList[QueuedEntity] = InFlightList()
    first, second = make("first"), make("second")
    in_flight.enter(first)
    in_flight.record(NODE_ADD, None, 1)
    in_flight.enter(second)
    in_flight.record(ASSIGNED_POD_DELETE, None, 2)
    assert seen(in_flight, first) == [1, 2]
    assert seen(in_flight, second) == [2]
    assert in_flight.count_by_label() == {"AssignedPodDelete": 1, "NodeAdd": 1, "PodPopped": 2}


def test_events_of_one_pod_are_hidden_from_others() -> None:
    in_flight: InFlightList[QueuedEntity] = InFlightList()
    first, second = make("first"), make("second")
    in_flight.enter(first)
    in_flight.enter(second)
    in_flight.record(OWN_UPDATE, None, 1, "first")
    assert (seen(in_flight, first), seen(in_flight, second)) == ([1], [])


def test_events_are_dropped_from_the_head_only() -> None:
    in_flight: InFlightList[QueuedEntity] = InFlightList()
    pods = [make(str(number)) for number in range(3)]
    for number, pod in enumerate(pods):
        in_flight.enter(pod)
        in_flight.record(NODE_ADD, None, number)
    in_flight.leave("1")
    assert seen(in_flight, pods[0]) == [0, 1, 2]
    in_flight.leave("0")
    assert [recorded.new for recorded in in_flight.events] == [2]
    in_flight.leave("2")
    in_flight.leave("2")
    assert in_flight.events == []
    assert len(in_flight) == 0


def test_nothing_is_recorded_for_nobody() -> None:
    in_flight: InFlightList[QueuedEntity] = InFlightList()
    in_flight.record(NODE_ADD, None, 1)
    late = make("late")
    in_flight.enter(late)
    assert seen(in_flight, late) == []


def test_too_many_events_are_forgotten_and_the_pod_is_told() -> None:
    in_flight: InFlightList[QueuedEntity] = InFlightList(max_events=2)
    slow, quick = make("slow"), make("quick")
    in_flight.enter(slow)
    in_flight.record(NODE_ADD, None, 1)
    in_flight.enter(quick)
    in_flight.record(NODE_ADD, None, 2)
    in_flight.record(NODE_ADD, None, 3)
    assert seen(in_flight, slow) is None
    assert seen(in_flight, quick) == [2, 3]
    in_flight.leave("slow")
    in_flight.leave("quick")
    assert in_flight.events == []


def test_a_pod_that_is_not_in_flight_has_no_known_events() -> None:
    assert InFlightList[QueuedEntity]().find_events(make("stranger")) is None

from apportion.base import VirtualClock
from apportion.controllers import WorkQueue


def test_of_several_delays_the_shortest_counts_and_the_key_comes_once() -> None:
    clock = VirtualClock(0.0)
    queue: WorkQueue[str] = WorkQueue(clock)
    for delay_s in (30, 10, 20):
        queue.add_after("a", delay_s)
    assert queue.next_wakeup_s() == queue.next_delay_s() == 10
    clock.advance_to(10)
    assert queue.take() == "a"
    queue.finish("a", failed=False)
    assert queue.next_wakeup_s() is None and len(queue) == 0


def test_a_deadline_wakes_and_is_not_waited_for() -> None:
    clock = VirtualClock(0.0)
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add_deadline("a", 600)
    assert (queue.next_wakeup_s(), queue.next_delay_s(), queue.list_keys()) == (600, None, [])
    clock.advance_to(600)
    assert queue.take() == "a"


def test_failures_come_back_later_and_later_however_many_there_are() -> None:
    clock = VirtualClock(0.0)
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add("a")
    delays = []
    for _ in range(1200):
        assert queue.take() == "a"
        queue.finish("a", failed=True)
        due_s = queue.next_delay_s()
        assert due_s is not None
        delays.append(due_s - clock.now())
        clock.advance_to(due_s)
    assert delays[0] == 0.005 and round(delays[1], 6) == 0.01 and delays[-1] == 1000


def test_a_key_that_is_added_while_it_is_worked_on_comes_again() -> None:
    queue: WorkQueue[str] = WorkQueue(VirtualClock(0.0))
    queue.add("a")
    assert queue.take() == "a"
    queue.add("a")
    assert queue.take() is None
    queue.finish("a", failed=False)
    assert queue.take() == "a"

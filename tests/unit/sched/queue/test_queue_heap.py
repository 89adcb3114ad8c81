import random

from apportion.sched.queue.entity import QueuedEntity
from apportion.sched.queue.heap import EntityHeap


def make(number: int) -> QueuedEntity:
    return QueuedEntity(f"u{number}", 0, "", 0.0, number)


def test_pops_in_the_order_of_keys() -> None:
    heap: EntityHeap[QueuedEntity] = EntityHeap()
    for number in random.Random(1).sample(range(50), 50):
        heap.push((number, make(number)))
    assert [heap.pop().sequence for _ in range(50)] == list(range(50))  # type: ignore[union-attr]
    assert heap.pop() is None


def test_what_was_withdrawn_does_not_come_up() -> None:
    heap: EntityHeap[QueuedEntity] = EntityHeap()
    entities = [make(number) for number in range(3)]
    for entity in entities:
        heap.push((entity.sequence, entity))
    heap.withdraw(entities[0])
    assert len(heap) == 2
    assert heap.find_first() is entities[1]
    assert heap.pop() is entities[1]
    assert heap.pop() is entities[2]


def test_an_entity_may_return_under_another_key() -> None:
    heap: EntityHeap[QueuedEntity] = EntityHeap()
    first, second = make(1), make(2)
    heap.push((1, first))
    heap.push((2, second))
    heap.withdraw(first)
    heap.push((3, first))
    assert [heap.pop(), heap.pop(), heap.pop()] == [second, first, None]


def test_dead_entries_do_not_pile_up() -> None:
    heap: EntityHeap[QueuedEntity] = EntityHeap()
    stays, comes_and_goes = make(0), make(1)
    heap.push((0, stays))
    for number in range(1, 10_000):
        heap.push((number, comes_and_goes))
        heap.withdraw(comes_and_goes)
    assert len(heap._entries) < 100
    assert heap.pop() is stays

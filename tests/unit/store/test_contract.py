"""The contract of a store, run against each implementation."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apportion.base import InputError
from apportion.store import (
    BEGINNING,
    MUST_NOT_EXIST,
    CompactedError,
    Key,
    MemoryStore,
    RevisionConflictError,
    SqliteStore,
    Store,
)

A, B = Key("pods", "n", "a"), Key("pods", "n", "b")
OTHER = Key("nodes", "", "a")


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[int], Store]]:
    stores: list[Store] = []

    def make(changes_max: int = 1000) -> Store:
        kind = request.param
        path = tmp_path / "store.db"
        stores.append(MemoryStore(changes_max=changes_max) if kind == "memory" else SqliteStore(path, changes_max))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(make_store: Callable[[int], Store]) -> Store:
    return make_store(1000)


def numbered(text: str) -> Callable[[int], bytes]:
    return lambda revision: f"{text}@{revision}".encode()


def settle(store: Store) -> None:
    if isinstance(store, SqliteStore):
        assert store.wait_durable(store.revision, 10)


def read(store: Store, resource: str, after: int) -> list[tuple[str, str, bytes, bytes | None]]:
    settle(store)
    return [(c.type.value, c.key.name, c.value, c.previous) for c in store.read_changes(resource, after)]


def test_each_commit_is_one_revision_and_the_value_may_carry_it(store: Store) -> None:
    first, second = store.put(A, numbered("a")), store.put(B, numbered("b"))
    assert (first.revision, first.value) == (BEGINNING + 1, b"a@2")
    assert (second.revision, store.revision) == (3, 3)
    assert store.find(A) == first
    assert store.find(Key("pods", "other", "a")) is None


def test_a_change_tells_what_was_before(store: Store) -> None:
    store.put(A, numbered("x"))
    store.put(OTHER, numbered("o"))
    store.put(A, numbered("y"))
    store.delete(A, numbered("gone"))
    assert read(store, "pods", BEGINNING) == [
        ("ADDED", "a", b"x@2", None),
        ("MODIFIED", "a", b"y@4", b"x@2"),
        ("DELETED", "a", b"gone@5", b"y@4"),
    ]
    assert read(store, "pods", 4) == [("DELETED", "a", b"gone@5", b"y@4")]
    assert read(store, "pods", 5) == []


@pytest.mark.parametrize("expected", [MUST_NOT_EXIST, 99])
def test_a_failed_precondition_changes_nothing(store: Store, expected: int) -> None:
    entry = store.put(A, numbered("a"))
    with pytest.raises(RevisionConflictError) as caught:
        store.put(A, numbered("b"), expected)
    assert caught.value.found == entry.revision
    with pytest.raises(RevisionConflictError):
        store.delete(A, numbered("b"), expected)
    assert (store.find(A), store.revision) == (entry, entry.revision)


def test_the_right_precondition_passes(store: Store) -> None:
    entry = store.put(A, numbered("a"), MUST_NOT_EXIST)
    assert store.put(A, numbered("b"), entry.revision).value == b"b@3"
    with pytest.raises(RevisionConflictError):
        store.delete(B, numbered("b"))


def test_lists_are_ordered_and_keep_namespaces_apart(store: Store) -> None:
    for namespace, name in (("n1", "a"), ("n", "b"), ("n", "a"), ("n-x", "c")):
        store.put(Key("pods", namespace, name), numbered(name))
    assert [e.key[1:] for e in store.list_entries("pods")] == [("n", "a"), ("n", "b"), ("n-x", "c"), ("n1", "a")]
    assert [e.key.name for e in store.list_entries("pods", "n")] == ["a", "b"]
    assert store.list_entries("nodes") == []


def test_a_list_of_the_past(store: Store) -> None:
    store.put(A, numbered("x"))
    store.put(A, numbered("y"))
    store.put(B, numbered("b"))
    store.delete(A, numbered("gone"))

    def values(revision: int) -> list[bytes]:
        return [e.value for e in store.list_entries_at("pods", "", revision)]

    assert values(BEGINNING) == []
    assert (values(2), values(3), values(4), values(5)) == ([b"x@2"], [b"y@3"], [b"y@3", b"b@4"], [b"b@4"])


def test_compaction_forgets_changes_and_keeps_entries(store: Store) -> None:
    for text in "xyz":
        store.put(A, numbered(text))
    settle(store)
    store.compact(3)
    assert read(store, "pods", 3) == [("MODIFIED", "a", b"z@4", b"y@3")]
    with pytest.raises(CompactedError):
        store.read_changes("pods", 2)
    with pytest.raises(CompactedError):
        store.read_changes("pods", BEGINNING)
    with pytest.raises(CompactedError):
        store.list_entries_at("pods", "", 2)
    assert [e.value for e in store.list_entries("pods")] == [b"z@4"]


def test_the_history_is_bounded(make_store: Callable[[int], Store]) -> None:
    store = make_store(3)
    for text in "abcdef":
        store.put(A, numbered(text))
        settle(store)
    store.put(A, numbered("g"))
    settle(store)
    assert store.compacted_revision >= store.revision - 4
    with pytest.raises(CompactedError):
        store.read_changes("pods", 2)


def test_subscribers_hear_of_commits_until_they_leave(store: Store) -> None:
    heard: list[int] = []
    leave = store.subscribe(lambda: heard.append(store.durable_revision))
    store.put(A, numbered("a"))
    settle(store)
    assert heard[-1] == 2
    leave()
    store.put(A, numbered("b"))
    settle(store)
    assert heard[-1] == 2


def test_a_revision_of_an_earlier_life_is_refused() -> None:
    store = MemoryStore(first_revision=5000)
    store.put(A, numbered("a"))
    assert read(store, "pods", BEGINNING) == [("ADDED", "a", b"a@5001", None)]
    with pytest.raises(CompactedError):
        store.read_changes("pods", 4000)


def test_a_store_that_counts_from_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="first_revision"):
        MemoryStore(first_revision=0)

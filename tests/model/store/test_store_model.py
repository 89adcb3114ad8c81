"""Random operations on both stores against a dictionary for each revision."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from apportion.store import BEGINNING, CompactedError, Key, MemoryStore, RevisionConflictError, SqliteStore, Store

KEYS = st.builds(Key, st.sampled_from(["pods", "nodes"]), st.sampled_from(["", "a", "a-b"]), st.sampled_from("xyz"))


class StoreMachine(RuleBasedStateMachine):
    """``worlds[r]`` is everything as of revision r; the log lists every change ever made."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.worlds: dict[int, dict[Key, bytes]] = {BEGINNING: {}}
        self.log: list[tuple[int, str, Key]] = []
        self.revisions: dict[Key, int] = {}
        self.compacted = BEGINNING
        self.open()

    def open(self) -> None:
        self.store = MemoryStore()

    def settle(self) -> None:
        """Wait until all is durable."""

    @property
    def world(self) -> dict[Key, bytes]:
        return self.worlds[len(self.worlds)]

    def record(self, change: str, key: Key, value: bytes | None) -> None:
        world = dict(self.world)
        revision = len(self.worlds) + 1
        if value is None:
            del world[key]
            del self.revisions[key]
        else:
            world[key] = value
            self.revisions[key] = revision
        self.worlds[revision] = world
        self.log.append((revision, change, key))

    @rule(key=KEYS, expectation=st.sampled_from(["any", "right", "wrong"]))
    def put(self, key: Key, expectation: str) -> None:
        found = self.revisions.get(key, 0)
        expected = {"any": None, "right": found, "wrong": found + 1}[expectation]
        value = f"{key}{len(self.log)}".encode()
        if expectation == "wrong":
            with pytest.raises(RevisionConflictError):
                self.store.put(key, lambda _: value, expected)
            return
        entry = self.store.put(key, lambda _: value, expected)
        self.record("MODIFIED" if key in self.world else "ADDED", key, value)
        assert entry.revision == len(self.worlds)

    @rule(key=KEYS)
    def delete(self, key: Key) -> None:
        if key not in self.world:
            with pytest.raises(RevisionConflictError):
                self.store.delete(key, lambda _: b"")
            return
        self.store.delete(key, lambda _: b"")
        self.record("DELETED", key, None)

    @rule(share=st.integers(0, 10))
    def compact(self, share: int) -> None:
        self.settle()
        self.compacted = max(self.compacted, BEGINNING + len(self.log) * share // 10)
        self.store.compact(self.compacted)

    @rule(back=st.integers(0, 6), resource=st.sampled_from(["pods", "nodes"]), namespace=st.sampled_from(["", "a"]))
    def read(self, back: int, resource: str, namespace: str) -> None:
        self.settle()
        revision = max(BEGINNING, len(self.worlds) - back)
        if revision < self.compacted:
            with pytest.raises(CompactedError):
                self.store.read_changes(resource, revision)
            with pytest.raises(CompactedError):
                self.store.list_entries_at(resource, namespace, revision)
            return
        changes = [(c.revision, c.type.value, c.key) for c in self.store.read_changes(resource, revision)]
        assert changes == [c for c in self.log if c[0] > revision and c[2].resource == resource]
        past = self.store.list_entries_at(resource, namespace, revision)
        assert [(e.key, e.value) for e in past] == self.select(self.worlds[revision], resource, namespace)

    @staticmethod
    def select(world: dict[Key, bytes], resource: str, namespace: str) -> list[tuple[Key, bytes]]:
        return sorted(i for i in world.items() if i[0].resource == resource and namespace in ("", i[0].namespace))

    @invariant()
    def current_state_is_right(self) -> None:
        assert self.store.revision == len(self.worlds)
        for resource in ("pods", "nodes"):
            entries = self.store.list_entries(resource)
            assert [(e.key, e.value) for e in entries] == self.select(self.world, resource, "")
            assert all(e.revision == self.revisions[e.key] for e in entries)


class DiskStoreMachine(StoreMachine):
    """The same on disk, with restarts in between."""

    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore(Path(self.folder.name) / "s.db")

    def settle(self) -> None:
        assert isinstance(self.store, SqliteStore)
        assert self.store.wait_durable(self.store.revision, 10)

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = SqliteStore(Path(self.folder.name) / "s.db")

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestMemoryStore = StoreMachine.TestCase
TestMemoryStore.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestDiskStore = DiskStoreMachine.TestCase
TestDiskStore.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)

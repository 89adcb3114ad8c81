"""A store on disk: an SQLite log of revisions behind the state in memory."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from apportion.store.contract import BEGINNING, Change, Encode, Entry, Key, Store, StoreFailedError
from apportion.store.log_file import LogFile
from apportion.store.memory import CHANGES_MAX
from apportion.store.state import RevisionedState
from apportion.store.subscribers import Subscribers
from apportion.store.writer import Compaction, GroupWriter


class SqliteStore(Store):
    """State in memory, every change in one table on disk, written in groups by a thread of its own.

    A commit is visible to the caller at once and durable when the group it went into is synced; whatever leaves
    the process waits for that (``wait_durable``, ``subscribe``). Opening reads the whole log.
    """

    def __init__(self, path: Path, changes_max: int = CHANGES_MAX) -> None:
        self._state = RevisionedState(BEGINNING, changes_max)
        log_file = LogFile(path)
        log_file.load_into(self._state)
        self._durable = self._state.revision
        self._durable_changed = threading.Condition()
        self._subscribers = Subscribers()
        self._compacted_on_disk = self._state.compacted_revision
        self._compact_every = max(1, changes_max // 10)
        self._writer = GroupWriter(log_file, self._on_durable, self._on_failure)

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def durable_revision(self) -> int:
        return self._durable

    @property
    def compacted_revision(self) -> int:
        return self._state.compacted_revision

    def find(self, key: Key) -> Entry | None:
        return self._state.find(key)

    def list_entries(self, resource: str, namespace: str = "") -> Sequence[Entry]:
        return self._state.list_entries(resource, namespace)

    def list_entries_at(self, resource: str, namespace: str, revision: int) -> Sequence[Entry]:
        return self._state.list_entries_at(resource, namespace, revision)

    def put(self, key: Key, encode: Encode, expected: int | None = None) -> Entry:
        return self._commit(key, encode, expected, deletes=False)

    def delete(self, key: Key, encode: Encode, expected: int | None = None) -> Entry:
        return self._commit(key, encode, expected, deletes=True)

    def _commit(self, key: Key, encode: Encode, expected: int | None, deletes: bool) -> Entry:
        self.check_usable()
        change = self._state.prepare(key, encode, expected, deletes)
        entry = self._state.apply(change)
        self._writer.append(change)
        self._state.trim(self._durable)
        # The file may keep more history than memory does, but not without bound.
        if self._state.compacted_revision - self._compacted_on_disk >= self._compact_every:
            self._compact_on_disk()
        return entry

    def check_usable(self) -> None:
        """Raise StoreFailedError once the disk has refused a write."""
        if self._writer.failure is not None:
            raise StoreFailedError(f"the data directory cannot be written: {self._writer.failure}")

    def read_changes(self, resource: str, after: int) -> Sequence[Change]:
        return self._state.read_changes(resource, after, self._durable)

    def compact(self, revision: int) -> None:
        self._state.compact(min(revision, self._durable))
        self._compact_on_disk()

    def _compact_on_disk(self) -> None:
        self._compacted_on_disk = self._state.compacted_revision
        self._writer.append(Compaction(self._compacted_on_disk))

    def subscribe(self, on_durable: Callable[[], None]) -> Callable[[], None]:
        return self._subscribers.add(on_durable)

    def wait_durable(self, revision: int, timeout_s: float) -> bool:
        """Block until a revision is durable; False when the time is over. Raises StoreFailedError."""
        with self._durable_changed:
            done = self._durable_changed.wait_for(
                lambda: self._durable >= revision or self._writer.failure is not None, timeout_s
            )
        if self._durable < revision:
            self.check_usable()
        return done

    def close(self) -> None:
        self._writer.close()

    # ---- called by the writer's thread --------------------------------------------------------------------

    def _on_durable(self, revision: int) -> None:
        with self._durable_changed:
            self._durable = revision
            self._durable_changed.notify_all()
        self._subscribers.announce()

    def _on_failure(self) -> None:
        with self._durable_changed:
            self._durable_changed.notify_all()
        self._subscribers.announce()

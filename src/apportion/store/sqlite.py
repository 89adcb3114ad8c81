"""A store on disk: an SQLite log of revisions behind the state in memory."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from apportion.store.contract import BEGINNING, Change, Encode, Entry, Key, Store, StoreFailedError
from apportion.store.log_file import LogFile
from apportion.store.memory import CHANGES_MAX
from apportion.store.state import RevisionedState
from apportion.store.subscribers import Subscribers
from apportion.store.writer import Compaction, GroupWriter

RETRY_AFTER_S: Final = 1.0


class SqliteStore(Store):
    """State in memory, every change in one table on disk, written in groups by a thread of its own.

    A commit is visible to the caller at once and durable when the group it went into is synced; whatever leaves
    the process waits for that (``wait_durable``, ``subscribe``). Opening reads the whole log.

    When the disk refuses a group, all that is not durable is taken back (``recover``). Commits are then refused at
    once, but for one every ``retry_after_s``, which finds out whether the disk has recovered.
    """

    def __init__(self, path: Path, changes_max: int = CHANGES_MAX, retry_after_s: float = RETRY_AFTER_S) -> None:
        self._folder = path.parent
        self._retry_after_s = retry_after_s
        self._problem: str | None = None  # why the last group failed; None again once one has not
        self._retry_at_s = 0.0
        self._unconfirmed: deque[tuple[Change, Entry | None]] = deque()  # with what each commit replaced
        self._losses: list[tuple[int, str]] = []  # up to which revision all was kept, and why not more
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

    @property
    def heads(self) -> Mapping[str, int]:
        return self._state.heads

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
        if self._writer.failure is not None:
            self.recover()
        if self._problem is not None:
            self._check_retry()
        change = self._state.prepare(key, encode, expected, deletes)
        while self._unconfirmed and self._unconfirmed[0][0].revision <= self._durable:
            self._unconfirmed.popleft()
        self._unconfirmed.append((change, self._state.find(key)))
        entry = self._state.apply(change)
        self._writer.append(change)
        self._state.trim(self._durable)
        # The file may keep more history than memory does, but not without bound.
        if self._state.compacted_revision - self._compacted_on_disk >= self._compact_every:
            self._compact_on_disk()
        return entry

    def _check_retry(self) -> None:
        """Let one commit through now and then; raises StoreFailedError for the others."""
        now_s = time.monotonic()
        if now_s < self._retry_at_s:
            raise self._explain()
        self._retry_at_s = now_s + self._retry_after_s

    def _explain(self) -> StoreFailedError:
        problem = self._writer.failure or self._problem
        return StoreFailedError(f"the data directory {self._folder} cannot be written: {problem}")

    def recover(self) -> int:
        failure = self._writer.failure
        if failure is not None:
            while self._unconfirmed and self._unconfirmed[-1][0].revision > self._durable:
                self._state.take_back(*self._unconfirmed.pop())
            self._losses.append((self._durable, str(self._explain())))
            self._problem = failure
            self._retry_at_s = time.monotonic() + self._retry_after_s
            self._writer.resume()
        return len(self._losses)

    def find_loss(self, revision: int, losses: int) -> str | None:
        self.recover()
        return next((why for kept, why in self._losses[losses:] if kept < revision), None)

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
        if self._durable < revision and self._writer.failure is not None:
            raise self._explain()
        return done

    def close(self) -> None:
        self._writer.close()

    # ---- called by the writer's thread --------------------------------------------------------------------

    def _on_durable(self, revision: int) -> None:
        with self._durable_changed:
            self._durable = revision
            self._problem = None
            self._durable_changed.notify_all()
        self._subscribers.announce()

    def _on_failure(self) -> None:
        with self._durable_changed:
            self._durable_changed.notify_all()
        self._subscribers.announce()

"""A store that forgets everything with the process: every commit counts as durable at once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from apportion.base import InputError
from apportion.store.contract import BEGINNING, Change, Encode, Entry, Key, Store
from apportion.store.state import RevisionedState
from apportion.store.subscribers import Subscribers

CHANGES_MAX: Final = 100_000


class MemoryStore(Store):
    """The store of tests, of simulations and of a control plane without a data directory.

    ``first_revision`` is where counting starts. A process that may meet clients of an earlier life passes one that
    rises from life to life (derived from the time, say): what those clients remember is then older than the
    history, and they are told so.
    """

    def __init__(self, first_revision: int = BEGINNING, changes_max: int = CHANGES_MAX) -> None:
        if first_revision < BEGINNING or changes_max < 1:
            raise InputError(f"first_revision ({first_revision}) and changes_max ({changes_max}) must be at least 1")
        self._state = RevisionedState(first_revision, changes_max)
        self._subscribers = Subscribers()

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def durable_revision(self) -> int:
        return self._state.revision

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
        return self._commit(self._state.prepare(key, encode, expected, deletes=False))

    def delete(self, key: Key, encode: Encode, expected: int | None = None) -> Entry:
        return self._commit(self._state.prepare(key, encode, expected, deletes=True))

    def _commit(self, change: Change) -> Entry:
        entry = self._state.apply(change)
        self._state.trim(change.revision)
        self._subscribers.announce()
        return entry

    def read_changes(self, resource: str, after: int) -> Sequence[Change]:
        return self._state.read_changes(resource, after, self._state.revision)

    def compact(self, revision: int) -> None:
        self._state.compact(min(revision, self._state.revision))

    def recover(self) -> int:
        return 0

    def find_loss(self, revision: int, losses: int) -> str | None:
        return None

    def subscribe(self, on_durable: Callable[[], None]) -> Callable[[], None]:
        return self._subscribers.add(on_durable)

    def close(self) -> None:
        """Nothing is pending, ever."""

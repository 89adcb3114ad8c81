"""The part that both stores share: current entries, and a bounded history of what changed."""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence

from apportion.store.contract import (
    BEGINNING,
    MUST_NOT_EXIST,
    Change,
    ChangeType,
    CompactedError,
    Encode,
    Entry,
    Key,
    RevisionConflictError,
)


class _Resource:
    """Entries of one resource, its keys in order (sorted again only after one came or went), its changes."""

    __slots__ = ("changes", "entries", "keys")

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.keys: list[Key] | None = None
        self.changes: deque[Change] = deque()

    def list_entries(self, namespace: str) -> list[Entry]:
        if self.keys is None:
            self.keys = sorted(self.entries)
        return [self.entries[k] for k in _select_namespace(self.keys, namespace)]


class RevisionedState:
    """Entries and history in memory. ``changes_max`` bounds the history: the oldest change goes first."""

    def __init__(self, first_revision: int, changes_max: int) -> None:
        self.revision = first_revision
        self.compacted_revision = first_revision
        self._first = first_revision
        self._changes_max = changes_max
        self._resources: dict[str, _Resource] = {}
        self._log: deque[Change] = deque()
        self.heads: dict[str, int] = {}  # by resource: the revision of its newest change

    def find(self, key: Key) -> Entry | None:
        found = self._resources.get(key.resource)
        return None if found is None else found.entries.get(key)

    def list_entries(self, resource: str, namespace: str) -> list[Entry]:
        found = self._resources.get(resource)
        return [] if found is None else found.list_entries(namespace)

    def list_entries_at(self, resource: str, namespace: str, revision: int) -> list[Entry]:
        """Undo the changes after ``revision`` on a copy of the entries."""
        self.check_readable(revision)
        found = self._resources.get(resource)
        if found is None:
            return []
        entries = dict(found.entries)
        for change in reversed(found.changes):
            if change.revision <= revision:
                break
            if change.previous is None:
                entries.pop(change.key, None)
            else:  # its revision lies before the one undone; what it was exactly stands in the value
                entries[change.key] = Entry(change.key, revision, change.previous)
        return [entries[k] for k in _select_namespace(sorted(entries), namespace)]

    def check_readable(self, after: int) -> None:
        """Raise CompactedError unless all changes after a revision are still there."""
        if after == BEGINNING and self.compacted_revision == self._first:
            return
        if after < self.compacted_revision:
            raise CompactedError(after, self.compacted_revision)

    def read_changes(self, resource: str, after: int, until: int) -> list[Change]:
        self.check_readable(after)
        found = self._resources.get(resource)
        if found is None:
            return []
        newer: list[Change] = []
        for change in reversed(found.changes):
            if change.revision <= after:
                break
            if change.revision <= until:
                newer.append(change)
        newer.reverse()
        return newer

    def prepare(self, key: Key, encode: Encode, expected: int | None, deletes: bool) -> Change:
        """Return the change that a write would make; raises RevisionConflictError. Changes nothing."""
        entry = self.find(key)
        found = MUST_NOT_EXIST if entry is None else entry.revision
        if expected is not None and expected != found:
            raise RevisionConflictError(key, expected, found)
        if deletes and entry is None:
            raise RevisionConflictError(key, self.revision, MUST_NOT_EXIST)
        revision = self.revision + 1
        change_type = ChangeType.ADDED if entry is None else ChangeType.MODIFIED
        if deletes:
            change_type = ChangeType.DELETED
        return Change(revision, change_type, key, encode(revision), None if entry is None else entry.value)

    def apply(self, change: Change) -> Entry:
        """Make a prepared change the newest one."""
        resource = self._resources.setdefault(change.key.resource, _Resource())
        entry = Entry(change.key, change.revision, change.value)
        if change.type is ChangeType.DELETED:
            del resource.entries[change.key]
        else:
            resource.entries[change.key] = entry
        if change.type is not ChangeType.MODIFIED:
            resource.keys = None
        self.revision = change.revision
        self.heads[change.key.resource] = change.revision
        self._log.append(change)
        resource.changes.append(change)
        return entry

    def take_back(self, change: Change, replaced: Entry | None) -> None:
        """Undo the newest change; ``replaced`` is what it took the place of."""
        resource = self._resources[change.key.resource]
        resource.changes.pop()
        self._log.pop()
        if replaced is None:
            del resource.entries[change.key]
        else:
            resource.entries[change.key] = replaced
        resource.keys = None
        self.revision = change.revision - 1
        self.heads[change.key.resource] = self.revision

    def restore(self, entry: Entry) -> None:
        """Take in an entry from before the history; only while loading."""
        self._resources.setdefault(entry.key.resource, _Resource()).entries[entry.key] = entry
        self.revision = max(self.revision, entry.revision)

    def trim(self, durable: int) -> None:
        """Drop the oldest changes while there are too many; those that are not durable stay."""
        while len(self._log) > self._changes_max and self._log[0].revision <= durable:
            self._drop_oldest()

    def compact(self, revision: int) -> None:
        while self._log and self._log[0].revision <= revision:
            self._drop_oldest()
        self.compacted_revision = max(self.compacted_revision, revision)

    def _drop_oldest(self) -> None:
        change = self._log.popleft()
        self._resources[change.key.resource].changes.popleft()
        self.compacted_revision = change.revision


def _select_namespace(keys: list[Key], namespace: str) -> Sequence[Key]:
    """Return the keys of one namespace (all for ""); ``keys`` are sorted and of one resource."""
    if not namespace or not keys:
        return keys
    start = bisect_left(keys, Key(keys[0].resource, namespace, ""))
    end = bisect_left(keys, Key(keys[0].resource, namespace + "\0", ""))
    return keys[start:end]

"""The file: one table of revisions, and how far it was compacted."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from apportion.base import InputError
from apportion.store.contract import Change, ChangeType, Entry, Key
from apportion.store.state import RevisionedState

FORMAT: Final = 1
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    resource TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    value BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS log_by_key ON log (resource, namespace, name, revision);
CREATE TABLE IF NOT EXISTS compaction (revision INTEGER NOT NULL);
"""
# First what a later row of the compacted part replaces, then the deletions themselves: the other way round, what was
# deleted would come back.
_COMPACT: Final = (
    """
    DELETE FROM log WHERE revision <= :until AND EXISTS (
        SELECT 1 FROM log AS later
        WHERE later.resource = log.resource AND later.namespace = log.namespace AND later.name = log.name
        AND later.revision > log.revision AND later.revision <= :until)
    """,
    "DELETE FROM log WHERE revision <= :until AND type = 'DELETED'",
)


class LogFile:
    """An SQLite database in WAL mode with ``synchronous=FULL``: a commit that returned survives a power cut.

    Used by one thread at a time. Raises InputError when the file is not one of ours or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._prepare()
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path}: cannot be opened as a store: {error}; move it away or restore it") from None
        path.chmod(0o600)  # it holds secrets

    def _prepare(self) -> None:
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        found = self._db.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise InputError(f"{self._path}: has format {found}, this version reads format {FORMAT}")
        problem = self._db.execute("PRAGMA quick_check").fetchone()[0]
        if problem != "ok":
            raise InputError(f"{self._path}: is damaged ({problem}); restore it from a copy")
        self._db.executescript(_SCHEMA)
        self._db.execute(f"PRAGMA user_version={FORMAT}")

    def load_into(self, state: RevisionedState) -> None:
        """Rebuild entries and history; raises InputError when a revision is missing."""
        compacted = self._db.execute("SELECT max(revision) FROM compaction").fetchone()[0] or state.revision
        rows = self._db.execute("SELECT revision, type, resource, namespace, name, value FROM log ORDER BY revision")
        for revision, change_type, resource, namespace, name, value in rows:
            key = Key(resource, namespace, name)
            if revision <= compacted:
                state.restore(Entry(key, revision, value))
                continue
            state.revision = max(state.revision, compacted)
            if revision != state.revision + 1:
                raise InputError(f"{self._path}: revisions {state.revision + 1} to {revision - 1} are missing")
            previous = state.find(key)
            before = None if previous is None else previous.value
            state.apply(Change(revision, ChangeType(change_type), key, value, before))
        state.compact(compacted)
        state.revision = max(state.revision, compacted)
        state.trim(state.revision)

    def append(self, changes: Sequence[Change], compact_until: int | None) -> None:
        """Write changes, and forget old ones, in one transaction. Raises sqlite3.Error; then none is written."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.executemany(
                "INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)",
                [(c.revision, c.type.value, *c.key, c.value) for c in changes],
            )
            if compact_until is not None:
                self._db.execute("DELETE FROM compaction")
                self._db.execute("INSERT INTO compaction VALUES (?)", (compact_until,))
                for statement in _COMPACT:
                    self._db.execute(statement, {"until": compact_until})
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        self._db.close()

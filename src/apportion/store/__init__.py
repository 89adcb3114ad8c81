"""Numbered changes, kept in memory or on disk, and a feed that can be read again. See README.md."""

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
    Store,
    StoreError,
    StoreFailedError,
)
from apportion.store.memory import MemoryStore
from apportion.store.sqlite import SqliteStore

__all__ = [
    "BEGINNING",
    "MUST_NOT_EXIST",
    "Change",
    "ChangeType",
    "CompactedError",
    "Encode",
    "Entry",
    "Key",
    "MemoryStore",
    "RevisionConflictError",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreFailedError",
]

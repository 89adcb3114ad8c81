"""What only the store on disk promises: it survives."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from apportion.base import InputError
from apportion.store import BEGINNING, CompactedError, Key, SqliteStore, StoreFailedError
from apportion.store.log_file import LogFile

A, B = Key("pods", "n", "a"), Key("pods", "n", "b")


def put(store: SqliteStore, key: Key, text: str) -> None:
    store.put(key, lambda revision: f"{text}@{revision}".encode())


def test_entries_and_history_come_back(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    for key, text in ((A, "x"), (B, "y"), (A, "z")):
        put(store, key, text)
    store.delete(B, lambda revision: b"gone")
    store.close()
    again = SqliteStore(tmp_path / "s.db")
    assert [e.value for e in again.list_entries("pods")] == [b"x@2".replace(b"x@2", b"z@4")]
    changes = again.read_changes("pods", BEGINNING)
    assert [(c.revision, c.type.value, c.previous) for c in changes] == [
        (2, "ADDED", None),
        (3, "ADDED", None),
        (4, "MODIFIED", b"x@2"),
        (5, "DELETED", b"y@3"),
    ]
    put(again, B, "new")
    assert again.revision == 6
    again.close()


def test_a_compacted_file_comes_back_without_what_was_deleted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    put(store, A, "x")
    put(store, B, "y")
    store.delete(B, lambda revision: b"gone")
    put(store, A, "z")
    assert store.wait_durable(5, 10)
    store.compact(4)
    put(store, A, "last")
    store.close()
    again = SqliteStore(tmp_path / "s.db")
    assert [e.value for e in again.list_entries("pods")] == [b"last@6"]
    assert [c.previous for c in again.read_changes("pods", 4)] == [b"x@2", b"z@5"]
    with pytest.raises(CompactedError):
        again.read_changes("pods", 3)
    again.close()


def test_everything_compacted_keeps_the_counter(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    put(store, A, "x")
    store.delete(A, lambda revision: b"gone")
    assert store.wait_durable(3, 10)
    store.compact(3)
    store.close()
    again = SqliteStore(tmp_path / "s.db")
    assert (again.revision, again.list_entries("pods")) == (3, [])
    again.close()


def test_no_change_is_shown_before_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    append = LogFile.append

    def look_first(self: LogFile, changes: object, until: object) -> None:
        shown.append(len(store.read_changes("pods", BEGINNING)))
        append(self, changes, until)  # type: ignore[arg-type]

    monkeypatch.setattr(LogFile, "append", look_first)
    store = SqliteStore(tmp_path / "s.db")
    put(store, A, "x")
    assert store.wait_durable(2, 10)
    assert (shown, len(store.read_changes("pods", BEGINNING))) == ([0], 1)
    store.close()


def test_after_a_refused_write_the_store_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: LogFile, changes: object, until: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(LogFile, "append", refuse)
    store = SqliteStore(tmp_path / "s.db")
    put(store, A, "x")
    with pytest.raises(StoreFailedError, match="disk is full"):
        store.wait_durable(2, 10)
    with pytest.raises(StoreFailedError):
        put(store, B, "y")
    assert store.read_changes("pods", BEGINNING) == []
    store.close()


def test_a_file_that_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(b"not a database, but long enough to be one" * 50)
    with pytest.raises(InputError, match="cannot be opened as a store"):
        SqliteStore(path)


def test_a_gap_in_the_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    for text in "xyz":
        put(store, A, text)
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM log WHERE revision = 3")
    with pytest.raises(InputError, match="revisions 3 to 3 are missing"):
        SqliteStore(path)


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "s.db").close()
    assert (tmp_path / "s.db").stat().st_mode & 0o777 == 0o600


_WRITER = """
import sys
from pathlib import Path
from apportion.store import Key, SqliteStore
store = SqliteStore(Path(sys.argv[1]))
while True:
    for i in range(5):
        store.put(Key("pods", "n", str(store.revision % 7)), lambda revision: str(revision).encode())
    store.wait_durable(store.revision, 10)
    print(store.revision, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("acknowledged_min", [20, 300])
def test_kill_9_loses_nothing_acknowledged(tmp_path: Path, acknowledged_min: int) -> None:
    path = tmp_path / "s.db"
    process = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    acknowledged = 0
    while acknowledged < acknowledged_min:
        acknowledged = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    rest = process.stdout.read().split("\n")
    process.wait()
    acknowledged = max([acknowledged, *(int(line) for line in rest if line.isdigit())])
    store = SqliteStore(path)
    changes = store.read_changes("pods", BEGINNING)
    assert store.revision >= acknowledged
    assert [c.revision for c in changes] == list(range(2, store.revision + 1))
    assert all(c.value == str(c.revision).encode() for c in changes)
    store.close()

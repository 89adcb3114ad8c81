"""What only the store on disk promises: it survives."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from apportion.base import InputError
from apportion.store import BEGINNING, Change, CompactedError, Key, SqliteStore, StoreFailedError
from apportion.store.log_file import LogFile

A, B, C = (Key("pods", "n", name) for name in "abc")
BIG = "x" * 100_000


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


class Disk:
    """Lets the database grow, or not: SQLite itself then says that the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        append = LogFile.append

        def limited(log_file: LogFile, changes: Sequence[Change], until: int | None) -> None:
            pages = log_file._db.execute("PRAGMA page_count").fetchone()[0] if self.is_full else 1 << 30
            log_file._db.execute(f"PRAGMA max_page_count={pages}")
            append(log_file, changes, until)

        monkeypatch.setattr(LogFile, "append", limited)


def wait_until_refused(store: SqliteStore) -> None:
    with pytest.raises(StoreFailedError, match="disk is full"):
        store.wait_durable(store.revision, 10)


def test_what_a_full_disk_refuses_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    store = SqliteStore(tmp_path / "s.db", retry_after_s=0.0)
    put(store, A, "x")
    put(store, B, "y")
    assert store.wait_durable(3, 10)
    disk.is_full = True
    put(store, A, BIG)
    store.delete(B, lambda revision: b"gone")
    put(store, C, "new")
    wait_until_refused(store)
    assert store.recover() == 1
    assert (store.revision, [e.value for e in store.list_entries("pods")]) == (3, [b"x@2", b"y@3"])
    assert [c.revision for c in store.read_changes("pods", BEGINNING)] == [2, 3]
    why = f"the data directory {tmp_path} cannot be written: database or disk is full"
    assert [store.find_loss(r, 0) for r in (3, 4, 6)] == [None, why, why]
    assert store.find_loss(4, 1) is None
    store.close()


def test_writing_goes_on_when_the_disk_has_room_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    store = SqliteStore(tmp_path / "s.db", retry_after_s=0.0)
    for round_number in range(1, 6):
        disk.is_full = True
        before = store.revision
        put(store, A, BIG)
        wait_until_refused(store)
        assert store.recover() == round_number
        assert store.revision == before
        disk.is_full = False
        put(store, A, BIG)
        put(store, B, f"after {round_number}")
        assert store.wait_durable(store.revision, 10)
    expected = [e.value for e in store.list_entries("pods")]
    revision = store.revision
    store.close()
    again = SqliteStore(tmp_path / "s.db")
    assert (again.revision, [e.value for e in again.list_entries("pods")]) == (revision, expected)
    again.close()


def test_while_the_disk_is_full_commits_are_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    store = SqliteStore(tmp_path / "s.db", retry_after_s=60.0)
    disk.is_full = True
    put(store, A, BIG)
    wait_until_refused(store)
    with pytest.raises(StoreFailedError, match=re.escape(f"{tmp_path} cannot be written: database or disk is full")):
        put(store, B, "y")
    assert (store.revision, store.list_entries("pods")) == (BEGINNING, [])
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

"""The thread that writes: whatever came in while the last group was synced becomes the next group."""

import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Final, NamedTuple

from apportion.store.contract import Change
from apportion.store.log_file import LogFile

_GROUP_MAX: Final = 4096
_PENDING_MAX: Final = 65536  # beyond this, whoever commits waits for the disk


class Compaction(NamedTuple):
    """An order to forget the changes up to a revision."""

    until: int


class _Resumption:
    """An order to write again: what comes behind it does not build on what was dropped."""


class GroupWriter:
    """Writes changes in the order in which they come, in as few transactions as the disk allows.

    When a group fails, it and all that is behind it is dropped, since a gap in the log would be worse, until
    ``resume`` is called. ``failure`` says what went wrong in the meantime. Both callbacks run in the writer's thread.
    """

    def __init__(self, log_file: LogFile, on_durable: Callable[[int], None], on_failure: Callable[[], None]) -> None:
        self.failure: str | None = None
        self._is_dropping = False  # belongs to the writer's thread
        self._log_file = log_file
        self._on_durable = on_durable
        self._on_failure = on_failure
        self._pending: queue.Queue[Change | Compaction | _Resumption | None] = queue.Queue(_PENDING_MAX)
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def append(self, item: Change | Compaction) -> None:
        """Hand over a change; waits only when the disk is far behind."""
        self._pending.put(item)

    def resume(self) -> None:
        """Write again, from the next change that is handed over."""
        self.failure = None
        self._pending.put(_Resumption())

    def close(self) -> None:
        """Write what is pending and end the thread."""
        if self._thread.is_alive():
            self._pending.put(None)
            self._thread.join()
            self._log_file.close()

    def _run(self) -> None:
        closing = False
        while not closing:
            changes, compact_until, closing = self._take_group()
            if changes or compact_until is not None:
                self._write(changes, compact_until)

    def _take_group(self) -> tuple[list[Change], int | None, bool]:
        """Wait for one item, then take all that are there."""
        changes: list[Change] = []
        compact_until: int | None = None
        item = self._pending.get()
        while item is not None:
            if isinstance(item, _Resumption):
                self._is_dropping = False
            elif not self._is_dropping:
                if isinstance(item, Compaction):
                    compact_until = item.until
                else:
                    changes.append(item)
            if len(changes) >= _GROUP_MAX or self._pending.empty():
                return changes, compact_until, False
            item = self._pending.get()
        return changes, compact_until, True

    def _write(self, changes: list[Change], compact_until: int | None) -> None:
        try:
            self._log_file.append(changes, compact_until)
        except sqlite3.Error as error:
            self._is_dropping = True
            self.failure = str(error)
            self._on_failure()
            return
        if changes:
            self._on_durable(changes[-1].revision)

"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere; always on standard error."""

import sys
import time
from types import TracebackType
from typing import Any, Final

_LINE_EVERY_S: Final = 5.0
_SHOW_AFTER_S: Final = 1.0


class Progress:
    """Counts steps of ``total``. Work that ends within a second shows nothing."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._start_s = time.monotonic()
        self._line_s = self._start_s
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` steps are behind us."""
        now_s = time.monotonic()
        if now_s - self._start_s < _SHOW_AFTER_S:
            return
        if sys.stderr.isatty():
            self._draw(done, total)
        elif now_s - self._line_s >= _LINE_EVERY_S:
            self._line_s = now_s
            print(f"{self._label}: {done} of {total}", file=sys.stderr, flush=True)

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._label, total=total)
            self._bar.start()
        self._bar.update(self._task, completed=done, total=total)

"""Keeps a picture of one resource: list, then watch from there, and again whatever happens.

Behaviour: client-go's reflector (tools/cache/reflector.go): pages of 500, watches of 5 to 10 minutes with bookmarks,
0.8 s to 30 s between attempts. Unlike there, a list that is older than what was seen is refused at first.

::

    listing ──all pages──▶ watching ──cut, timeout, error──▶ (wait) ──▶ watching, from the version seen last
       ▲                      │
       └──────(wait)──────────┴── 410, version unknown, or twice a line that means nothing
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from apportion.base import Clock, InputError, Rng
from apportion.client.backoff import Backoff, Timers
from apportion.client.frames import GONE, Page, is_newer, needs_list, read_event, read_page
from apportion.client.picture import Picture
from apportion.client.source import Reply, Source, Stop

PAGE_OBJECTS: Final = 500
WATCH_S_MIN: Final = 300  # a watch may last up to twice this
SILENCE_S: Final = 15.0  # how long after its end a watch may go on before it counts as dead
HEALTHY_S: Final = 30.0  # a watch that lasted this long was no failure
OLD_LISTS_MAX: Final = 3
_OK: Final = 200
_NOT_SERVED: Final = 404
_log = logging.getLogger(__name__)


class Reflector:
    """Tells ``sink`` what there is of a resource, then every change once and in order; ``on_synced`` in between.

    Deletions that no event told come with name, namespace, uid and version alone. Nothing is told inside ``start``.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        timers: Timers,
        clock: Clock,
        rng: Rng,
        sink: Callable[[bytes], None],
        on_synced: Callable[[], None],
        backoff: Backoff | None = None,
    ) -> None:
        """``name`` is for the log."""
        self.has_synced = False
        self._name = name
        self._source = source
        self._timers = timers
        self._clock = clock
        self._rng = rng
        self._sink = sink
        self._on_synced = on_synced
        self._backoff = backoff or Backoff(rng.fork("backoff"))
        self._picture = Picture()
        self._stop: Stop = _nothing
        self._run = 0  # rises with every attempt: what an earlier one still says is not listened to
        self._limit = PAGE_OBJECTS
        self._old_lists = 0
        self._opened_s = 0.0
        self._dead_s: float | None = None  # when the watch that is open counts as dead
        self._has_alarm = False
        self._has_moved = False  # whether this watch has told anything new

    @property
    def version(self) -> str:
        """The version up to which everything was told, "" before the first list."""
        return self._picture.version

    def start(self) -> None:
        """Begin."""
        self._list(self._run)

    def close(self) -> None:
        """Tell nothing any more."""
        self._end_run()

    def _end_run(self) -> None:
        self._run += 1
        self._dead_s = None
        stop, self._stop = self._stop, _nothing
        stop()

    def _tell(self, frames: list[bytes]) -> bool:
        """Tell; False when whoever listens has closed everything meanwhile."""
        run = self._run
        for frame in frames:
            self._sink(frame)
            if run != self._run:
                return False
        return True

    def _sync(self) -> None:
        if not self.has_synced:
            self.has_synced = True
            self._on_synced()

    # ---- list ---------------------------------------------------------------------------------------------

    def _list(self, run: int) -> None:
        if run == self._run:
            self._picture.begin_list()
            self._ask("")

    def _ask(self, token: str) -> None:
        self._stop = self._source.list_page(self._limit, token, partial(self._on_page, self._run))

    def _on_page(self, run: int, reply: Reply) -> None:
        if run != self._run:
            return
        if reply.code != _OK:
            self._on_list_failure(reply)
            return
        try:
            page = read_page(reply.body)
        except InputError as error:
            self._list_again(str(error))
            return
        if self._is_old(page):
            self._list_again(f"it is of version {page.version}, and {self.version} was seen already")
        elif self._tell(self._picture.take_page(page, at_once=not self.has_synced)):
            if page.token:
                self._ask(page.token)
            elif self._tell(self._picture.end_list(page.version)):
                self._limit, self._old_lists = PAGE_OBJECTS, 0
                self._sync()
                self._watch(self._run)

    def _is_old(self, page: Page) -> bool:
        """Return whether to refuse a list. A server that insists has lost data, and what is left counts."""
        if not self.version or page.version == self.version or is_newer(page.version, self.version):
            return False
        self._old_lists += 1
        return self._old_lists <= OLD_LISTS_MAX

    def _on_list_failure(self, reply: Reply) -> None:
        if reply.code == GONE:
            self._limit = 0  # the pages took too long: all in one go, as client-go's pager does
        elif reply.code == _NOT_SERVED and not len(self._picture):
            self._sync()  # a resource that is not served has no objects; it may be served one day
        self._list_again(f"{reply.code} {reply.message}", reply.retry_after_s)

    def _list_again(self, why: str, retry_after_s: float = 0.0) -> None:
        delay_s = max(self._backoff.next_s(), retry_after_s)
        _log.warning("list of %s failed: %s; again in %.1f s", self._name, why, delay_s)
        self._end_run()
        self._timers.call_later(delay_s, partial(self._list, self._run))

    # ---- watch --------------------------------------------------------------------------------------------

    def _watch(self, run: int) -> None:
        if run != self._run:
            return
        self._end_run()
        self._has_moved = False
        self._opened_s = self._clock.now()
        timeout_s = WATCH_S_MIN + self._rng.below(WATCH_S_MIN)
        run = self._run
        self._stop = self._source.open_watch(
            self.version, timeout_s, partial(self._on_line, run), partial(self._on_end, run)
        )
        self._dead_s = self._opened_s + timeout_s + SILENCE_S
        self._set_alarm(self._dead_s - self._opened_s)

    def _on_line(self, run: int, line: bytes) -> None:
        if run != self._run:
            return
        try:
            event = read_event(line)
        except InputError as error:
            # once it may be the way here; if it is the first thing that comes, asking again would bring it again
            self._watch_again(str(error), anew=not self._has_moved)
            return
        if event.type == "ERROR":
            self._on_end(run, Reply(event.code, message=event.message))
            return
        before = self.version
        frames = self._picture.take_event(event, line)
        self._has_moved = self._has_moved or self.version != before
        self._tell(frames)

    def _on_end(self, run: int, reply: Reply) -> None:
        if run == self._run:
            why = "ended" if reply.code == _OK else f"{reply.code} {reply.message}"
            self._watch_again(why, needs_list(reply.code, reply.message), reply.retry_after_s)

    def _set_alarm(self, delay_s: float) -> None:
        """Look later whether the watch is dead; one alarm is enough, however often watches are cut."""
        if not self._has_alarm:
            self._has_alarm = True
            self._timers.call_later(delay_s, self._on_alarm)

    def _on_alarm(self) -> None:
        self._has_alarm = False
        if self._dead_s is None:
            return
        left_s = self._dead_s - self._clock.now()
        if left_s > 0:
            self._set_alarm(left_s)
        else:
            self._watch_again("it did not end when it should have", anew=False)

    def _watch_again(self, why: str, anew: bool, retry_after_s: float = 0.0) -> None:
        """Go on from the last version, or ``anew`` with a list, at once if it was more than a failure."""
        was_healthy = self._has_moved or self._clock.now() - self._opened_s >= HEALTHY_S
        if was_healthy:
            self._backoff.reset()
        delay_s = max(0.0 if was_healthy and not anew else self._backoff.next_s(), retry_after_s)
        then = "list again" if anew else "go on"
        _log.info("watch of %s from %s: %s; %s in %.1f s", self._name, self.version, why, then, delay_s)
        self._end_run()
        self._timers.call_later(delay_s, partial(self._list if anew else self._watch, self._run))


def _nothing() -> None:
    pass

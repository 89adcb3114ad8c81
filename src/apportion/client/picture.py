"""What a watch has told of one resource so far, as little of it as the next difference needs."""

from apportion.client.difference import DELETED, Stamp, list_steps
from apportion.client.frames import Event, Key, Page, is_newer, make_deletion, make_frame, retype


class Picture:
    """Which objects were told, in which version; about 0.4 KiB for each.

    ``version`` is how far it reaches: everything up to there was told.
    """

    def __init__(self) -> None:
        self.version = ""
        self._known: dict[Key, Stamp] = {}
        self._listed: dict[Key, Stamp] = {}
        self._changed: list[bytes] = []

    def __len__(self) -> int:
        return len(self._known)

    # ---- watch --------------------------------------------------------------------------------------------

    def take_event(self, event: Event, line: bytes) -> list[bytes]:
        """Return what an event means to those who know the picture; one that was seen already means nothing."""
        if not is_newer(event.stamp.version, self.version):
            return []
        self.version = event.stamp.version
        if event.type == "BOOKMARK":
            return []
        known = self._known.get(event.key)
        if event.type == DELETED:
            return self._take_deletion(event, known, line)
        self._known[event.key] = event.stamp
        steps = list_steps(known, event.stamp)
        frames = [line if steps[-1] == event.type else retype(line, steps[-1])] if steps else []
        return frames if known is None or len(steps) < 2 else [make_deletion(event.key, known), *frames]

    def _take_deletion(self, event: Event, known: Stamp | None, line: bytes) -> list[bytes]:
        if known is None:
            return []
        del self._known[event.key]
        return [line] if known.uid == event.stamp.uid else [make_deletion(event.key, known)]

    # ---- list ---------------------------------------------------------------------------------------------

    def begin_list(self) -> None:
        """Forget the parts of a list that never came to its end."""
        self._listed = {}
        self._changed = []

    def take_page(self, page: Page, at_once: bool) -> list[bytes]:
        """Take a part of a list in; returns what to tell of it.

        Without ``at_once`` that is nothing, and ``end_list`` tells all. With it the pages need not be kept, but a
        list that breaks off has been told in part: only for a picture that nobody acts on yet.
        """
        told: list[bytes] = []
        for key, stamp, raw in page.items:
            self._listed[key] = stamp
            known = self._known.get(key)
            steps = list_steps(known, stamp)
            if not steps:
                continue
            frame = make_frame(steps[-1], raw)
            if not at_once:
                self._changed.append(frame)
                continue
            if known is not None and len(steps) > 1:
                told.append(make_deletion(key, known))
            told.append(frame)
            self._known[key] = stamp
        return told

    def end_list(self, version: str) -> list[bytes]:
        """Make the list the picture; returns the difference, deletions first."""
        frames = [
            make_deletion(key, stamp)
            for key, stamp in self._known.items()
            if (now := self._listed.get(key)) is None or now.uid != stamp.uid
        ]
        frames += self._changed
        self._known, self.version = self._listed, version
        self.begin_list()
        return frames

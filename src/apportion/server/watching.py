"""Watches: a cursor over the changes of one resource, and what each change looks like through a selector.

A watch keeps no queue. It remembers the revision it told last and reads on from there; one that falls behind the
bounded history ends with a 410, like one that starts too early.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.client import list_difference
from apportion.server import errors
from apportion.server.deprecation import list_deprecations
from apportion.server.formats import Form, get_metadata_only, render_object
from apportion.server.lists import parse_revision
from apportion.server.request import Parameters, Target
from apportion.server.selectors import parse_selection
from apportion.server.tables import Printer
from apportion.store import Change, ChangeType, CompactedError, Key, Store

_FRAMES_MAX: Final = 64
_INITIAL_END: Final = {"k8s.io/initial-events-end": "true"}


class Watch:
    """One watch; ``read`` returns what is new, as frames of JSON that end with a line feed."""

    def __init__(
        self,
        store: Store,
        target: Target,
        parameters: Parameters,
        form: Form,
        printer: Printer,
        frames: dict[int, bytes] | None = None,
    ) -> None:
        """Check the parameters; raises ApiError 400 and 422.

        ``frames`` is shared by watches that show every change of a resource in the same form: frames by revision.
        """
        self._frames = frames
        self.ended = False
        self.has_opened = False  # whether ``read`` has returned what existed at the start
        self.known: dict[Key, bytes] | None = None  # what was told last, by key; only kept when asked to
        self.wants_bookmarks = parameters.get_bool("allowWatchBookmarks")
        self.headers = list_deprecations(target.resource)
        self._losses = store.recover()
        self._store = store
        self._target = target
        self._form = form
        self._printer = printer
        self._columns_sent = False
        self._selection = parse_selection(
            parameters.get("labelSelector"), parameters.get("fieldSelector"), target.resource
        )
        self._name = target.name
        sends_initial = _check_initial_events(parameters)
        wanted = parse_revision(parameters.get("resourceVersion"))
        self._initial: list[bytes] = []
        self._told = wanted
        if not wanted or sends_initial:
            self._told = store.revision
            self._start_with_entries(mark_end=sends_initial and self.wants_bookmarks)
        self._must_reach = self._told

    @property
    def told(self) -> int:
        """The revision up to which everything was delivered."""
        return self._told

    @property
    def is_from_the_future(self) -> bool:
        """Whether the watch starts at a revision that does not exist yet, perhaps of another store."""
        return self._must_reach > self._store.revision

    def read(self) -> list[bytes]:
        """Return the frames since the last call; after an error frame ``ended`` is set."""
        if self.ended:
            return []
        if not self.has_opened and self._store.find_loss(self._told, self._losses) is not None:
            return [self.end(errors.expired("what this watch opens with was not kept: list again"))]
        frames, self._initial = self._initial, []
        durable = self._store.durable_revision
        if frames and self._told > durable:  # the list that opens the watch may tell only what a crash keeps
            self._initial = frames
            return []
        self.has_opened = True
        try:
            changes = self._store.read_changes(self._target.resource.storage, self._told)
        except CompactedError as error:
            return [*frames, self.end(errors.expired(str(error)))]
        for change in changes:
            frame = self._frame_change(change)
            if frame is not None:
                frames.append(frame)
        if self.known is not None:
            self._remember(self.known, changes)
        if not self.is_from_the_future:
            self._told = max(self._told, changes[-1].revision if changes else 0, durable)
        return frames

    def skip_to(self, revision: int) -> None:
        """Take note that nothing happened up to a revision, so that the history before it is not needed."""
        if self.has_opened:
            self._told = max(self._told, revision)

    def remember(self, before: Mapping[Key, bytes] | None = None) -> None:
        """Keep what is told, for a watch that may have to take over; only without selectors, and before reading.

        With ``before``, what another watch told last, this one opens with the difference to that.
        """
        entries = self._store.list_entries(self._target.resource.storage, self._target.namespace)
        self.known = {e.key: e.value for e in entries}
        if before is not None:
            self._initial = [_frame(t, self._render(raw)) for t, raw in list_difference(before, self.known)]

    def end(self, error: errors.ApiError) -> bytes:
        """End the watch; returns the frame that says why."""
        self.ended = True
        return _frame("ERROR", errors.encode_status(error))

    def bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        """Return a frame that says up to where everything was delivered."""
        resource = self._target.resource
        metadata: Tree = {"resourceVersion": str(self._told)}
        if annotations:
            metadata["annotations"] = annotations
        if self._form is Form.METADATA:
            return _frame("BOOKMARK", orjson.dumps(get_metadata_only({"metadata": metadata})))
        if self._form is Form.TABLE:
            return _frame(
                "BOOKMARK", orjson.dumps(self._printer.print_table(resource, [], metadata, with_columns=False))
            )
        tree = {"kind": resource.kind.name, "apiVersion": resource.api_version, "metadata": metadata}
        return _frame("BOOKMARK", orjson.dumps(tree))

    def _remember(self, known: dict[Key, bytes], changes: Sequence[Change]) -> None:
        for change in changes:
            if change.type is ChangeType.DELETED:
                known.pop(change.key, None)
            else:
                known[change.key] = change.value

    def _start_with_entries(self, mark_end: bool) -> None:
        for entry in self._store.list_entries(self._target.resource.storage, self._target.namespace):
            if self._is_selected(entry.key.name, entry.value):
                self._initial.append(_frame("ADDED", self._render(entry.value)))
        if mark_end:
            self._initial.append(self.bookmark(_INITIAL_END))

    def _frame_change(self, change: Change) -> bytes | None:
        if self._target.namespace and change.key.namespace != self._target.namespace:
            return None
        if self._selection.is_everything and not self._name:
            return self._frame_plainly(change)
        is_in = change.type is not ChangeType.DELETED and self._is_selected(change.key.name, change.value)
        was_in = change.previous is not None and self._is_selected(change.key.name, change.previous)
        if is_in:
            return _frame("MODIFIED" if was_in else "ADDED", self._render(change.value))
        if not was_in:
            return None
        if change.type is ChangeType.DELETED:
            return _frame("DELETED", self._render(change.value))
        assert change.previous is not None
        return _frame("DELETED", self._render(_at_revision(change.previous, change.revision)))

    def _frame_plainly(self, change: Change) -> bytes:
        frames = self._frames
        if frames is None:
            return _frame(change.type.value, self._render(change.value))
        frame = frames.get(change.revision)
        if frame is None:
            frame = frames[change.revision] = _frame(change.type.value, self._render(change.value))
            if len(frames) > _FRAMES_MAX:
                del frames[next(iter(frames))]
        return frame

    def _is_selected(self, name: str, raw: bytes) -> bool:
        if self._name and name != self._name:
            return False
        return self._selection.is_everything or self._selection.matches(orjson.loads(raw))

    def _render(self, raw: bytes) -> bytes:
        if self._form is not Form.TABLE:
            return render_object(raw, self._target.resource, self._form, self._printer)
        tree = orjson.loads(raw)
        metadata = {"resourceVersion": tree["metadata"]["resourceVersion"]}
        first, self._columns_sent = not self._columns_sent, True
        return orjson.dumps(self._printer.print_table(self._target.resource, [tree], metadata, first))


def _check_initial_events(parameters: Parameters) -> bool:
    """Return whether the watch opens with what exists; raises ApiError 422."""
    match, asked = parameters.get("resourceVersionMatch"), parameters.get("sendInitialEvents")
    why = ""
    if asked and match != "NotOlderThan":
        why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    elif match and not asked:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
    if why:
        problem = ValidationError("resourceVersionMatch", f"Forbidden: {why}")
        raise errors.invalid("meta.k8s.io", "ListOptions", "", [problem])
    return parameters.get_bool("sendInitialEvents")


def _at_revision(raw: bytes, revision: int) -> bytes:
    """Return an object's former state under the version at which it left the selection."""
    tree = orjson.loads(raw)
    return orjson.dumps({**tree, "metadata": {**tree["metadata"], "resourceVersion": str(revision)}})


def _frame(change: str, body: bytes) -> bytes:
    return b'{"type":"' + change.encode() + b'","object":' + body + b"}\n"

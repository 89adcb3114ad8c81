"""The pods that are being tried, and what has happened meanwhile."""

from collections import Counter, OrderedDict, deque
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from apportion.sched.queue.entity import QueuedEntity
from apportion.sched.queue.events import ClusterEvent

EntityT = TypeVar("EntityT", bound=QueuedEntity)

# One pod that waits long on Permit holds back all later events, so their number is limited.
MAX_EVENTS: Final = 100_000


class RecordedEvent(NamedTuple):
    """An event as the handlers reported it. A ``target_uid`` limits it to one pod."""

    event: ClusterEvent
    old: object
    new: object
    target_uid: str


class InFlightList(Generic[EntityT]):
    """One list for all pods in flight: each pod is a mark in the sequence of events.

    An event is kept once, however many pods are in flight; those of a pod are the ones after its mark.
    Marks are numbers that count all events ever recorded, so leaving takes no search, and events are
    dropped from the head only, up to the oldest mark.

    Behaviour: backend/queue/active_queue.go, except that the list is bounded. A pod whose events had to be
    dropped is told so.
    """

    __slots__ = ("_events", "_first", "_max_events", "_pods")

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        # Ordered by mark. The oldest is asked for at each prune, which a plain dict answers slowly after
        # deletions.
        self._pods: OrderedDict[str, EntityT] = OrderedDict()
        self._events: deque[RecordedEvent] = deque()
        self._first = 0  # the number of the first event kept
        self._max_events = max_events

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    @property
    def events(self) -> list[RecordedEvent]:
        """All events kept, oldest first."""
        return list(self._events)

    @property
    def entities(self) -> list[EntityT]:
        """Everything in flight, in the order in which it was popped."""
        return list(self._pods.values())

    def enter(self, entity: EntityT) -> None:
        """Set a mark for an entity that was popped."""
        entity.marker = self._first + len(self._events)
        self._pods[entity.uid] = entity

    def leave(self, uid: str) -> None:
        """Remove a mark and the events that no other mark needs. An unknown uid changes nothing."""
        entity = self._pods.pop(uid, None)
        if entity is not None and self._events and entity.marker <= self._first:
            self._prune()

    def record(self, event: ClusterEvent, old: object, new: object, target_uid: str = "") -> None:
        """Append an event for all that are in flight; dropped when nothing is."""
        if not self._pods:
            return
        self._events.append(RecordedEvent(event, old, new, target_uid))
        if len(self._events) > self._max_events:
            self._events.popleft()
            self._first += 1

    def find_events(self, entity: EntityT) -> list[RecordedEvent] | None:
        """Return what happened since the entity was popped, or None when that is not known (any more)."""
        skipped = entity.marker - self._first
        if entity.uid not in self._pods or skipped < 0:
            return None
        since = islice(self._events, skipped, None)
        return [recorded for recorded in since if recorded.target_uid in ("", entity.uid)]

    def count_by_label(self) -> dict[str, int]:
        """Return the elements by label; marks count as ``PodPopped`` (metric ``inflight_events``)."""
        counts = Counter(recorded.event.label for recorded in self._events)
        if self._pods:
            counts["PodPopped"] += len(self._pods)
        return dict(sorted(counts.items()))

    def _prune(self) -> None:
        end = self._first + len(self._events)
        keep_from = next(iter(self._pods.values())).marker if self._pods else end
        while self._first < keep_from:
            self._events.popleft()
            self._first += 1

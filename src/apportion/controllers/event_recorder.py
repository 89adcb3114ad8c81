"""Events about what controllers own, in the form of the core group that kube-controller-manager writes.

Behaviour: client-go/tools/record: the same event again raises a counter instead of making another object; from ten
similar ones on they are combined; and an object that causes very many is heard of only now and then.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

import orjson

from apportion.base import Clock, Rng
from apportion.client import MERGE_PATCH, Request, Response
from apportion.controllers.steps import Steps
from apportion.controllers.times import format_time
from apportion.controllers.workload_objects import Workload

EVENTS: Final = "events"
MESSAGE_MAX: Final = 1024
KNOWN_MAX: Final = 4096  # entries of each table below; the oldest goes first
SIMILAR_MAX: Final = 10
SIMILAR_S: Final = 600.0
BURST: Final = 25.0  # events about one object at once, and then
REFILL_PER_S: Final = 1 / 300
_ATTEMPTS_MAX: Final = 3
_Identity = tuple[str, ...]  # uid, type, reason and, unless they are combined, message
K = TypeVar("K")
V = TypeVar("V")


class Subject(NamedTuple):
    """What an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str


def subject_of(owner: Workload) -> Subject:
    """Return what stands for a workload in events."""
    tree, meta = owner.tree, owner.metadata
    return Subject(tree["apiVersion"], tree["kind"], owner.namespace, owner.name, owner.uid, meta.resource_version)


@dataclass(slots=True)
class _Similar:
    """Events that differ in the message alone."""

    last_s: float
    messages: set[str] = field(default_factory=set)


class EventRecorder:
    """Records events on behalf of one component. One that cannot be recorded is lost, as upstream."""

    def __init__(self, clock: Clock, rng: Rng, component: str) -> None:
        self._clock = clock
        self._rng = rng
        self._component = component
        self._known: dict[_Identity, tuple[str, int]] = {}  # the name of the event, and how often it happened
        self._similar: dict[_Identity, _Similar] = {}
        self._budgets: dict[str, tuple[float, float]] = {}  # by uid: what is left, and as of when

    def record(self, about: Workload | Subject, kind: str, reason: str, message: str) -> Steps[None]:
        """Record an event; ``kind`` is Normal or Warning."""
        owner = about if isinstance(about, Subject) else subject_of(about)
        identity, message = self._combine((owner.uid, kind, reason), message[:MESSAGE_MAX])
        if not self._has_budget(owner.uid):
            return
        known = self._known.pop(identity, None)
        if known is not None:
            name, count = known
            response = yield self._count(owner, name, message, count + 1)
            if response.code < 300:
                _remember(self._known, identity, (name, count + 1))
                return
        for _ in range(_ATTEMPTS_MAX):
            name = f"{owner.name}.{int(self._clock.now()) * 10**9 + self._rng.below(10**9):x}"
            created: Response = yield self._create(owner, name, kind, reason, message)
            if created.code != 409:
                break
        if created.code < 300:
            _remember(self._known, identity, (name, 1))

    def _combine(self, group: _Identity, message: str) -> tuple[_Identity, str]:
        """Return under which identity an event is counted, and its message."""
        now_s = self._clock.now()
        similar = self._similar.pop(group, None)
        if similar is None or now_s - similar.last_s > SIMILAR_S:
            similar = _Similar(now_s)
        similar.last_s = now_s
        _remember(self._similar, group, similar)
        if message in similar.messages or len(similar.messages) < SIMILAR_MAX - 1:
            similar.messages.add(message)
            return (*group, message), message
        return group, f"(combined from similar events): {message}"[:MESSAGE_MAX]

    def _has_budget(self, uid: str) -> bool:
        now_s = self._clock.now()
        left, since_s = self._budgets.pop(uid, (BURST, now_s))
        left = min(left + (now_s - since_s) * REFILL_PER_S, BURST)
        _remember(self._budgets, uid, (left - 1 if left >= 1 else left, now_s))
        return left >= 1

    def _count(self, owner: Subject, name: str, message: str, count: int) -> Request:
        body = {"count": count, "lastTimestamp": format_time(self._clock.now()), "message": message}
        return Request("patch", EVENTS, owner.namespace, name, orjson.dumps(body), content_type=MERGE_PATCH)

    def _create(self, owner: Subject, name: str, kind: str, reason: str, message: str) -> Request:
        now = format_time(self._clock.now())
        body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": owner.namespace},
            "involvedObject": {
                "apiVersion": owner.api_version,
                "kind": owner.kind,
                "namespace": owner.namespace,
                "name": owner.name,
                "uid": owner.uid,
                "resourceVersion": owner.resource_version,
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        return Request("create", EVENTS, owner.namespace, "", orjson.dumps(body))


def _remember(table: dict[K, V], key: K, value: V) -> None:
    table[key] = value
    if len(table) > KNOWN_MAX:
        del table[next(iter(table))]

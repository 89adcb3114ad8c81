"""API events about pods, as the scheduler and the controllers record them."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import orjson
from msgspec import Struct

from apportion.client.transport import Request

EVENTS: Final = "events.events.k8s.io"
# the API puts five characters after a generated name and cuts what is in front of them to this length
_PREFIX_MAX: Final = 57


class PodEvent(Struct, frozen=True):
    """What happened to which pod; ``reporter`` is the component that says so."""

    namespace: str
    name: str
    uid: str
    type: str  # Normal, Warning
    reason: str
    action: str
    note: str  # at most 1024 bytes
    reporter: str


def create_event(event: PodEvent, now: str) -> Request:
    """Return the request that records an event at ``now``, see `format_micro_time`."""
    # a pod's name may hold dots, and the dash must follow a letter or a digit
    prefix = event.name[:_PREFIX_MAX].rstrip("-.")
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": event.namespace, "generateName": f"{prefix}-"},
        "eventTime": now,
        "type": event.type,
        "reason": event.reason,
        "action": event.action,
        "note": event.note,
        "reportingController": event.reporter,
        "reportingInstance": event.reporter,
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": event.namespace,
            "name": event.name,
            "uid": event.uid,
        },
    }
    return Request("create", EVENTS, event.namespace, "", orjson.dumps(body))


def format_micro_time(now_s: float) -> str:
    """Return seconds since the epoch as a MicroTime, which wants exactly six digits after the point."""
    second, micros = divmod(round(now_s * 1e6), 1_000_000)
    return f"{_format_second(second)}.{micros:06d}Z"


@lru_cache(maxsize=64)
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")

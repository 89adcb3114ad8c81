"""The only way to the API: the transport interface and its in-memory form; ``client.http`` has the one over HTTP."""

from apportion.client.difference import list_difference
from apportion.client.events import EVENTS, format_micro_time
from apportion.client.memory import MemoryTransport
from apportion.client.tasks import Task, run_task
from apportion.client.transport import (
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    OnDone,
    OnSynced,
    Request,
    Response,
    Transport,
    WatchHandle,
    WatchSink,
    is_unknown,
)
from apportion.client.watches import Watches

__all__ = [
    "EVENTS",
    "JSON",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "MemoryTransport",
    "OnDone",
    "OnSynced",
    "Request",
    "Response",
    "Task",
    "Transport",
    "WatchHandle",
    "WatchSink",
    "Watches",
    "format_micro_time",
    "is_unknown",
    "list_difference",
    "run_task",
]

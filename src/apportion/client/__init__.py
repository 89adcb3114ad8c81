"""The only way to the API: the transport interface and its in-memory form. See README.md."""

from apportion.client.events import PodEvent, create_event, format_micro_time
from apportion.client.memory import MemoryTransport
from apportion.client.tasks import Task, run_task
from apportion.client.transport import (
    JSON,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_MERGE_PATCH,
    OnDone,
    Request,
    Response,
    Transport,
    WatchSink,
)

__all__ = [
    "JSON",
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "MemoryTransport",
    "OnDone",
    "PodEvent",
    "Request",
    "Response",
    "Task",
    "Transport",
    "WatchSink",
    "create_event",
    "format_micro_time",
    "run_task",
]

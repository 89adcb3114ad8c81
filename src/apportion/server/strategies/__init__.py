"""What is special about each kind: defaults, checks, and what the server itself decides."""

from apportion.server.strategies.defaults import complete, complete_changed
from apportion.server.strategies.device_rules import date_taints, list_warnings
from apportion.server.strategies.lifecycle import (
    count_generation,
    finish_create,
    has_generation,
    prepare_create,
    prepare_status_update,
    prepare_update,
)
from apportion.server.strategies.pod_resize import check_resize, prepare_resize
from apportion.server.strategies.rules import check_changed, check_object
from apportion.server.strategies.service_rules import has_node_ports
from apportion.server.strategies.updates import check_identity, check_update

__all__ = [
    "check_changed",
    "check_identity",
    "check_object",
    "check_resize",
    "check_update",
    "complete",
    "complete_changed",
    "count_generation",
    "date_taints",
    "finish_create",
    "has_generation",
    "has_node_ports",
    "list_warnings",
    "prepare_create",
    "prepare_resize",
    "prepare_status_update",
    "prepare_update",
]

"""What own plugins are written with. See docs/plugins.md."""

from apportion.sched.framework import (
    Code,
    Hold,
    PreFilterResult,
    RowGroups,
    Scored,
    Status,
    Wait,
    WaitingPods,
    error,
    unresolvable,
    unschedulable,
)
from apportion.sched.plugins import Handle, NodePlugin, NodeView
from apportion.sched.queue import ActionType, ClusterEvent, Hint, Registration
from apportion.sched.state import PodInfo

__all__ = [
    "ActionType",
    "ClusterEvent",
    "Code",
    "Handle",
    "Hint",
    "Hold",
    "NodePlugin",
    "NodeView",
    "PodInfo",
    "PreFilterResult",
    "Registration",
    "RowGroups",
    "Scored",
    "Status",
    "Wait",
    "WaitingPods",
    "error",
    "unresolvable",
    "unschedulable",
]

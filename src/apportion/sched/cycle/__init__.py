"""The decision: one pod at a time, events in, commands out. See README.md."""

from apportion.sched.cycle.binding import Binding
from apportion.sched.cycle.handlers import EventHandlers, node_changes, pod_changes
from apportion.sched.cycle.look import Look
from apportion.sched.cycle.scheduler import Scheduler

__all__ = ["Binding", "EventHandlers", "Look", "Scheduler", "node_changes", "pod_changes"]

"""PrioritySort: higher priority first, then the pod that has waited longer."""

from apportion.sched.plugins.handle import Handle
from apportion.sched.state import PodInfo


class PrioritySort:
    """The default order of the queue, which the queue knows by itself: it never asks for these keys."""

    name = "PrioritySort"

    def __init__(self, handle: Handle) -> None:
        pass

    def sort_key(self, pod: PodInfo, timestamp_s: float) -> tuple[int, float]:
        """Return what pods are compared by."""
        return -pod.priority, timestamp_s

"""PrioritySort: higher priority first, then the pod that has waited longer. The queue itself implements the order."""

from apportion.sched.plugins.handle import Handle


class PrioritySort:
    """The one QueueSort plugin; all profiles share it."""

    name = "PrioritySort"

    def __init__(self, handle: Handle) -> None:
        pass

"""Plugins as users write them, for the tests beside this file."""

from collections.abc import Sequence

from apportion.plugin import Code, Handle, Hold, NodePlugin, NodeView, PodInfo, Status, error, unschedulable
from apportion.sched.framework import ClearNomination, Command, CommandGenerator
from apportion.sched.queue import ActionType, ClusterEvent, Registration


class Picky(NodePlugin):
    """Takes only the node that the pod's label names, and scores by name."""

    def filter(self, pod: PodInfo, node: NodeView) -> str | None:
        wanted = pod.labels.get("node", node.name)
        return None if node.name == wanted else f"is not {wanted}"

    def score(self, pod: PodInfo, node: NodeView) -> int:
        return 100 if node.name == self.handle.args.get("best") else 0


class Crowd(NodePlugin):
    """No more than two pods on a node."""

    def filter(self, pod: PodInfo, node: NodeView) -> str | None:
        return "crowded" if len(node.pods) >= 2 else None


class Listener(NodePlugin):
    """Wants no pod until another one was written to."""

    def filter(self, pod: PodInfo, node: NodeView) -> str | None:
        return "heard nothing" if pod.labels.get("waits") else None

    def events_to_register(self) -> Sequence[Registration]:
        return [Registration(self.name, ClusterEvent("AssignedPod", ActionType.UPDATE))]


class Broken(NodePlugin):
    """Goes wrong in the way that the pod's label says."""

    def filter(self, pod: PodInfo, node: NodeView) -> str | None:
        kind = pod.labels.get("fault")
        if kind == "raise":
            raise ValueError("oh")
        return 5 if kind == "nonsense" else None  # type: ignore[return-value]

    def score(self, pod: PodInfo, node: NodeView) -> int:
        return 101 if pod.labels.get("fault") == "score" else 1


class Gatekeeper(NodePlugin):
    """Holds, rejects or fails in Permit, as the pod's label says; records what it is told of."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle)
        self.told: list[str] = []

    def reserve(self, pod: PodInfo, row: int, state: object) -> Status | None:
        self.told.append(f"reserve {pod.name}")
        return None

    def unreserve(self, pod: PodInfo, row: int, state: object) -> Sequence[Command]:
        self.told.append(f"unreserve {pod.name}")
        return ()

    def permit(self, pod: PodInfo, row: int, state: object) -> Status | Hold | None:
        wanted = pod.labels.get("permit")
        if wanted == "hold":
            return Hold(60)
        if wanted == "raise":
            raise RuntimeError("no")
        return unschedulable(self.name, "not allowed") if wanted == "reject" else None

    def pre_bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        self.told.append(f"pre_bind {pod.name}")
        if pod.labels.get("prebind") == "fail":
            return error(self.name, "cannot prepare")
        yield ClearNomination(pod.namespace, pod.name, pod.uid)
        return None

    def post_bind(self, pod: PodInfo, row: int, state: object) -> None:
        self.told.append(f"post_bind {pod.name} {self.handle.state.nodes.name(row)}")


class Passing(NodePlugin):
    """Leaves binding to the next plugin."""

    def bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        yield from ()
        return Status(Code.SKIP)


class Unfinished:
    """Lacks what PreBind needs."""

    name = "Unfinished"

    def __init__(self, handle: Handle) -> None:
        pass

    def pre_bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        yield from ()
        return None

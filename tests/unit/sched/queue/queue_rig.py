"""A pod with only what the queue reads, and a queue on a virtual clock."""

from collections.abc import Sequence
from dataclasses import dataclass

from apportion.base import VirtualClock
from apportion.sched.queue import Hint, QueueConfig, QueuedPod, Registration, SchedulingQueue

START_S = 1_000_000_000.0
PROFILE = "default-scheduler"


@dataclass(frozen=True)
class Pod:
    name: str
    priority: int = 0
    nominated_node_name: str = ""
    scheduler_name: str = PROFILE
    namespace: str = "default"
    made: int = 0  # pods of one name made one after the other have different uids

    @property
    def uid(self) -> str:
        return f"uid-{self.name}-{self.made}"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Rig:
    """``gates`` says by pod name which plugin keeps a pod out."""

    def __init__(self, *registrations: Registration, config: QueueConfig | None = None) -> None:
        self.clock = VirtualClock(START_S)
        self.gates: dict[str, str] = {}
        self.interests: dict[str, tuple[str, ...]] = {}  # by pod name
        self.kinds: dict[str, str] = {}  # by pod name
        self.queue: SchedulingQueue[Pod] = SchedulingQueue(
            self.clock,
            {PROFILE: registrations},
            self.gate,
            config or QueueConfig(),
            self.interests_of,
            kind=lambda pod: self.kinds.get(pod.name, pod.uid),
        )

    def gate(self, pod: Pod) -> tuple[str, tuple[str, ...]] | None:
        plugin = self.gates.get(pod.name)
        return (plugin, ("not yet",)) if plugin else None

    def interests_of(self, pod: Pod) -> tuple[str, ...]:
        return self.interests.get(pod.name, ())

    def pop(self) -> QueuedPod[Pod]:
        queued = self.queue.pop()
        assert queued is not None
        return queued

    def fail(self, pod: Pod, plugins: Sequence[str] = (), pending: Sequence[str] = ()) -> QueuedPod[Pod]:
        """Add a pod, which must be the next, and let its attempt fail."""
        self.queue.add(pod)
        queued = self.pop()
        assert queued.pod is pod
        self.queue.add_unschedulable(queued, plugins, pending)
        return queued

    def where(self) -> dict[str, str]:
        return {str(entry["pod"]).split("/")[1]: str(entry["where"]) for entry in self.queue.dump()}


def always(answer: Hint, asked: list[str] | None = None):  # type: ignore[no-untyped-def]
    """A hint function with one answer; the names of the pods that it was asked about go to ``asked``."""

    def hint(pod: Pod, _old: object, _new: object) -> Hint:
        if asked is not None:
            asked.append(pod.name)
        return answer

    return hint

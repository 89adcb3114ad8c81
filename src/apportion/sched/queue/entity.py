"""What the queue keeps: entities. A pod is one; a group of pods will be another."""

from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar

from apportion.sched.queue.backoff import NO_BACKOFF_S

NO_PLUGINS: Final[frozenset[str]] = frozenset()

# Where an entity stands. "" is outside: not added yet, in flight, or gone.
Place: TypeAlias = Literal["", "active", "backoff", "error backoff", "unschedulable"]


class QueueablePod(Protocol):
    """What the queue reads of a pod. ``key`` is ``namespace/name``."""

    @property
    def uid(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def scheduler_name(self) -> str: ...
    @property
    def nominated_node_name(self) -> str: ...


PodT = TypeVar("PodT", bound=QueueablePod)


class QueuedEntity:
    """The bookkeeping of something that waits to be scheduled.

    Times are seconds on the queue's clock. ``timestamp_s`` is when it was added or last failed;
    ``sequence`` orders equal timestamps. ``unschedulable_plugins`` and ``pending_plugins`` rejected the
    last attempt (or, for a gate, the last move); both empty means that it did not fail, or failed by error.
    A ``gating_plugin`` keeps it out of the active queue.
    """

    __slots__ = (
        "attempts",
        "backoff_expiry_s",
        "consecutive_errors",
        "flush_s",
        "gate_reasons",
        "gating_plugin",
        "heap_entry",
        "holders",
        "initial_attempt_s",
        "interests",
        "kin",
        "marker",
        "pending_plugins",
        "place",
        "priority",
        "scheduler_name",
        "sequence",
        "timestamp_s",
        "uid",
        "unschedulable_count",
        "unschedulable_plugins",
        "was_flushed",
    )

    def __init__(self, uid: str, priority: int, scheduler_name: str, now_s: float, sequence: int) -> None:
        self.uid = uid
        self.priority = priority
        self.scheduler_name = scheduler_name
        self.attempts = 0
        self.timestamp_s = now_s
        self.sequence = sequence
        self.initial_attempt_s: float | None = None
        self.unschedulable_count = 0
        self.consecutive_errors = 0
        self.backoff_expiry_s = NO_BACKOFF_S
        self.unschedulable_plugins = NO_PLUGINS
        self.pending_plugins = NO_PLUGINS
        self.gating_plugin = ""
        self.gate_reasons: tuple[str, ...] = ()
        self.was_flushed = False  # parked so long that it was retried without a reason
        self.flush_s = NO_BACKOFF_S
        # Owned by the structure that holds the entity.
        self.place: Place = ""
        self.heap_entry: tuple[Any, ...] | None = None
        self.holders: tuple[str, ...] = ()
        self.interests: tuple[str, ...] = ()
        self.kin: tuple[Any, ...] = ()
        self.marker = 0

    @property
    def rejectors(self) -> frozenset[str]:
        """All plugins that hold it back."""
        return self.unschedulable_plugins | self.pending_plugins

    @property
    def failures(self) -> int:
        """The count that decides the backoff: errors in a row, else all attempts in vain."""
        return self.consecutive_errors or self.unschedulable_count

    @property
    def rest_since_s(self) -> float:
        """Since when it has waited, or since it was last retried without a reason."""
        return max(self.timestamp_s, self.flush_s)

    def record_failure(self, unschedulable: frozenset[str], pending: frozenset[str]) -> None:
        """Count a failed attempt. Nothing of what an earlier one was rejected for remains."""
        self.unschedulable_plugins = unschedulable
        self.pending_plugins = pending
        if unschedulable or pending:
            self.unschedulable_count += 1
            self.consecutive_errors = 0
        else:
            self.consecutive_errors += 1
        self.was_flushed = False
        self.flush_s = NO_BACKOFF_S

    def close_gate(self, plugin: str, reasons: tuple[str, ...]) -> None:
        """Note which plugin keeps it out of the active queue."""
        if plugin not in self.rejectors:
            self.unschedulable_plugins |= {plugin}
        self.gating_plugin = plugin
        self.gate_reasons = reasons
        self.was_flushed = False

    def open_gate(self) -> None:
        """Note that no plugin keeps it out any more. Who rejected it stays on record until it is tried."""
        self.gating_plugin = ""
        self.gate_reasons = ()


class QueuedPod(QueuedEntity, Generic[PodT]):
    """One pod with its bookkeeping. While it is in flight, ``pod`` may be replaced by a newer object."""

    __slots__ = ("pod",)

    def __init__(self, pod: PodT, now_s: float, sequence: int) -> None:
        super().__init__(pod.uid, pod.priority, pod.scheduler_name, now_s, sequence)
        self.pod = pod

    def __repr__(self) -> str:
        return f"QueuedPod({self.pod.key}, {self.place or 'outside'}, attempts={self.attempts})"

"""The plugin interfaces. A plugin implements the points it takes part in; the profile finds out which.

Filter and Score plugins answer for all nodes at once, with columns (see ``columns``). Plugins that need the API do
no I/O: ``pre_bind`` is a generator that yields commands and is resumed with their outcomes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from msgspec import Struct

from apportion.sched.framework.columns import FilterColumn, ScoreColumn
from apportion.sched.framework.commands import Command
from apportion.sched.framework.diagnosis import Diagnosis
from apportion.sched.framework.probe import NodeProbe
from apportion.sched.framework.status import Status
from apportion.sched.framework.waits import CommandGenerator
from apportion.sched.queue import Registration
from apportion.sched.state import PodInfo


class PreFilterResult(Struct, frozen=True):
    """What PreFilter found out.

    ``status`` rejects the pod on every node. ``node_names`` narrows the nodes. ``column`` judges each node; None
    means that the plugin has nothing to say about this pod. ``state`` is handed to Reserve and PreBind.
    """

    status: Status | None = None
    node_names: frozenset[str] | None = None
    column: FilterColumn | None = None
    state: object = None


NOTHING_TO_FILTER = PreFilterResult()


@runtime_checkable
class Plugin(Protocol):
    """Every plugin has the name under which Kubernetes knows it."""

    name: str


@runtime_checkable
class QueueSortPlugin(Protocol):
    """Orders the pods that are ready to be tried. All profiles share one."""

    name: str

    def sort_key(self, pod: PodInfo, timestamp_s: float) -> object:
        """Return what pods are compared by, the smallest first; ``timestamp_s`` is since when the pod is queued.

        Keys are compared with ``<`` alone. Of equal ones the pod that came first goes first.
        """
        ...


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    """May keep a pod out of the active queue."""

    name: str

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Return why the pod must wait, or None."""
        ...


@runtime_checkable
class FilterPlugin(Protocol):
    """Judges nodes. Unless ``per_pod``, the answer depends on the pod's kind alone and is remembered for it.

    A ``per_pod`` plugin with an attribute ``is_about`` is asked only about pods that have "volumes", or claims for
    "devices" (resources that devices serve among them).
    """

    name: str
    per_pod: bool

    def pre_filter(self, pod: PodInfo) -> PreFilterResult:
        """Return what is known before looking at nodes, and the column that judges them."""
        ...


@runtime_checkable
class ScorePlugin(Protocol):
    """Scores nodes; ``per_pod`` as for filters."""

    name: str
    per_pod: bool

    def pre_score(self, pod: PodInfo, state: object) -> ScoreColumn | None:
        """Return the column that scores nodes for this pod; None skips the plugin.

        ``state`` is what the plugin's own ``pre_filter`` found for this pod.
        """
        ...


@runtime_checkable
class ReservePlugin(Protocol):
    """Keeps something for the pod in memory once its node is chosen."""

    name: str

    def reserve(self, pod: PodInfo, row: int, state: object) -> Status | None:
        """Keep what the pod needs on the node in ``row``; a status means that it cannot be kept."""
        ...

    def unreserve(self, pod: PodInfo, row: int, state: object) -> Sequence[Command]:
        """Give back what was kept; also called when ``reserve`` failed or never ran. Returns clean-up commands."""
        ...


@dataclass(frozen=True, slots=True)
class Hold:
    """A Permit plugin's wish to hold the pod until it is allowed, at most so many seconds (15 minutes at most)."""

    timeout_s: float


@runtime_checkable
class PermitPlugin(Protocol):
    """Has the last word on a pod that is reserved: lets it go, rejects it, or holds it."""

    name: str

    def permit(self, pod: PodInfo, row: int, state: object) -> Status | Hold | None:
        """Return None to let the pod go, a status to reject it, ``Hold`` to have it wait for ``WaitingPod.allow``."""
        ...


@runtime_checkable
class PreBindPlugin(Protocol):
    """Writes what must be in the API before the pod is bound.

    Neighbours that ``allows_parallel_pre_bind`` run at the same time.
    """

    name: str
    allows_parallel_pre_bind: bool

    def pre_bind_pre_flight(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether there is anything to do for this pod."""
        ...

    def waits_in_pre_bind(self, pod: PodInfo, row: int, state: object) -> bool:
        """Return whether it may take long for this pod, so that the node it is expected on is written down first."""
        ...

    def pre_bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        """Yield commands and waits, one at a time; return a status when the pod cannot be bound.

        A wait that is answered with a status is over: the pod is needed no more where it is.
        """
        ...


@runtime_checkable
class BindPlugin(Protocol):
    """Binds pods, or leaves that to the next plugin."""

    name: str

    def bind(self, pod: PodInfo, row: int, state: object) -> CommandGenerator:
        """Yield commands; return None when the pod is bound, Skip when the next plugin shall do it."""
        ...


@runtime_checkable
class PostBindPlugin(Protocol):
    """Is told of pods that were bound."""

    name: str

    def post_bind(self, pod: PodInfo, row: int, state: object) -> None:
        """Take note."""
        ...


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What PostFilter achieved.

    ``nominated_node_name`` is the node that the pod shall get, "" to clear an earlier nomination, None to leave it.
    ``victims`` are the pods that have to go, ``commands`` what else has to be done; with commands no other plugin is
    asked, since what they free may be enough.
    """

    status: Status
    nominated_node_name: str | None = None
    victims: tuple[PodInfo, ...] = ()
    commands: tuple[Command, ...] = ()


@runtime_checkable
class PostFilterPlugin(Protocol):
    """Tries to make room after no node was found."""

    name: str

    def post_filter(self, pod: PodInfo, diagnosis: Diagnosis, probe: NodeProbe) -> PostFilterResult:
        """Return what can be done for ``pod``; changes nothing by itself."""
        ...


@runtime_checkable
class InterestsPlugin(Protocol):
    """Names what a pod waits for, so that an event that names something wakes only who is interested in it."""

    def interests(self, pod: PodInfo) -> tuple[str, ...]:
        """Return the interests of a pod that this plugin knows of, each once; see ``Registration.narrow``."""
        ...


@runtime_checkable
class EventsPlugin(Protocol):
    """Tells which events may make a pod schedulable that this plugin rejected."""

    name: str

    def events_to_register(self) -> Sequence[Registration]:
        """Return events and hints; an empty list means that no event helps."""
        ...


class PluginFaultError(Exception):
    """A plugin raised; the text names it."""


def name_fault(plugin: Plugin, fault: Exception) -> PluginFaultError:
    """Return what stands for a plugin's fault."""
    return PluginFaultError(f"plugin {plugin.name} failed: {type(fault).__name__}: {fault}")


@contextmanager
def naming(plugin: Plugin) -> Iterator[None]:
    """Name the plugin in whatever it raises."""
    try:
        yield
    except Exception as fault:
        raise name_fault(plugin, fault) from fault

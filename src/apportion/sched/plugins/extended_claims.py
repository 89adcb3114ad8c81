"""The claim that stands for a pod's extended resources where devices serve them.

Which of the resources that are depends on the node: what a device plugin offers there is left to NodeResourcesFit.
Behaviour: KEP-5004 and plugins/dynamicresources/extendeddynamicresources.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from apportion.alloc import Allocator, ClaimInput, Problem
from apportion.api.extended_resources import Mapping, list_requests
from apportion.api.resource import AllocationResult, ResourceClaimSpec
from apportion.sched.framework import Status, unresolvable
from apportion.sched.state import ClaimInfo, ClusterState, PodInfo, PodTemplate

IN_MEMORY_NAME: Final = "<extended-resources>"
_TEMPLATES_MAX: Final = 2048


@dataclass(frozen=True, slots=True)
class Variant:
    """The claim's content for the nodes where devices have to serve the same resources."""

    spec: ResourceClaimSpec
    spec_id: int
    mappings: tuple[Mapping, ...]


class ExtendedRequest:
    """What pods of one template need of devices; shared by all of them while no class changes."""

    def __init__(self, state: ClusterState, template: PodTemplate, served: Sequence[str]) -> None:
        self._state = state
        self._template = template
        self._classes = {name: state.devices.classes.find_for_resource(name) for name in served}
        nodes = state.nodes
        self._resources = [(name, nodes.resource_id(name)) for name in template.extended_resources]
        self._variants: dict[tuple[str, ...], Variant] = {}

    def find_variant(self, row: int) -> Variant | None:
        """Return what devices have to serve on a node, None for nothing."""
        allocatable = self._state.nodes.allocatable
        names = tuple([n for n, i in self._resources if n in self._classes and not allocatable[i, row]])
        if not names:
            return None
        found = self._variants.get(names)
        if found is None:
            found = self._variants[names] = self._build(names)
        return found

    def find_refusal(self, row: int, plugin: str) -> Status | None:
        """Return why a node will not do whatever its devices: it does not know a resource that no class serves."""
        view = self._state.nodes.views[row]
        listed = (view.status.allocatable or view.status.capacity) if view is not None else {}
        unknown = any(n not in self._classes and n not in listed for n, _ in self._resources)
        return unresolvable(plugin, "cannot fit resource") if unknown else None

    def _build(self, names: tuple[str, ...]) -> Variant:
        served = [(n, c.metadata.name) for n in names if (c := self._classes[n]) is not None]
        found = list_requests(self._template.spec, served)
        return Variant(found.spec, self._state.claims.intern_spec(found.spec), found.mappings)


@dataclass(slots=True)
class ExtendedClaim:
    """The claim of one pod in one attempt: in memory from Reserve until PreBind makes it.

    ``uid`` stands for it until then.
    """

    uid: str = ""
    variant: Variant | None = None  # chosen with the node
    allocation: AllocationResult | None = None
    created: ClaimInfo | None = None


class ExtendedRequests:
    """Finds out what pods need of devices; reads each template once."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._known: dict[int, tuple[int, ExtendedRequest]] = {}

    def find(self, pod: PodInfo) -> ExtendedRequest | None:
        """Return what the pod needs, None when no class serves any of its resources."""
        template = pod.kind.template
        if not template.extended_resources:
            return None
        served = self._state.list_device_resources(pod)
        if not served:
            return None
        version = self._state.devices.classes.version
        known = self._known.get(template.id)
        if known is None or known[0] != version:
            if len(self._known) >= _TEMPLATES_MAX:
                self._known.clear()
            known = self._known[template.id] = (version, ExtendedRequest(self._state, template, served))
        return known[1]


class ExtendedProblems:
    """The claims of one pod to be allocated together, node by node: its own and the one in memory."""

    __slots__ = ("_allocator", "_claims", "_namespace", "request", "shared")

    def __init__(
        self, allocator: Allocator, claims: Sequence[ClaimInput], namespace: str, request: ExtendedRequest
    ) -> None:
        self._allocator = allocator
        self._claims = tuple(claims)
        self._namespace = namespace
        self.request = request
        self.shared = allocator.prepare(self._claims) if claims else None

    def at(self, row: int) -> Problem | None:
        """Return the problem for a node; None when nothing is to be allocated there."""
        variant = self.request.find_variant(row)
        if variant is None:
            return self.shared
        extended = ClaimInput("", self._namespace, IN_MEMORY_NAME, variant.spec, variant.spec_id)
        return self._allocator.prepare([*self._claims, extended])

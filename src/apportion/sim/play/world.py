"""The control plane in virtual time, and a client's view of it."""

import math
from typing import Any, Final

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.api.kinds import split_api_version
from apportion.base import InputError, Rng, VirtualClock
from apportion.cel import check_expressions
from apportion.sched.framework.config import SchedulerConfig
from apportion.server import (
    RESOURCES,
    ApiError,
    ApiRequest,
    ApiResponse,
    InProcessTransport,
    Resource,
    Server,
    get_resource,
)
from apportion.sim.control_plane import ControlPlane
from apportion.sim.play.faults import Faults, FaultyTransport
from apportion.sim.play.scenario import Tree
from apportion.sim.virtual_loop import VirtualLoop
from apportion.store import MemoryStore

IDLE_MAX_S: Final = 3600.0
CONTENT_TYPES: Final = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class World:
    """Everything that a scenario acts on. The same seed and the same calls give the same bytes."""

    def __init__(self, seed: int, config: SchedulerConfig, gates: FeatureGates, has_kubelets: bool = True) -> None:
        self.clock = VirtualClock()
        self.start_s = self.clock.now()
        self._loop = VirtualLoop(self.clock)
        self._store = MemoryStore()
        self._rng = Rng(seed)
        self._servers = 0
        self._check_cel = check_expressions(gates.as_dict())
        self.faults = Faults()
        self._transports: list[FaultyTransport] = []
        self.server = self._build_server()
        self.plane = ControlPlane(
            self._connect,
            self._loop,
            self.clock,
            self._rng.fork("plane"),
            config,
            gates,
            has_kubelets,
            perf=self.clock.now,
        )
        self.plane.start()
        self.run(0)

    def _build_server(self) -> Server:
        self._servers += 1
        rng = self._rng.fork(f"server {self._servers}")
        # expectations may be about events of hours ago
        return Server(self._store, self.clock, rng, self._check_cel, event_ttl_s=math.inf)

    def _connect(self) -> FaultyTransport:
        inner = InProcessTransport(self.server, self._loop.call_soon)
        self._transports = [t for t in self._transports if not t.is_closed]
        self._transports.append(FaultyTransport(inner, self.faults, self._loop))
        return self._transports[-1]

    # ---- time ---------------------------------------------------------------------------------------------

    @property
    def elapsed_s(self) -> float:
        """Virtual seconds since the start."""
        return self.clock.now() - self.start_s

    def run(self, seconds: float) -> None:
        """Let virtual time pass."""
        self._loop.drain(self.clock.now() + seconds)

    def run_idle(self) -> bool:
        """Run until nothing is left but what is looked at periodically; False when that takes over an hour."""
        end_s = self.clock.now() + IDLE_MAX_S
        self.run(0)
        while (due_s := self._next_due_s()) is not None:
            if self.clock.now() >= end_s:
                return False
            # a little further at least, so that a timer that is due already cannot hold time still
            self._loop.drain(min(max(due_s, self.clock.now() + 0.001), end_s))
        return True

    def _next_due_s(self) -> float | None:
        """Return when something is due that is not looked at periodically; None when nothing is left."""
        times = [t for t in (self.plane.next_due_s(), *self.faults.late[:1]) if t is not None]
        return min(times, default=None)

    def restart(self, component: str) -> None:
        """Drop a component in the middle of whatever it does, and start it again from what the API holds."""
        if component == "scheduler":
            self.plane.restart_scheduler()
            self.faults.install(self.plane.scheduler)
        elif component == "controllers":
            self.plane.restart_controllers()
        else:
            self.server = self._build_server()
            for transport in self._transports:
                transport.reconnect(self.server)

    # ---- the API ------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, tree: Any = None, content_type: str = "application/json") -> ApiResponse:
        """Send one request, as a client would."""
        path, _, query = path.partition("?")
        body = b"" if tree is None else orjson.dumps(tree)
        return self.server.handle(ApiRequest(method, path, query, body, content_type))

    def watch(self, path: str, seconds: float) -> list[bytes]:
        """Return the frames of a watch that is open for some virtual time. Raises InputError when it is refused."""
        path, _, query = path.partition("?")
        try:
            watch = self.server.watch(ApiRequest("GET", path, query))
        except ApiError as error:
            raise InputError(f"the watch is refused with {error.code}: {error}") from None
        frames = watch.read()
        self.run(seconds)
        return [*frames, *watch.read()]

    def list_objects(self, resource: Resource, namespace: str = "") -> list[Tree]:
        """Return the objects of a resource, sorted by namespace and name."""
        items: list[Tree] = orjson.loads(self.call("GET", path_of(resource, namespace)).body)["items"]
        return items

    def find_object(self, resource: Resource, namespace: str, name: str) -> Tree | None:
        """Return one object."""
        response = self.call("GET", path_of(resource, namespace, name))
        return orjson.loads(response.body) if response.code < 300 else None

    def trees(self, plural: str) -> list[Tree]:
        """Return the objects of a resource by its plural."""
        return self.list_objects(get_resource(plural))

    def find(self, plural: str, namespace: str, name: str) -> Tree | None:
        """Return one object of a resource by its plural."""
        return self.find_object(get_resource(plural), namespace, name)

    def versions(self) -> dict[str, str]:
        """Return the resource version of everything, by ``plural/namespace/name``."""
        found = {}
        for resource in (r for r in RESOURCES if r.is_preferred):
            for tree in self.list_objects(resource):
                found[describe(resource, tree)] = tree["metadata"]["resourceVersion"]
        return found


def path_of(resource: Resource, namespace: str, name: str = "", subresource: str = "") -> str:
    """Return the path of a list, an object or a subresource."""
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
    scope = f"namespaces/{namespace}" if namespace and resource.kind.namespaced else ""
    return "/".join(filter(None, (root, scope, resource.plural, name, subresource)))


def namespace_of(resource: Resource, namespace: str | None) -> str:
    """Return the namespace in which an object of a resource is looked for: "default" where none is said."""
    return (namespace or "default") if resource.kind.namespaced else ""


def describe(resource: Resource, tree: Tree) -> str:
    """Return ``plural/namespace/name``."""
    meta = tree["metadata"]
    return f"{resource.plural}/{meta.get('namespace', '')}/{meta['name']}"


def find_resource(kind: str, api_version: str) -> Resource:
    """Return what a kind is served as; without a version in the one that is stored.

    Raises InputError when there is no such kind, or several and the version is left out.
    """
    named = [r for r in RESOURCES if r.kind.name.lower() == kind.lower()]
    if api_version:
        group, version = split_api_version(api_version)
        found = [r for r in named if (r.group, r.version) == (group, version)]
    else:
        found = [r for r in named if r.is_preferred]
        if len(found) > 1 and kind.lower() == "event":
            found = [r for r in found if r.group == "events.k8s.io"]
    if not found:
        raise InputError(f"no kind {kind} is served{f' in {api_version}' if api_version else ''}")
    if len(found) > 1:
        groups = ", ".join(r.api_version for r in found)
        raise InputError(f"{kind} is a kind of {groups}; give its apiVersion")
    return found[0]

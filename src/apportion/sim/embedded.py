"""The control plane as a running program: store, API server on loopback, controllers and scheduler on this loop."""

import asyncio
import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.base import Clock, InputError, Rng
from apportion.base.metrics import TEXT_TYPE
from apportion.cel import check_expressions
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import ThreadedCalls
from apportion.server import ApiRequest, HttpServer, InProcessTransport, Server
from apportion.sim.control_plane import ControlPlane
from apportion.sim.devices import Devices
from apportion.sim.kubelets import make_node
from apportion.sim.manifests import Loaded
from apportion.sim.preload import Preloaded, preload
from apportion.store import MemoryStore, SqliteStore, Store

_CONFLICT = 409
_EPOCH_S = 1_767_225_600  # 2026-01-01: from here revisions of stores in memory are counted, one for each second
_DRA_PATHS = {
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
}
Tree = dict[str, Any]
Progress = Callable[[int, int], None]


class _ThreadsafeLoop:
    """The running asyncio loop, for callers on any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def call_soon(self, callback: Callable[[], None]) -> object:
        if threading.get_ident() == self._thread:
            return self._loop.call_soon(callback)
        return self._loop.call_soon_threadsafe(callback)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> object:
        return self._loop.call_later(delay_s, callback)


def open_store(data_dir: str | None, now_s: float) -> Store:
    """Return a store in memory, or the one in ``data_dir``, which this process then owns.

    Raises InputError when the folder cannot be used or another process has it.
    """
    if data_dir is None:
        # clients of an earlier life must notice: no revision comes twice
        return MemoryStore(first_revision=int(now_s - _EPOCH_S))
    folder = Path(data_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)  # kept open for the life of the process
    except OSError as error:
        raise InputError(f"--data-dir {data_dir}: {error.strerror}; name a folder that you may write to") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise InputError(f"--data-dir {data_dir}: another process uses it; stop that one or name another") from None
    return SqliteStore(folder / "store.db")


class Embedded:
    """Starts and stops everything. Must be made inside a running loop."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: Rng,
        config: SchedulerConfig,
        gates: FeatureGates,
        port: int = 0,
        has_kubelets: bool = True,
        has_controllers: bool = True,
        has_scheduler: bool = True,
    ) -> None:
        self._store = store
        self._clock = clock
        self.server = Server(store, clock, rng.fork("server"), check_expressions(gates.as_dict()))
        self.http = HttpServer(self.server, port=port)
        loop = _ThreadsafeLoop()

        def connect() -> InProcessTransport:
            return InProcessTransport(self.server, loop.call_soon)

        rng = rng.fork("plane")
        self._calls = ThreadedCalls(loop.call_soon)
        parts = (has_kubelets, has_controllers, has_scheduler)
        self.plane = ControlPlane(connect, loop, clock, rng, config, gates, *parts, self._calls, time.perf_counter)
        self.server.add_document("/metrics", self._render_metrics)
        self.server.add_document("/debug/scheduler/queue", self._render_queue)

    def _render_metrics(self) -> tuple[bytes, str]:
        scheduler = self.plane.scheduler
        return (b"" if scheduler.recorder is None else scheduler.recorder.render(scheduler)), TEXT_TYPE

    def _render_queue(self) -> tuple[bytes, str]:
        tree = {"now": self._clock.now(), "entities": self.plane.scheduler.queue.dump()}
        return orjson.dumps(tree), "application/json"

    def prepare(self, loaded: Loaded, nodes: int, devices: Devices | None, progress: Progress) -> Preloaded:
        """Bring in objects, and make the stand-in nodes, and what their drivers publish, that do not exist yet.

        Raises InputError when a stand-in node or a slice cannot be made.
        """
        result = preload(self.server, loaded, progress)
        for i in range(nodes):
            self._make(make_node(i), f"--nodes: node-{i}")
        if devices is not None:
            self._publish(devices, [f"node-{i}" for i in range(nodes)])
        return result

    def _publish(self, devices: Devices, stand_ins: list[str]) -> None:
        for tree in devices.classes():
            self._make(tree, f"--devices: DeviceClass {tree['metadata']['name']}")
        for name in dict.fromkeys([*stand_ins, *devices.list_nodes()]):
            response = self.server.handle(ApiRequest("GET", f"/api/v1/nodes/{name}"))
            if response.code >= 300:
                raise InputError(f"--devices: there is no node {name}; make it with --nodes or -f, or leave it out")
            uid = orjson.loads(response.body)["metadata"]["uid"]
            for tree in devices.slices(name, uid, name in stand_ins):
                self._make(tree, f"--devices: ResourceSlice {tree['metadata']['name']}")

    def _make(self, tree: Tree, what: str) -> None:
        """Create an object unless it is there already."""
        root = "/api/v1/nodes" if tree["kind"] == "Node" else _DRA_PATHS[tree["kind"]]
        response = self.server.handle(ApiRequest("POST", root, body=orjson.dumps(tree)))
        if response.code >= 300 and response.code != _CONFLICT:
            raise InputError(f"{what} could not be made: {orjson.loads(response.body)['message']}")

    async def start(self) -> None:
        """Listen and begin to work. Raises InputError when the port is taken."""
        try:
            await self.http.start()
        except OSError as error:
            raise InputError(f"--port: {error.strerror}; name another port, or 0 for any that is free") from None
        self.plane.start()

    async def stop(self) -> None:
        """Stop listening; everything acknowledged is in the store by then."""
        await self.http.stop()
        self.plane.stop()
        self._calls.close()
        self._store.close()

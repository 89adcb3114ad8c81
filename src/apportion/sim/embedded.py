"""The control plane as a running program: store, API server on loopback, controllers and scheduler on this loop."""

import asyncio
import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.base import Clock, InputError, Rng
from apportion.cel import find_expression_problem
from apportion.sched.framework.config import SchedulerConfig
from apportion.server import ApiRequest, HttpServer, InProcessTransport, Server
from apportion.sim.control_plane import ControlPlane
from apportion.sim.kubelets import make_node
from apportion.store import MemoryStore, SqliteStore, Store

_CONFLICT = 409


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
        return MemoryStore(first_revision=int(now_s))
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
    ) -> None:
        self._store = store
        self.server = Server(store, clock, rng.fork("server"), find_expression_problem)
        self.http = HttpServer(self.server, port=port)
        loop = _ThreadsafeLoop()

        def connect() -> InProcessTransport:
            return InProcessTransport(self.server, loop.call_soon)

        self.plane = ControlPlane(connect, loop, clock, rng.fork("plane"), config, gates, has_kubelets)

    async def start(self, nodes: int = 0) -> None:
        """Listen, begin to work, and make the stand-in nodes that do not exist yet.

        Raises InputError when the port is taken.
        """
        try:
            await self.http.start()
        except OSError as error:
            raise InputError(f"--port: {error.strerror}; name another port, or 0 for any that is free") from None
        self.plane.start()
        for i in range(nodes):
            body = orjson.dumps(make_node(i))
            response = self.server.handle(ApiRequest("POST", "/api/v1/nodes", body=body))
            if response.code >= 300 and response.code != _CONFLICT:
                raise InputError(f"--nodes: node-{i} could not be made: {orjson.loads(response.body)['message']}")

    async def stop(self) -> None:
        """Stop listening; everything acknowledged is in the store by then."""
        await self.http.stop()
        self.plane.stop()
        self._store.close()

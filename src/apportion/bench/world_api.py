"""Api mode: everything goes through the embedded API, in one process: created, watched, scheduled, bound.

Time is the wall clock's.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.api.kinds import Kind
from apportion.base import Rng
from apportion.bench.board import PodBoard
from apportion.bench.measurement import BenchError
from apportion.bench.world import Item, Tree, World
from apportion.cel import check_expressions
from apportion.client import MERGE_PATCH, Request, Response
from apportion.sched.framework.config import SchedulerConfig
from apportion.server import RESOURCES, InProcessTransport, Server
from apportion.sim.control_plane import ControlPlane
from apportion.store import MemoryStore

# requests under way at once, as from a few clients
REQUESTS_MAX: Final = 64
DEADLINE_S: Final = 600.0
_PULSE_S: Final = 0.02  # how late a wait may notice that time has passed
_TURNS: Final = 10  # of the loop, in which watches deliver what was committed
_NOT_READY: Final = b"node.kubernetes.io/not-ready"
# admission answers for a pod's priority: a class of that value takes its place
_CLASS_PREFIX: Final = "bench-"
_KEPT_AT_CREATE: Final = ("Node", "Pod", "PodGroup")
_SUBRESOURCES: Final = {r.plural: r.subresources for r in RESOURCES if r.is_preferred}


class _WallClock:
    def now(self) -> float:
        return time.time()


class ApiWorld(World):
    """A control plane on the running asyncio loop, and a client beside it."""

    def __init__(self, config: SchedulerConfig, gates: FeatureGates, seed: int) -> None:
        loop = asyncio.get_running_loop()
        self._loop = loop
        clock, rng = _WallClock(), Rng(seed)
        self.server = Server(MemoryStore(), clock, rng.fork("server"), check_expressions(gates.as_dict()))

        def connect() -> InProcessTransport:
            return InProcessTransport(self.server, loop.call_soon)

        self.board = PodBoard()
        self.latencies_ns: list[int] = []
        self.plane = ControlPlane(connect, loop, clock, rng.fork("plane"), config, gates)
        self._client = connect()
        self._changed = asyncio.Event()
        self._not_ready: set[str] = set()
        self._priorities: set[int] = set()
        self._under_way = 0
        self._failed: deque[str] = deque(maxlen=1)
        self._start()

    def _start(self) -> None:
        decide, clock, latencies = self.plane.scheduler.schedule_one, time.perf_counter_ns, self.latencies_ns

        def timed() -> bool:
            start_ns = clock()
            is_decided = decide()
            if is_decided:
                latencies.append(clock() - start_ns)
            return is_decided

        self.plane.scheduler.schedule_one = timed  # type: ignore[method-assign]
        self.plane.start()
        self._client.watch("pods", self._on_pod)
        self._client.watch("nodes", self._on_node)
        self._pulse()

    def stop(self) -> None:
        """Let nothing move any more."""
        self.plane.stop()

    def _pulse(self) -> None:
        self._changed.set()
        self._loop.call_later(_PULSE_S, self._pulse)

    def _on_pod(self, frame: bytes) -> None:
        self.board.on_frame(frame)
        self._changed.set()

    def _on_node(self, frame: bytes) -> None:
        name = orjson.loads(frame)["object"]["metadata"]["name"]
        if _NOT_READY in frame and not frame.startswith(b'{"type":"DELETED"'):
            self._not_ready.add(name)
        else:
            self._not_ready.discard(name)

    # ---- requests -----------------------------------------------------------------------------------------

    def _submit(self, request: Request, may_fail: bool = False) -> None:
        def answered(response: Response) -> None:
            self._under_way -= 1
            if response.code >= 300 and not may_fail:
                what = f"{request.verb} {request.resource} {request.name}".strip()
                self._failed.append(f"{what}: {response.message}")
            self._changed.set()

        self._under_way += 1
        self._client.submit(request, answered)

    async def send(self, requests: Iterable[Request]) -> None:
        """Carry out requests, a few at a time; those about one object in order."""
        for request in requests:
            self._submit(request)
            if self._under_way >= REQUESTS_MAX:
                await self.wait(lambda: self._under_way < REQUESTS_MAX, "requests are answered")
        await self.wait(lambda: not self._under_way, "requests are answered")

    async def create(self, items: Iterable[Item]) -> None:
        """Create objects, a few at a time."""
        await self.send(request for item in items for request in self._make_requests(item))

    def create_soon(self, item: Item) -> None:
        """Begin to create an object."""
        for request in self._make_requests(item):
            self._submit(request, may_fail=True)

    def _make_requests(self, item: Item) -> Iterator[Request]:
        kind, tree = item.kind, item.tree
        if kind.name == "Pod" and tree["spec"].get("priority"):
            yield from self._make_class(tree["spec"]["priority"])
            tree = _with_class(tree)
        yield Request("create", kind.plural, item.namespace, "", orjson.dumps(tree))
        if tree.get("status") and kind.name not in _KEPT_AT_CREATE:
            body = orjson.dumps({"status": tree["status"]})
            yield Request("patch", kind.plural, item.namespace, item.name, body, "status", MERGE_PATCH)

    def _make_class(self, value: int) -> Iterator[Request]:
        if value not in self._priorities:
            self._priorities.add(value)
            meta = {"name": f"{_CLASS_PREFIX}{value}"}
            tree = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value}
            yield Request("create", "priorityclasses", "", "", orjson.dumps(tree))

    def delete_soon(self, kind: Kind, namespace: str, name: str) -> None:
        """Begin to delete an object."""
        body = b'{"gracePeriodSeconds":0}' if kind.name == "Pod" else b""
        self._submit(Request("delete", kind.plural, namespace, name, body), may_fail=True)

    async def update(self, items: Iterable[Item], subresource: str) -> None:
        """Replace objects; their status, which is replaced apart, too."""
        for item in items:
            kind, tree = item.kind, item.tree
            if kind.name == "Pod" and tree["spec"].get("priority"):
                tree = _with_class(tree)
            if subresource and subresource not in _SUBRESOURCES[kind.plural]:
                raise BenchError(f"opcode updateAny: the API does not serve {kind.plural}/{subresource}")
            body = orjson.dumps(tree)
            requests = [Request("update", kind.plural, item.namespace, item.name, body, subresource)]
            if tree.get("status") and "status" in _SUBRESOURCES[kind.plural] and not subresource:
                requests.append(Request("update", kind.plural, item.namespace, item.name, body, "status"))
            await self.send(requests)

    # ---- waiting ------------------------------------------------------------------------------------------

    async def wait(self, is_done: Callable[[], bool], what: str) -> None:
        """Wait for something that a watch or an answer shows."""
        deadline_s = self._loop.time() + DEADLINE_S
        while not is_done():
            if self._loop.time() > deadline_s:
                raise BenchError(f"not reached in {DEADLINE_S:g} s: {what}")
            self._changed.clear()
            await self._changed.wait()
            if self._failed:
                raise BenchError(self._failed[0])

    async def sleep(self, delay_s: float) -> None:
        """Let time pass."""
        await asyncio.sleep(delay_s)

    def every(self, interval_s: float, tick: Callable[[], bool]) -> None:
        """Call ``tick`` by the loop's time; ticks that are late are made up for."""
        start_s = self._loop.time()
        turn = 1

        def work() -> None:
            nonlocal turn
            if tick():
                turn += 1
                self._loop.call_at(start_s + turn * interval_s, work)

        self._loop.call_at(start_s + interval_s, work)

    async def settle(self) -> None:
        """Let the watches deliver, and wait until no node counts as not ready."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        await self.wait(lambda: not self._not_ready, "nodes are ready")

    def elapsed_s(self) -> float:
        """Return the time of the wall clock."""
        return time.perf_counter()

    def cpu_s(self) -> float:
        """Return the processor time of the process."""
        return time.process_time()

    def trees(self, plural: str) -> list[Tree]:
        """Return the objects of a kind as the store has them."""
        storage = next(r.storage for r in RESOURCES if r.plural == plural and r.is_preferred)
        return [orjson.loads(entry.value) for entry in self.server.store.list_entries(storage)]


def _with_class(tree: Tree) -> Tree:
    spec = {k: v for k, v in tree["spec"].items() if k != "priority"}
    return {**tree, "spec": {**spec, "priorityClassName": f"{_CLASS_PREFIX}{tree['spec']['priority']}"}}

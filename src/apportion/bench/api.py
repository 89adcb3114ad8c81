"""Api mode: pods created through the API, watched, scheduled, and bound through the API, in one process.

Measured is everything between the first request that creates a measured pod and the watch event that shows the last
of them bound: server, store, watches, controllers, scheduler and the client that creates.
"""

import asyncio
import gc
import resource
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng
from apportion.bench.measurement import BenchError, Measurement, Progress
from apportion.bench.objects import Tree
from apportion.bench.verify import verify
from apportion.bench.workloads import Put, Workload
from apportion.cel import find_expression_problem
from apportion.client import MERGE_PATCH, Request, Response
from apportion.sched.framework.config import SchedulerConfig
from apportion.server import InProcessTransport, Server
from apportion.sim.control_plane import ControlPlane
from apportion.store import MemoryStore

# how many creates are under way at once, as from a few clients
CREATES_MAX: Final = 64
DEADLINE_S: Final = 600.0
_CLUSTER_SCOPED: Final = ("nodes", "deviceclasses", "resourceslices")


class _WallClock:
    def now(self) -> float:
        return time.time()


class _Run:
    """A control plane on the running asyncio loop, and a client beside it."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self.workload = workload
        loop = asyncio.get_running_loop()
        self._loop = loop
        clock, rng = _WallClock(), Rng(seed)
        self.server = Server(MemoryStore(), clock, rng.fork("server"), find_expression_problem)

        def connect() -> InProcessTransport:
            return InProcessTransport(self.server, loop.call_soon)

        self.plane = ControlPlane(connect, loop, clock, rng.fork("plane"), SchedulerConfig(), FeatureGates.parse(""))
        self._client = connect()
        self._nodes: dict[str, bool] = {}
        self._bound: set[str] = set()
        self._changed = asyncio.Event()
        self.latencies_ns: list[int] = []

    def start(self) -> None:
        """Start the control plane and watch the pods."""
        self._time_decisions()
        self.plane.start()
        self._client.watch("pods", self._on_pod)
        self._client.watch("nodes", self._on_node)

    def _time_decisions(self) -> None:
        decide, clock, latencies = self.plane.scheduler.schedule_one, time.perf_counter_ns, self.latencies_ns

        def timed() -> bool:
            start = clock()
            decided = decide()
            if decided:
                latencies.append(clock() - start)
            return decided

        self.plane.scheduler.schedule_one = timed  # type: ignore[method-assign]

    def _on_pod(self, frame: bytes) -> None:
        if b'"nodeName":"' in frame:
            meta = orjson.loads(frame)["object"]["metadata"]
            self._bound.add(f"{meta['namespace']}/{meta['name']}")
            self._changed.set()

    def _on_node(self, frame: bytes) -> None:
        node = orjson.loads(frame)["object"]
        self._nodes[node["metadata"]["name"]] = not node["spec"].get("taints")
        self._changed.set()

    # ---- the client ---------------------------------------------------------------------------------------

    async def create(self, puts: Iterator[Put]) -> None:
        """Create objects, a few at a time; an allocated claim gets its status after that."""
        done = asyncio.Event()
        waiting = 0
        failed: deque[str] = deque(maxlen=1)

        def answered(response: Response) -> None:
            nonlocal waiting
            waiting -= 1
            if response.code >= 300:
                failed.append(response.message)
            done.set()

        for requests in map(_requests, puts):
            for request in requests:
                waiting += 1
                self._client.submit(request, answered)
                while waiting >= (1 if len(requests) > 1 else CREATES_MAX):
                    done.clear()
                    await done.wait()
        while waiting:
            done.clear()
            await done.wait()
        if failed:
            raise BenchError(f"{self.workload.name}: an object could not be created: {failed[0]}")

    async def wait(self, is_done: Callable[[], bool], what: str) -> None:
        """Wait for something that a watch shows."""
        deadline_s = self._loop.time() + DEADLINE_S
        while not is_done():
            self._changed.clear()
            try:
                async with asyncio.timeout_at(deadline_s):
                    await self._changed.wait()
            except TimeoutError:
                raise BenchError(f"{self.workload.name}: {what} not reached in {DEADLINE_S:g} s") from None

    async def prepare(self) -> None:
        """Create what exists before the measurement, and have the first pods scheduled."""
        namespaces = dict.fromkeys(
            tree["metadata"]["namespace"]
            for put in (self.workload.setup, self.workload.init, self.workload.measured)
            for kind, tree in put()
            if kind not in _CLUSTER_SCOPED
        )
        await self.create(
            ("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": n}}) for n in namespaces
        )
        await self.create(self.workload.setup())
        await self.wait(lambda: bool(self._nodes) and all(self._nodes.values()), "nodes ready")
        first = sum(kind == "pods" for kind, _ in self.workload.init())
        await self.create(self.workload.init())
        await self.wait(lambda: len(self._bound) >= first, "first pods scheduled")
        self._bound.clear()
        self.latencies_ns.clear()

    async def measure(self, progress: Progress) -> float:
        """Return how long the measured pods took, in seconds."""
        measured = list(self.workload.measured())
        total = self.workload.measured_pods

        def is_done() -> bool:
            progress(len(self._bound), total)
            return len(self._bound) >= total

        gc.collect()
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)
        start = time.perf_counter()
        await self.create(iter(measured))
        await self.wait(is_done, "all pods scheduled")
        return time.perf_counter() - start

    def check(self) -> None:
        """Raise BenchError unless every placement holds."""
        stored = {r: self._trees(r) for r in ("nodes", "pods", "resourceclaims", "resourceslices")}
        problems = verify(stored["nodes"], stored["pods"], stored["resourceclaims"], stored["resourceslices"])
        if problems:
            raise BenchError(f"{self.workload.name}: {problems[0]} ({len(problems)} problems)")

    def _trees(self, plural: str) -> list[Tree]:
        name = plural if plural in ("nodes", "pods") else f"{plural}.resource.k8s.io"
        return [orjson.loads(entry.value) for entry in self.server.store.list_entries(name)]


def _requests(put: Put) -> list[Request]:
    plural, tree = put
    meta: dict[str, Any] = tree["metadata"]
    namespace = "" if plural in (*_CLUSTER_SCOPED, "namespaces") else meta["namespace"]
    requests = [Request("create", plural, namespace, "", orjson.dumps(tree))]
    if plural == "resourceclaims" and "allocation" in tree["status"]:
        body = orjson.dumps({"status": tree["status"]})
        requests.append(Request("patch", plural, namespace, meta["name"], body, "status", MERGE_PATCH))
    return requests


async def _run(workload: Workload, seed: int, progress: Progress) -> Measurement:
    run = _Run(workload, seed)
    run.start()
    await run.prepare()
    duration_s = await run.measure(progress)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    run.check()
    return Measurement.of(workload, duration_s, run.latencies_ns, peak_mib)


def run_api_workload(workload: Workload, seed: int = 0, progress: Progress = lambda done, total: None) -> Measurement:
    """Run one workload through the API and return what was measured. Raises BenchError when the result is wrong."""
    return asyncio.run(_run(workload, seed, progress))

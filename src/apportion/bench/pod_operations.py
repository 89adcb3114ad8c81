"""The operations about pods: create them at once or steadily, wait for them, delete them."""

import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator

from apportion.api.kinds import find_kind
from apportion.base import InputError
from apportion.bench.board import PodEntry, PodGroup
from apportion.bench.casting import DEFAULT_POD, ENDLESS, Foundry, give_volume
from apportion.bench.collecting import Collector
from apportion.bench.measurement import BenchError
from apportion.bench.opcodes import Operation
from apportion.bench.perf_files import PerfWorkload
from apportion.bench.world import Item, World

_POD = find_kind("", "Pod")
BATCH_LABEL = "bench.apportion/signature-batch"


class PodOperations:
    """Keeps the pods of all operations on the world's board."""

    def __init__(
        self,
        workload: PerfWorkload,
        world: World,
        collector: Collector,
        foundry: Foundry,
        ensure_namespace: Callable[[str], Awaitable[None]],
    ) -> None:
        self._workload = workload
        self._world = world
        self._collector = collector
        self._foundry = foundry
        self._ensure_namespace = ensure_namespace

    def _make(self, operation: Operation, count: int) -> Iterator[list[Item]]:
        """Yield each pod, with what must exist before it."""
        find = self._foundry.find_template
        namespace, values = operation.namespace, operation.get("templateParams") or {}
        path = operation.get("podTemplatePath") or self._workload.default_pod_path
        pods = self._foundry.make(find(path, DEFAULT_POD), values, count, namespace)
        pods = _in_batches(pods, int(operation.get("signatureBatchSize") or 0))
        volume = operation.get("persistentVolumeTemplatePath")
        claim = operation.get("persistentVolumeClaimTemplatePath")
        if volume is None or claim is None:
            yield from ([pod] for pod in pods)
            return
        volumes = self._foundry.make(find(volume), {}, count)
        claims = self._foundry.make(find(claim), {}, count, namespace)
        for i, (pod, pv, pvc) in enumerate(zip(pods, volumes, claims, strict=True)):
            # other pods of the namespace may name a claim: they count from zero
            meta = {**pvc.tree["metadata"], "name": f"pvc-{i}"}
            yield list(give_volume(pod, pv, Item(pvc.kind, {**pvc.tree, "metadata": meta})))

    def _expect(self, parts: list[Item], group: PodGroup) -> None:
        pod = parts[-1]
        is_gated = bool(pod.tree["spec"].get("schedulingGates"))
        labels = pod.tree["metadata"].get("labels") or {}
        self._world.board.add(PodEntry(pod.namespace, pod.name, labels, group, is_gated))

    def _announce(self, made: Iterable[list[Item]], group: PodGroup) -> Iterator[Item]:
        """Yield the pods one at a time: all of them at once would take more memory than the scheduler does."""
        for parts in made:
            self._expect(parts, group)
            yield parts[-1]

    async def create(self, operation: Operation) -> None:
        """Create pods, and wait until all have nodes unless the operation says otherwise."""
        await self._ensure_namespace(operation.namespace)
        collects = bool(operation.get("collectMetrics"))
        if operation.get("steadyState"):
            await self._create_steadily(operation, collects)
            return
        made: Iterable[list[Item]] = self._make(operation, operation.count)
        if operation.get("persistentVolumeTemplatePath"):
            made = list(made)
            await self._world.create([item for parts in made for item in parts[:-1]])
        if collects:
            await self._world.settle()
            self._collector.start(operation.namespace, [operation.namespace], {})
        group = PodGroup()
        await self._world.create(self._announce(made, group))
        if not operation.get("skipWaitToCompletion"):
            await self._world.wait(lambda: not group.pending, f"all pods of operation {operation.index} have nodes")
        if collects:
            self._collector.stop()

    async def _create_steadily(self, operation: Operation, collects: bool) -> None:
        """Keep ``count`` pods pending for a while: each that gets a node goes, and another one comes."""
        world, group = self._world, PodGroup()
        bound: deque[PodEntry] = deque()

        def on_bound(entry: PodEntry) -> None:
            if entry.group is group:
                bound.append(entry)

        world.board.listeners.append(on_bound)
        if collects:
            await world.settle()
            self._collector.start(operation.namespace, [operation.namespace], {})
        end_s = world.elapsed_s() + operation.duration_s
        source = self._make(operation, ENDLESS)
        self._create_more(source, operation.count, group)
        seen = 0
        while world.elapsed_s() < end_s:
            await world.wait(lambda: bool(bound) or world.elapsed_s() >= end_s, "a pod has a node")
            while bound:
                entry = bound.popleft()
                seen += 1
                self._delete(entry)
                self._create_more(source, 1, group)
        world.board.listeners.remove(on_bound)
        if collects:
            self._collector.stop()
        if not seen:
            raise BenchError(f"no pod of operation {operation.index} got a node in {operation.duration_s:g} s")

    def _create_more(self, source: Iterator[list[Item]], count: int, group: PodGroup) -> None:
        for parts in itertools.islice(source, count):
            self._expect(parts, group)
            for item in parts:
                self._world.create_soon(item)

    # ---- waiting and deleting -----------------------------------------------------------------------------

    async def stop_at_barrier(self, operation: Operation) -> None:
        """Wait until pods were attempted or have nodes. Raises InputError for a stage that is not known."""
        stage = operation.get("stageRequirement") or "Scheduled"
        if stage not in ("Attempted", "Scheduled"):
            raise InputError(f"barrier stage {stage!r} is not known")
        labels = operation.get("labelSelector") or {}
        selected = self._world.board.select(operation.get("namespaces") or (), labels)
        waiting = [e for e in selected if e.group is not None]
        is_met = _was_attempted if stage == "Attempted" else _is_settled

        def is_done() -> bool:
            while waiting and is_met(waiting[-1]):
                waiting.pop()
            return not waiting

        await self._world.wait(is_done, f"the barrier of operation {operation.index}: pods are {stage.lower()}")

    async def delete(self, operation: Operation) -> None:
        """Delete the pods that are there now, all at once or at a rate, before or beside what follows."""
        selected = self._world.board.select([operation.namespace], operation.get("labelSelector") or {})
        waiting = deque(selected)
        rate = operation.get("deletePodsPerSecond") or 0

        def delete_one() -> bool:
            if waiting:
                self._delete(waiting.popleft())
            return bool(waiting)

        if rate and operation.get("skipWaitToCompletion"):
            self._world.every(1 / rate, delete_one)
            return
        while waiting:
            if rate:
                await self._world.sleep(1 / rate)
            delete_one()

    def _delete(self, entry: PodEntry) -> None:
        if not entry.is_gone:
            assert _POD is not None
            self._world.delete_soon(_POD, entry.namespace, entry.name)


def _was_attempted(entry: PodEntry) -> bool:
    return entry.is_attempted or entry.is_gated or entry.is_settled


def _is_settled(entry: PodEntry) -> bool:
    return entry.is_settled


def _in_batches(pods: Iterator[Item], size: int) -> Iterator[Item]:
    """Give pods a label that changes after every ``size`` pods, so that only so many in a row are alike."""
    for i, pod in enumerate(pods):
        if size:
            meta = pod.tree["metadata"]
            labels = {**(meta.get("labels") or {}), BATCH_LABEL: str(i // size)}
            yield Item(pod.kind, {**pod.tree, "metadata": {**meta, "labels": labels}})
        else:
            yield pod

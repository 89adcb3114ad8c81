"""Carries the operations of one workload out, one after the other, in either world."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from apportion.alloc import Features
from apportion.api.feature_gates import FeatureGates
from apportion.api.kinds import find_kind
from apportion.base import InputError
from apportion.bench.board import PodEntry
from apportion.bench.casting import DEFAULT_NAMESPACE, DEFAULT_NODE, ENDLESS, Foundry, equip_node
from apportion.bench.claim_filling import ClaimFiller
from apportion.bench.collecting import Collector
from apportion.bench.opcodes import Operation, fill_in
from apportion.bench.perf_files import PerfWorkload
from apportion.bench.pod_operations import PodOperations
from apportion.bench.world import Item, World

_DECLARED: Final = "numNodeDeclaredFeatures"
_CHURN_INTERVAL_MS: Final = 500


class Executor:
    """Runs one workload once."""

    def __init__(self, workload: PerfWorkload, world: World, collector: Collector, gates: FeatureGates) -> None:
        self._workload = workload
        self._world = world
        self._collector = collector
        self._gates = gates
        self._foundry = Foundry(workload.folder)
        self._pods = PodOperations(workload, world, collector, self._foundry, self.ensure_namespace)
        self._namespaces = {"default", "kube-system"}
        self._nodes = 0
        self._run: Final[Mapping[str, Callable[[Operation], Awaitable[None]]]] = {
            "createNodes": self._create_nodes,
            "createNamespaces": self._create_namespaces,
            "createPods": self._pods.create,
            "createPodSets": self._create_pod_sets,
            "createPodGroups": self._create_any,
            "createAny": self._create_any,
            "updateAny": self._update_any,
            "deletePods": self._pods.delete,
            "churn": self._churn,
            "barrier": self._pods.stop_at_barrier,
            "sleep": self._sleep,
            "allocResourceClaims": self._allocate_claims,
            "startCollectingMetrics": self._start_collecting,
            "stopCollectingMetrics": self._stop_collecting,
        }

    async def run(self) -> None:
        """Carry out all operations. Raises InputError and BenchError, naming the operation."""
        for index, fields in enumerate(self._workload.operations):
            operation = fill_in(fields, index, self._workload.params)
            await self._run[operation.opcode](operation)
        self._collector.stop()

    async def ensure_namespace(self, name: str) -> None:
        """Create a namespace that is not there yet."""
        if name not in self._namespaces:
            self._namespaces.add(name)
            kind = find_kind("", "Namespace")
            assert kind is not None
            tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await self._world.create([Item(kind, tree)])

    # ---- objects other than pods --------------------------------------------------------------------------

    def _make(self, operation: Operation, namespace: str) -> list[Item]:
        template = self._foundry.find_template(operation.get("templatePath"))
        return list(self._foundry.make(template, operation.get("templateParams") or {}, operation.count, namespace))

    async def _create_nodes(self, operation: Operation) -> None:
        template = self._foundry.find_template(operation.get("nodeTemplatePath"), DEFAULT_NODE)
        features = int(self._workload.params.get(_DECLARED, 0))
        made = self._foundry.make(template, operation.get("templateParams") or {}, operation.count)
        items = [part for i, item in enumerate(made) for part in equip_node(item, i, operation, features)]
        await self._world.create(items)
        await self._world.settle()

    async def _create_namespaces(self, operation: Operation) -> None:
        template = self._foundry.find_template(operation.get("namespaceTemplatePath"), DEFAULT_NAMESPACE)
        names = [f"{operation.get('prefix')}-{i}" for i in range(operation.count)]
        made = self._foundry.make(template, {}, operation.count)
        items = [
            Item(item.kind, {**item.tree, "metadata": {**item.tree["metadata"], "name": name}})
            for item, name in zip(made, names, strict=True)
            if name not in self._namespaces
        ]
        self._namespaces.update(names)
        await self._world.create(items)

    async def _create_pod_sets(self, operation: Operation) -> None:
        for i in range(operation.count):
            fields = {**operation.fields["createPodsOp"], "namespace": f"{operation.get('namespacePrefix')}-{i}"}
            await self._pods.create(fill_in(fields, operation.index, self._workload.params))

    async def _create_any(self, operation: Operation) -> None:
        namespace = operation.get("namespace") or ""
        if namespace:
            await self.ensure_namespace(namespace)
        items = self._make(operation, namespace)
        await self._world.create(items)
        self._collector.count_objects(len(items))

    async def _update_any(self, operation: Operation) -> None:
        subresources = operation.get("subresources") or [""]
        rate = operation.get("updatePerSecond") or 0
        for item in self._make(operation, operation.get("namespace") or ""):
            if rate:
                await self._world.sleep(1 / rate)
            for subresource in subresources:
                await self._world.update([item], subresource)

    async def _allocate_claims(self, operation: Operation) -> None:
        await self.ensure_namespace(operation.namespace)
        trees = self._world.trees
        features = Features.from_gates(self._gates.as_dict())
        claims = [c for c in trees("resourceclaims") if c["metadata"]["namespace"] == operation.namespace]
        filler = ClaimFiller(features, trees("nodes"), trees("deviceclasses"), trees("resourceslices"))
        await self._world.send(filler.fill(claims))

    # ---- in the background --------------------------------------------------------------------------------

    async def _churn(self, operation: Operation) -> None:
        await self.ensure_namespace(operation.namespace)
        sources = [self._churned(path, operation.namespace) for path in operation.get("templatePaths") or ()]
        mode, number = operation.get("mode", "recreate"), int(operation.get("number") or 0)
        interval_s = (operation.get("intervalMilliseconds") or _CHURN_INTERVAL_MS) / 1000
        if mode not in ("create", "recreate"):
            raise InputError(f"churn mode {mode!r} is not known")
        ticker = (
            self._recreate(sources, number or 1) if mode == "recreate" else self._create(sources, number or ENDLESS)
        )
        self._world.every(interval_s, lambda: next(ticker, False))

    def _churned(self, path: str, namespace: str) -> Callable[[], Item]:
        made = self._foundry.make(self._foundry.find_template(path), {}, ENDLESS, namespace)

        def make() -> Item:
            item = next(made)
            if item.kind.name == "Node":
                item = next(equip_node(item, 0, Operation("churn", 0, {}), 0))
            if item.kind.name == "Pod":
                labels = item.tree["metadata"].get("labels") or {}
                self._world.board.add(PodEntry(item.namespace, item.name, labels))
            self._world.create_soon(item)
            return item

        return make

    def _create(self, sources: list[Callable[[], Item]], number: int) -> Iterator[bool]:
        for _ in range(number):
            for make in sources:
                make()
            yield True

    def _recreate(self, sources: list[Callable[[], Item]], number: int) -> Iterator[bool]:
        """Fill ``number`` places in turn: what is in a place goes first, the next time something new comes."""
        places: list[list[Any]] = [[None] * number for _ in sources]
        turn = 0
        while True:
            for make, items in zip(sources, places, strict=True):
                item = items[turn % number]
                if item is None:
                    items[turn % number] = make()
                else:
                    self._world.delete_soon(item.kind, item.namespace, item.name)
                    items[turn % number] = None
            turn += 1
            yield True

    async def _sleep(self, operation: Operation) -> None:
        await self._world.sleep(operation.duration_s)

    # ---- measuring ----------------------------------------------------------------------------------------

    async def _start_collecting(self, operation: Operation) -> None:
        namespaces = operation.get("namespaces") or ()
        await self._world.settle()
        self._collector.start(operation.get("name") or "", namespaces, operation.get("labelSelector") or {})

    async def _stop_collecting(self, operation: Operation) -> None:
        await self._world.settle()  # events that are under way belong to what was measured
        self._collector.stop()

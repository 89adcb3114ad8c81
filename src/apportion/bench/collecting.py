"""What is measured between the start and the end of a collection."""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from apportion.bench.board import PodEntry
from apportion.bench.world import World


@dataclass(slots=True)
class Sample:
    """One collection: when each pod got its node, and how long each decision took."""

    name: str
    start_s: float
    end_s: float = 0.0
    cpu_s: float = 0.0  # of the processor
    bound_s: list[float] = field(default_factory=list)
    latencies_ns: list[int] = field(default_factory=list)
    objects: int = 0  # created meanwhile, other than pods


class Collector:
    """Collects one sample after the other. ``on_start`` and ``on_stop`` frame each of them."""

    def __init__(self, world: World, on_start: Callable[[], None], on_stop: Callable[[], None]) -> None:
        self.samples: list[Sample] = []
        self.current: Sample | None = None
        self._world = world
        self._on_start, self._on_stop = on_start, on_stop
        self._namespaces: frozenset[str] = frozenset()
        self._labels: Mapping[str, str] = {}
        self._cpu_s = 0.0
        world.board.listeners.append(self._on_bound)

    def start(self, name: str, namespaces: Sequence[str], labels: Mapping[str, str]) -> None:
        """Begin to collect the pods of some namespaces, all when none is given, with some labels."""
        self._namespaces, self._labels = frozenset(namespaces), labels
        gc.collect()
        gc.freeze()  # what exists already is not looked at again and again
        gc.set_threshold(100_000, 50, 50)
        self._world.latencies_ns.clear()
        self._on_start()
        self.current = Sample(name, self._world.elapsed_s())
        self._cpu_s = self._world.cpu_s()

    def stop(self) -> None:
        """End the collection; one that was not begun is no error."""
        if self.current is None:
            return
        self.current.end_s = self._world.elapsed_s()
        self.current.cpu_s = self._world.cpu_s() - self._cpu_s
        self._on_stop()
        self.current.latencies_ns = list(self._world.latencies_ns)
        self.samples.append(self.current)
        self.current = None

    def count_objects(self, count: int) -> None:
        """Take note of objects that were created."""
        if self.current is not None:
            self.current.objects += count

    def _on_bound(self, entry: PodEntry) -> None:
        if self.current is None or entry.group is None:
            return
        if (not self._namespaces or entry.namespace in self._namespaces) and entry.has_labels(self._labels):
            self.current.bound_s.append(self._world.elapsed_s())

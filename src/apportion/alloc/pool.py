"""A resource pool: its slices, which generation counts, and how each node sees it.

The highest generation among all slices of the pool counts, wherever they are published. A node sees the pool
complete when its own slices of that generation, or all of them, are as many as they state.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from apportion.alloc.signature import Signature
from apportion.alloc.slices import PublishedDevice, PublishedSlice
from apportion.alloc.usage import PoolUsage
from apportion.api.resource import Device

CounterKey = tuple[str, str]  # counter set, counter


@dataclass(frozen=True, slots=True)
class PoolFault:
    """Why the devices of a pool cannot be used; ``state`` is ``incomplete`` or ``invalid``."""

    state: str
    why: str


class PoolContent:
    """What the slices of the current generation say together, independent of any node."""

    def __init__(self, slices: Sequence[PublishedSlice], hidden_count: int, has_counters: bool) -> None:
        self.slices = slices
        self._hidden_count = hidden_count  # hidden by a switched-off feature; count for completeness only
        self._has_counters = has_counters
        self.shared = tuple(s for s in slices if s.is_shared)
        self._local: dict[str, list[PublishedSlice]] = {}
        for s in slices:
            if not s.is_shared:
                self._local.setdefault(s.view.spec.node_name or "", []).append(s)

    def get_slices_at(self, node: str) -> Iterator[PublishedSlice]:
        """Yield the slices that may concern ``node``, in name order."""
        yield from sorted([*self._local.get(node, ()), *self.shared], key=lambda s: s.name)

    @cached_property
    def counters_nano(self) -> dict[CounterKey, int]:
        return {
            (name, counter): amount
            for s in self.slices
            for name, counters in s.counter_sets
            for counter, amount in counters
        }

    @cached_property
    def devices(self) -> dict[str, Signature]:
        """Signature by device name; of a name published twice, the first slice's."""
        found: dict[str, Signature] = {}
        for s in self.slices:
            for device in s.devices:
                found.setdefault(device.name, device.signature)
        return found

    @cached_property
    def views(self) -> dict[str, Device]:
        """The device as published, by name."""
        return {d.name: d.view for s in reversed(self.slices) for d in s.devices}

    @cached_property
    def colliding_names(self) -> tuple[str, ...]:
        """Device names that more than one slice publishes."""
        names = [d.name for s in self.slices for d in s.devices]
        return tuple(sorted({n for n in names if names.count(n) > 1})) if len(names) > len(self.devices) else ()

    @cached_property
    def has_groups(self) -> bool:
        return any(groups for s in self.devices.values() for _, groups in s.groups)

    @cached_property
    def count_conflict(self) -> str | None:
        """Set when the slices disagree about how many they are."""
        counts = {s.view.spec.pool.resource_slice_count: s.name for s in reversed(self.slices)}
        if len(counts) < 2:
            return None
        stated = ", ".join(f"{name} states {count}" for count, name in sorted(counts.items()))
        return f"slices disagree about resourceSliceCount: {stated}"

    @cached_property
    def counter_conflict(self) -> str | None:
        """The first counter set that is not unique or counter that does not exist, if there is one."""
        if not self._has_counters:
            return None
        names = [name for s in self.slices for name, _ in s.counter_sets]
        for i, name in enumerate(names):
            if name in names[:i]:
                return f"duplicate counter set {name}"
        return self._find_dangling_counter(set(names))

    def _find_dangling_counter(self, sets: set[str]) -> str | None:
        for device in (d for s in self.slices for d in s.devices):
            for c in device.signature.consumes:
                if c.counter_set not in sets:
                    return f"device {device.name} consumes from unknown counter set {c.counter_set}"
                if (c.counter_set, c.counter) not in self.counters_nano:
                    return f"device {device.name} consumes unknown counter {c.counter_set}/{c.counter}"
        return None

    def find_incompleteness(self, seen_count: int) -> str | None:
        """Return why ``seen_count`` slices at a node are not the whole pool, or None when they are."""
        stated = self.slices[0].view.spec.pool.resource_slice_count
        published = len(self.slices) + self._hidden_count
        if stated > 0 and stated in (seen_count, published):
            return None
        generation = self.slices[0].view.spec.pool.generation
        if stated <= 0:
            return f"the pool declares {stated} slices"
        return f"{published} slices of generation {generation} are published, {stated} are declared"


class Pool:
    """Slices and usage of one (driver, pool name); content and node views are rebuilt when slices change."""

    def __init__(self, driver: str, name: str, partitionable: bool) -> None:
        self.driver = driver
        self.name = name
        self.usage = PoolUsage()
        self._partitionable = partitionable
        self._slices: dict[str, PublishedSlice] = {}
        self._content: PoolContent | None = None
        self._stale = True

    @property
    def key(self) -> tuple[str, str]:
        return self.driver, self.name

    @property
    def is_empty(self) -> bool:
        return not self._slices and not self.usage

    def put_slice(self, published: PublishedSlice) -> None:
        self._slices[published.name] = published
        self._stale = True

    def drop_slice(self, name: str) -> None:
        del self._slices[name]
        self._stale = True

    def forget_content(self) -> None:
        """Must be called when signatures of published devices have changed."""
        self._stale = True

    def get_all_slices(self) -> tuple[PublishedSlice, ...]:
        """Every slice of every generation, in name order."""
        return tuple(self._slices[n] for n in sorted(self._slices))

    @property
    def content(self) -> PoolContent | None:
        """The current generation; None while no slice of it can be used."""
        if self._stale:
            self._content = self._build_content()
            self._stale = False
        return self._content

    def _build_content(self) -> PoolContent | None:
        newest = max((s.view.spec.pool.generation for s in self._slices.values()), default=0)
        current = [s for s in self.get_all_slices() if s.view.spec.pool.generation == newest]
        visible = [s for s in current if self._partitionable or not s.needs_partitioning]
        if not visible:
            return None
        return PoolContent(visible, len(current) - len(visible), self._partitionable)

    def find_home_nodes(self) -> frozenset[str] | None:
        """Return the nodes that publish the pool; None when it reaches further (selector, all nodes)."""
        if any(s.is_shared for s in self._slices.values()):
            return None
        return frozenset(s.view.spec.node_name or "" for s in self._slices.values())

    def find_targets(self, node: str, labels: Mapping[str, str]) -> tuple[tuple[PublishedSlice, int], ...]:
        """Return the current slices for ``node``, each with the bitmap of its devices for that node."""
        if self.content is None:
            return ()
        pairs = ((s, s.find_target(node, labels)) for s in self.content.get_slices_at(node))
        return tuple((s, mask) for s, mask in pairs if mask is not None)

    def remaining_counters_nano(self) -> tuple[int, ...]:
        """What the devices in use leave of each counter, in the order of ``content.counters_nano``."""
        if self.content is None:
            return ()
        left = dict(self.content.counters_nano)
        for name in self.usage.devices:
            signature = self.content.devices.get(name)
            for c in signature.consumes if signature else ():
                left[(c.counter_set, c.counter)] -= c.amount_nano
        return tuple(left.values())

    def used_groups(self) -> tuple[tuple[str, frozenset[str]], ...]:
        """Per counter set in use: the compatibility groups that all its users share, sorted by set."""
        if self.content is None or not self.content.has_groups:
            return ()
        shared: dict[str, frozenset[str]] = {}
        for name in sorted(self.usage.devices):
            signature = self.content.devices.get(name)
            for counter_set, groups in signature.groups if signature else ():
                groups = groups or NO_GROUP
                shared[counter_set] = shared.get(counter_set, groups) & groups
        return tuple(sorted(shared.items(), key=lambda item: item[0]))


# Stands for "declares no compatibility group", so that such devices share a counter set only with their like.
NO_GROUP: frozenset[str] = frozenset(("",))


def list_devices(targets: Sequence[tuple[PublishedSlice, int]]) -> tuple[PublishedDevice, ...]:
    """Return the devices that the bitmaps of ``targets`` select, in slice order."""
    return tuple(d for s, mask in targets for i, d in enumerate(s.devices) if mask >> i & 1)

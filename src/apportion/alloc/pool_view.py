"""A pool as one set of nodes sees it: devices by position, a shape, and the state of use."""

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple
from weakref import WeakValueDictionary

from apportion.alloc.pool import CounterKey, Pool, PoolFault, list_devices
from apportion.alloc.signature import Signature
from apportion.alloc.slices import PublishedSlice
from apportion.alloc.usage import Hold

# position of a device in use, what is consumed of each of its capacities (order of Signature.capacity)
Share = tuple[int, tuple[int, ...]]


class Shape:
    """Everything about a pool view that use does not change; interned, compared by identity."""

    __slots__ = ("__weakref__", "counters", "fault_state", "multi", "signatures")

    def __init__(self, signatures: tuple[Signature, ...], counters: tuple[CounterKey, ...], fault_state: str) -> None:
        self.signatures = signatures
        self.counters = counters
        self.fault_state = fault_state
        self.multi = sum(1 << i for i, s in enumerate(signatures) if s.multi)


class ShapeIndex:
    """Interns shapes, so that nodes with equal devices are recognised by identity."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[object, ...], Shape] = WeakValueDictionary()

    def intern(self, signatures: tuple[Signature, ...], counters: tuple[CounterKey, ...], fault_state: str) -> Shape:
        # The shape keeps its signatures alive, so their ids stay unique while the entry exists.
        key = (tuple(map(id, signatures)), counters, fault_state)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Shape(signatures, counters, fault_state)
        return found


class PoolState(NamedTuple):
    """A shape with its use; equal states get equal answers."""

    shape: Shape
    taken: int  # bitmap of devices that no ordinary request can have
    remaining_nano: tuple[int, ...]  # by counter, order of shape.counters; () without counters
    groups: tuple[tuple[str, frozenset[str]], ...]
    shares: tuple[Share, ...]


class PoolView:
    """The devices of a pool that a node can use, by position in first-fit order."""

    __slots__ = ("_state", "devices", "fault", "has_binding_conditions", "pool", "position", "published", "shape")

    def __init__(self, pool: Pool, targets: Sequence[tuple[PublishedSlice, int]], shapes: ShapeIndex) -> None:
        self.pool = pool
        devices = list_devices(targets)
        self.has_binding_conditions = any(d.signature.has_binding_conditions for d in devices)
        self.fault = _find_fault(pool, len(targets), [d.name for d in devices])
        self.published = devices
        self.devices = devices if self.fault is None else ()
        self.position = {d.name: i for i, d in enumerate(self.devices)}
        content = pool.content
        counters = tuple(content.counters_nano) if content is not None and self.fault is None else ()
        self.shape = shapes.intern(
            tuple(d.signature for d in self.devices), counters, self.fault.state if self.fault else ""
        )
        self._state: PoolState | None = None

    def without(self, holds: Sequence[Hold]) -> "PoolView":
        """Return the view as it would be without these holds of the pool; this one stays as it is."""
        pool, view = copy(self.pool), copy(self)
        pool.usage = self.pool.usage.without(holds)
        view.pool, view._state = pool, None
        return view

    @property
    def text(self) -> str:
        return f"{self.pool.driver}/{self.pool.name}"

    def forget_state(self) -> None:
        """Must be called when the use of the pool has changed."""
        self._state = None

    @property
    def state(self) -> PoolState:
        """The state of use; computed on demand, cost O(devices of the pool in use)."""
        if self._state is None:
            self._state = self._read_state()
        return self._state

    def _read_state(self) -> PoolState:
        usage, shape = self.pool.usage, self.shape
        taken, shares = 0, []
        for name in usage.devices:
            at = self.position.get(name)
            if at is None:
                continue
            # What is left of a device that was shared once cannot be given away as a whole.
            if usage.is_exclusive(name) or not shape.multi >> at & 1:
                taken |= 1 << at
            else:
                consumed = usage.sum_consumed_nano(name)
                capacity = shape.signatures[at].capacity
                shares.append((at, tuple(consumed.get(c.name, 0) for c in capacity)))
        remaining = self.pool.remaining_counters_nano() if shape.counters else ()
        groups = self.pool.used_groups() if shape.signatures else ()
        return PoolState(shape, taken, remaining, groups, tuple(sorted(shares)))


def _find_fault(pool: Pool, slice_count: int, names: list[str]) -> PoolFault | None:
    content = pool.content
    assert content is not None, "a pool without usable slices has no view"
    if content.count_conflict:
        return PoolFault("invalid", content.count_conflict)
    missing = content.find_incompleteness(slice_count)
    if missing:
        return PoolFault("incomplete", missing)
    if content.counter_conflict:
        return PoolFault("invalid", content.counter_conflict)
    if len(set(names)) < len(names):
        duplicate = min(n for n in set(names) if names.count(n) > 1)
        return PoolFault("invalid", f"duplicate device name {duplicate}")
    return None

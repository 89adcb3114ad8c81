"""All published devices and what is taken of them. One writer; the allocator reads."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from apportion.alloc.changes import ChangeLog
from apportion.alloc.class_index import ClassIndex
from apportion.alloc.features import Features
from apportion.alloc.picture import NodePictures
from apportion.alloc.pool import Pool
from apportion.alloc.pool_view import PoolView
from apportion.alloc.signature import SignatureIndex
from apportion.alloc.slices import PublishedSlice
from apportion.alloc.usage import Hold
from apportion.api.resource import AllocationResult, Device, DeviceClass, DeviceTaintRule, ResourceSlice

PoolKey = tuple[str, str]
# the feature that a node must declare before its kubelet leaves out what a slice's skipNodeOperations name (KEP-5945)
SKIPS_OPERATIONS: Final = "DRAOptionalNodeOperations"


@dataclass(frozen=True, slots=True)
class DriverTotals:
    """Device counts of one driver over the current generation of its pools."""

    driver: str
    devices: int
    used: int
    free: int
    tainted: int  # with a taint that keeps pods away unless tolerated


class DeviceTable:
    """Slices, classes, taint rules, nodes and holds, kept as the API reports them.

    Every change raises ``cursor``; objects equal to what is known change nothing.
    """

    def __init__(self, features: Features) -> None:
        self.features = features
        self.classes = ClassIndex()
        self._log = ChangeLog()
        self._signatures = SignatureIndex(features)
        self._slices: dict[str, PublishedSlice] = {}
        self._taking: set[str] = set()  # slices with devices that take something of their node's own resources
        self._pools: dict[PoolKey, Pool] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._holds: dict[str, tuple[Hold, ...]] = {}
        self._skipping_nodes: set[str] = set()
        self._pictures = NodePictures(self._pools)

    # ---- slices --------------------------------------------------------------------------------------------

    def apply_slice(self, slice: ResourceSlice) -> None:
        """Add or replace a slice, known by its name.

        Raises ValidationError, leaving the table as it was, when a quantity or node selector in it is wrong.
        """
        known = self._slices.get(slice.metadata.name)
        if known is not None and known.view.spec == slice.spec:
            return
        published = PublishedSlice(slice, self._signatures)
        if self._rules:
            published.apply_taints(self._ordered_rules(), self._signatures)
        if known is not None and known.pool_key != published.pool_key:
            self.remove_slice(known.name)
        pool = self._open_pool(published.pool_key)
        nodes = pool.find_home_nodes()
        self._slices[published.name] = published
        takes = any(d.view.node_allocatable_resources for d in published.devices)
        (self._taking.add if takes else self._taking.discard)(published.name)
        pool.put_slice(published)
        self._note_pool(pool, nodes)

    def remove_slice(self, name: str) -> None:
        published = self._slices.pop(name, None)
        if published is None:
            return
        self._taking.discard(name)
        pool = self._pools[published.pool_key]
        nodes = pool.find_home_nodes()
        pool.drop_slice(name)
        self._note_pool(pool, nodes)
        self._close_pool(pool)

    def _open_pool(self, key: PoolKey) -> Pool:
        pool = self._pools.get(key)
        if pool is None:
            pool = self._pools[key] = Pool(*key, self.features.partitionable_devices)
        return pool

    def _close_pool(self, pool: Pool) -> None:
        if pool.is_empty:
            del self._pools[pool.key]

    def _note_pool(self, pool: Pool, nodes_before: frozenset[str] | None) -> None:
        nodes = pool.find_home_nodes()
        affected = None if nodes is None or nodes_before is None else nodes | nodes_before
        self._pictures.forget_pool(pool.key, affected)
        self._log.add(affected)

    # ---- classes, taint rules, nodes -----------------------------------------------------------------------

    def apply_class(self, device_class: DeviceClass) -> None:
        if self.classes.apply(device_class):
            self._log.add(None)

    def remove_class(self, name: str) -> None:
        if self.classes.remove(name):
            self._log.add(None)

    def find_class(self, name: str) -> DeviceClass | None:
        return self.classes.find(name)

    @property
    def class_version(self) -> int:
        """Rises with every change of a class."""
        return self.classes.version

    def apply_taint_rule(self, rule: DeviceTaintRule) -> None:
        """Add or replace a rule; its taint joins the driver's own on every device that it selects."""
        known = self._rules.get(rule.metadata.name)
        if not self.features.device_taint_rules:
            return
        if known is None or known.spec != rule.spec:
            self._rules[rule.metadata.name] = rule
            self._apply_rules()

    def remove_taint_rule(self, name: str) -> None:
        if self._rules.pop(name, None) is not None:
            self._apply_rules()

    def _ordered_rules(self) -> list[DeviceTaintRule]:
        return [self._rules[name] for name in sorted(self._rules)]

    def _apply_rules(self) -> None:
        rules = self._ordered_rules()
        changed = [s for s in self._slices.values() if s.apply_taints(rules, self._signatures)]
        for key in sorted({s.pool_key for s in changed}):
            pool = self._pools[key]
            pool.forget_content()
            self._pictures.forget_pool(key, pool.find_home_nodes())
        if changed:
            self._log.add(None)

    def set_node(self, name: str, labels: dict[str, str], declared: Collection[str] = ()) -> None:
        """Add a node or replace its labels, which selectors of slices and devices read, and what it declares."""
        skips = SKIPS_OPERATIONS in declared
        changed = self._pictures.set_labels(name, labels)
        if skips != (name in self._skipping_nodes):
            (self._skipping_nodes.add if skips else self._skipping_nodes.discard)(name)
            changed = changed or self.features.optional_node_operations
        if changed:
            self._log.add(frozenset((name,)))

    def remove_node(self, name: str) -> None:
        self._skipping_nodes.discard(name)
        if self._pictures.drop_node(name):
            self._log.add(frozenset((name,)))

    def may_skip_operations(self, node: str) -> bool:
        """Return whether devices that skip node operations can be used on a node."""
        return self.features.optional_node_operations and node in self._skipping_nodes

    # ---- holds ---------------------------------------------------------------------------------------------

    def take(self, holder: str, allocation: AllocationResult) -> None:
        """Note that ``holder`` (a claim uid) has these devices, instead of any it had before.

        Devices with admin access are not taken. Raises ValidationError when a consumed capacity is not a
        quantity.
        """
        shares = self.features.consumable_capacity
        holds = tuple(Hold.from_result(r, shares) for r in allocation.devices.results if not r.admin_access)
        if holds != self._holds.get(holder, ()):
            self.give_back(holder)
            if holds:
                self._holds[holder] = holds
                self._move(holds, taken=True)

    def give_back(self, holder: str) -> None:
        """Free the devices of ``holder``; without any this changes nothing."""
        holds = self._holds.pop(holder, None)
        if holds:
            self._move(holds, taken=False)

    def _move(self, holds: tuple[Hold, ...], taken: bool) -> None:
        nodes: set[str] | None = set()
        for key in sorted({(h.driver, h.pool) for h in holds}):
            pool = self._open_pool(key)
            for hold in holds:
                if (hold.driver, hold.pool) == key:
                    (pool.usage.add if taken else pool.usage.remove)(hold)
            homes = pool.find_home_nodes()
            self._pictures.forget_state(key)
            nodes = None if nodes is None or homes is None else nodes | homes
            self._close_pool(pool)
        self._log.add(None if nodes is None else frozenset(nodes))

    # ---- reading -------------------------------------------------------------------------------------------

    @property
    def cursor(self) -> int:
        """Rises on every change."""
        return self._log.cursor

    def changed_nodes(self, since: int) -> frozenset[str] | None:
        """Return the nodes whose picture changed after that cursor; None stands for any of them.

        Any node may be affected by a class, a taint rule, or a pool that reaches beyond the nodes that publish
        it. Cost O(changes since).
        """
        return self._log.changed_nodes(since)

    def get_pools_at(self, node: str) -> tuple[PoolView, ...]:
        """Return the pools that ``node`` sees, in first-fit order: those with binding conditions last."""
        return self._pictures.get_views(node)

    def get_pools_without(self, node: str, holders: Collection[str]) -> tuple[PoolView, ...]:
        """Return the same as if these holders had given back what they have; nothing changes."""
        freed: dict[PoolKey, list[Hold]] = {}
        for holder in holders:
            for hold in self._holds.get(holder, ()):
                freed.setdefault((hold.driver, hold.pool), []).append(hold)
        return tuple(v.without(freed[v.pool.key]) if v.pool.key in freed else v for v in self.get_pools_at(node))

    def get_pools(self) -> Iterator[Pool]:
        """Yield all pools by driver and name."""
        for key in sorted(self._pools):
            yield self._pools[key]

    def find_device(self, driver: str, pool: str, device: str) -> Device | None:
        """Return a device as it is published now."""
        found = self._pools.get((driver, pool))
        return found.content.views.get(device) if found is not None and found.content is not None else None

    @property
    def has_node_allocatable(self) -> bool:
        """Whether devices take something of their node's own resources, and whether that counts."""
        return self.features.node_allocatable and bool(self._taking)

    def totals(self) -> list[DriverTotals]:
        """Count devices by driver, sorted; cost O(devices)."""
        rows: dict[str, list[int]] = {}
        for pool in self.get_pools():
            if pool.content is None:
                continue
            row = rows.setdefault(pool.driver, [0, 0, 0])
            for name, signature in pool.content.devices.items():
                row[0] += 1
                row[1] += pool.usage.is_used(name)
                row[2] += bool(signature.blocking_taints)
        return [DriverTotals(d, n, used, n - used, tainted) for d, (n, used, tainted) in rows.items()]

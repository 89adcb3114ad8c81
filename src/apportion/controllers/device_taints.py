"""NoExecute taints of devices, and when they end the stay of those who use the devices.

Behaviour: pkg/controller/devicetainteviction, except that a toleration without effect counts for every effect, as the
API says (upstream lets such a pod start and then evicts it).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from apportion.api.resource import (
    AllocationResult,
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    ResourceClaimStatus,
    ResourceSlice,
)
from apportion.api.selectors import tolerates
from apportion.api.view import ObjectMeta, View
from apportion.controllers.times import parse_time

NO_EXECUTE: Final = "NoExecute"
PoolKey = tuple[str, str]


class ClaimView(View):
    """A claim's devices and users."""

    metadata: ObjectMeta = ObjectMeta()
    status: ResourceClaimStatus = ResourceClaimStatus()

    @property
    def allocation(self) -> AllocationResult | None:
        """The devices of the claim."""
        return self.status.allocation

    @property
    def pools(self) -> set[PoolKey]:
        """The pools that its devices are from."""
        return {(r.driver, r.pool) for r in self.allocation.devices.results} if self.allocation is not None else set()


class Eviction(NamedTuple):
    """When a pod has to go, and the uids of the taint rules that say so."""

    due_s: float
    rules: frozenset[str]


def merge(evictions: list[Eviction]) -> Eviction | None:
    """Return the earliest time and all rules, None for no eviction."""
    if not evictions:
        return None
    return Eviction(min(e.due_s for e in evictions), frozenset().union(*(e.rules for e in evictions)))


@dataclass(frozen=True, slots=True)
class _Taint:
    taint: DeviceTaint
    rule: str  # uid, "" for one that the driver set


def selects(selector: DeviceTaintSelector | None, driver: str, pool: str, device: str) -> bool:
    """Return whether a rule is about a device; one without selector is about none."""
    return (
        selector is not None
        and selector.driver in (None, driver)
        and selector.pool in (None, pool)
        and selector.device in (None, device)
    )


class DeviceTaints:
    """What slices and rules say. ``rules`` are by name; of each pool the newest generation counts."""

    def __init__(self) -> None:
        self.rules: dict[str, DeviceTaintRule] = {}
        self._slices: dict[str, ResourceSlice] = {}
        self._pools: dict[PoolKey, dict[str, ResourceSlice]] = {}

    def set_slice(self, view: ResourceSlice) -> None:
        """Add or replace a slice."""
        self.remove_slice(view.metadata.name)
        self._slices[view.metadata.name] = view
        self._pools.setdefault((view.spec.driver, view.spec.pool.name), {})[view.metadata.name] = view

    def remove_slice(self, name: str) -> None:
        """Forget a slice."""
        known = self._slices.pop(name, None)
        if known is not None:
            key = (known.spec.driver, known.spec.pool.name)
            del self._pools[key][name]
            if not self._pools[key]:
                del self._pools[key]

    def list_slices(self, key: PoolKey) -> list[ResourceSlice]:
        """Return the slices of a pool that count."""
        slices = self._pools.get(key, {})
        newest = max((s.spec.pool.generation for s in slices.values()), default=0)
        return [s for s in slices.values() if s.spec.pool.generation == newest]

    def count_selected(self, rule: DeviceTaintRule) -> int:
        """Return how many published devices a rule is about."""
        return sum(
            selects(rule.spec.device_selector, key[0], key[1], device.name)
            for key in self._pools
            for view in self.list_slices(key)
            for device in view.spec.devices
        )

    def find_eviction(self, allocation: AllocationResult, extra: DeviceTaintRule | None = None) -> Eviction | None:
        """Return when whoever uses these devices has to go.

        ``extra`` is a rule to be counted as if its effect were NoExecute.
        """
        evictions = []
        for result in allocation.devices.results:
            for found in self._list_taints(result, extra):
                due_s = _find_due(result, found.taint)
                if due_s is not None:
                    evictions.append(Eviction(due_s, frozenset({found.rule}) if found.rule else frozenset()))
        return merge(evictions)

    def _list_taints(self, result: DeviceRequestAllocationResult, extra: DeviceTaintRule | None) -> Iterator[_Taint]:
        for rule in self.rules.values():
            taint = rule.spec.taint
            if extra is not None and rule.metadata.uid == extra.metadata.uid:
                taint = msgspec.structs.replace(taint, effect=NO_EXECUTE)
            if taint.effect == NO_EXECUTE and selects(
                rule.spec.device_selector, result.driver, result.pool, result.device
            ):
                yield _Taint(taint, rule.metadata.uid)
        for view in self.list_slices((result.driver, result.pool)):
            for device in view.spec.devices:
                if device.name == result.device:
                    yield from (_Taint(t, "") for t in device.taints if t.effect == NO_EXECUTE)


def _find_due(result: DeviceRequestAllocationResult, taint: DeviceTaint) -> float | None:
    """Return when a taint ends the use of a device, None when it is tolerated for good."""
    tolerations = [t for t in result.tolerations if tolerates(t, taint)]
    if any(t.toleration_seconds is None for t in tolerations):
        return None
    since_s = parse_time(taint.time_added) if taint.time_added else 0.0
    return since_s + min((max(t.toleration_seconds or 0, 0) for t in tolerations), default=0)

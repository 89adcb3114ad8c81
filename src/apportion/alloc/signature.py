"""Device signatures: everything that decides about a device apart from its name and place.

Equal devices share one signature, so selectors are evaluated and quantities are parsed once per signature.
"""

from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from apportion.alloc.features import Features
from apportion.api.quantity import parse_quantity
from apportion.api.resource import CapacityRequestPolicy, Device, DeviceAttribute, DeviceTaint
from apportion.api.view import QuantityText
from apportion.base import InputError, ValidationError
from apportion.cel import DeviceFacts, device_facts

_BLOCKING_EFFECTS: Final = ("NoSchedule", "NoExecute")
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class Capacity:
    """One capacity of a device; amounts are in nano units."""

    name: str
    value_nano: int
    text: QuantityText
    policy: CapacityRequestPolicy | None


@dataclass(frozen=True, slots=True)
class Consumption:
    """What a device draws from one counter of its pool, in nano units."""

    counter_set: str
    counter: str
    amount_nano: int


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Signature:
    """An interned description; two devices with the same object are interchangeable but for their place."""

    driver: str
    facts: DeviceFacts
    attributes: dict[str, DeviceAttribute]
    multi: bool  # allowMultipleAllocations, while consumable capacity is on
    capacity: tuple[Capacity, ...]  # sorted by name
    consumes: tuple[Consumption, ...]
    groups: tuple[tuple[str, frozenset[str]], ...]  # (counter set, compatibility groups)
    blocking_taints: tuple[DeviceTaint, ...]
    has_binding_conditions: bool
    skips_node_operations: bool

    def find_attribute(self, name: str) -> DeviceAttribute | None:
        """Look up a fully qualified name; a bare id counts as being in the driver's domain."""
        found = self.attributes.get(name)
        if found is None:
            domain, slash, bare = name.partition("/")
            if slash and domain == self.driver:
                found = self.attributes.get(bare)
        return found


class SignatureIndex:
    """Interns signatures; one that no device and no cached answer refers to goes away."""

    def __init__(self, features: Features) -> None:
        self._features = features
        self._known: WeakValueDictionary[tuple[str, bytes], Signature] = WeakValueDictionary()

    def intern(
        self, driver: str, device: Device, extra_taints: tuple[DeviceTaint, ...] = (), skips: bool = False
    ) -> Signature:
        """Return the signature of ``device`` with ``extra_taints`` (from taint rules) added.

        Raises ValidationError with the field path below the device for a quantity that cannot be read.
        """
        taints = device.taints + extra_taints
        facts = (
            device.attributes,
            device.capacity,
            device.consumes_counters,
            device.allow_multiple_allocations,
            bool(device.binding_conditions),
            [(t.key, t.value, t.effect) for t in taints],
            skips,
        )
        key = (driver, _ENCODER.encode(facts))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._build(driver, device, taints, skips)
        return found

    def _build(self, driver: str, device: Device, taints: tuple[DeviceTaint, ...], skips: bool) -> Signature:
        features = self._features
        blocking = tuple(t for t in taints if t.effect in _BLOCKING_EFFECTS) if features.device_taints else ()
        return Signature(
            driver=driver,
            facts=device_facts(driver, device),
            attributes=device.attributes,
            multi=features.consumable_capacity and bool(device.allow_multiple_allocations),
            capacity=_read_capacity(device),
            consumes=_read_consumption(device),
            groups=tuple((c.counter_set, frozenset(c.compatibility_groups)) for c in device.consumes_counters),
            blocking_taints=blocking,
            has_binding_conditions=bool(device.binding_conditions),
            skips_node_operations=skips,
        )


def _read_capacity(device: Device) -> tuple[Capacity, ...]:
    return tuple(
        Capacity(name, read_nano(c.value, f"capacity[{name}].value"), c.value, c.request_policy)
        for name, c in sorted(device.capacity.items())
    )


def _read_consumption(device: Device) -> tuple[Consumption, ...]:
    return tuple(
        Consumption(
            c.counter_set,
            name,
            read_nano(counter.value, f"consumesCounters[{i}].counters[{name}].value"),
        )
        for i, c in enumerate(device.consumes_counters)
        for name, counter in sorted(c.counters.items())
    )


def read_nano(raw: QuantityText, field: str) -> int:
    """Return the amount in nano units; raises ValidationError naming ``field``."""
    try:
        return parse_quantity(raw).nano
    except InputError as error:
        raise ValidationError(field, str(error)) from None

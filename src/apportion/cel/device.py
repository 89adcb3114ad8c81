"""What an expression sees of one device."""

from collections.abc import Mapping
from functools import cached_property
from typing import TypeVar

from apportion.api.quantity import parse_quantity
from apportion.api.resource import Device, DeviceAttribute
from apportion.base import InputError
from apportion.cel.library.semver import parse_semver
from apportion.cel.values import DomainMap, Failure, Value

_T = TypeVar("_T")


class DeviceFacts:
    """The variable ``device``, built once per device signature.

    ``broken`` is the error that every evaluation on this device returns, or None: an attribute that cannot be
    read fails expressions that never look at it, too (as upstream).
    """

    def __init__(
        self, driver: str, attributes: DomainMap, capacity: DomainMap, shared: bool, broken: str | None
    ) -> None:
        self.driver = driver
        self.attributes = attributes
        self.capacity = capacity
        self.allow_multiple_allocations = shared
        self.broken = broken

    @cached_property
    def fields(self) -> dict[str, Value]:
        """The fields of ``device`` by their CEL names."""
        return {
            "driver": self.driver,
            "attributes": self.attributes,
            "capacity": self.capacity,
            "allowMultipleAllocations": self.allow_multiple_allocations,
        }


def device_facts(driver: str, device: Device) -> DeviceFacts:
    """Return the facts of ``device``, whose unqualified names belong to the domain ``driver``; never raises.

    Source of the behaviour: k8s.io/dynamic-resource-allocation/cel/compile.go (DeviceMatches).
    """
    broken: list[str] = []
    attributes = DomainMap()
    for domain, name, key, attribute in _by_domain(device.attributes, driver):
        value = _read_attribute(attribute)
        if isinstance(value, Failure):
            broken.append(f"attribute {key}: {value.message}")
        else:
            attributes.setdefault(domain, {})[name] = value
    capacity = DomainMap()
    for domain, name, key, entry in _by_domain(device.capacity, driver):
        try:
            capacity.setdefault(domain, {})[name] = parse_quantity(entry.value)
        except InputError as error:
            broken.append(f"capacity {key}: {error}")
    shared = bool(device.allow_multiple_allocations)
    return DeviceFacts(driver, attributes, capacity, shared, broken[0] if broken else None)


def _by_domain(entries: Mapping[str, _T], driver: str) -> list[tuple[str, str, str, _T]]:
    """Return domain, bare name, name as written and entry, in an order that does not depend on the source."""
    found = []
    for key, entry in sorted(entries.items()):
        domain, slash, name = key.partition("/")
        found.append((domain, name, key, entry) if slash else (driver, key, key, entry))
    return found


def _read_attribute(attribute: DeviceAttribute) -> Value:
    for items in (attribute.int_values, attribute.bool_values, attribute.string_values):
        if items is not None:
            return tuple(items)
    if attribute.version_values is not None:
        versions = tuple(_read_version(text) for text in attribute.version_values)
        return next((v for v in versions if isinstance(v, Failure)), versions)
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if value is not None:
            return value
    if attribute.version_value is not None:
        return _read_version(attribute.version_value)
    return Failure("unsupported attribute value: set exactly one of int, bool, string, version or a list of them")


def _read_version(text: str) -> Value:
    version = parse_semver(text)
    if isinstance(version, Failure):
        return Failure(f"parse semantic version: {version.message}; publish {text!r} as a string instead")
    return version

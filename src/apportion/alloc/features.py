"""Which optional parts of the allocator are on."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final

from apportion.cel import CelFeatures

# field -> the upstream gates that must all be on
_GATES: Final[Mapping[str, tuple[str, ...]]] = {
    "admin_access": ("DRAAdminAccess",),
    "prioritized_list": ("DRAPrioritizedList",),
    "device_taints": ("DRADeviceTaints",),
    "device_taint_rules": ("DRADeviceTaints", "DRADeviceTaintRules"),
    "partitionable_devices": ("DRAPartitionableDevices",),
    "consumable_capacity": ("DRAConsumableCapacity",),
    "binding_conditions": ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"),
    "fractional_range": ("DRAFractionalCapacityRange",),
    "list_type_attributes": ("DRAListTypeAttributes",),
    "compatibility_groups": ("DRADeviceCompatibilityGroups",),
    "derived_attributes": ("DRADerivedAttributes",),
    "optional_node_operations": ("DRAOptionalNodeOperations",),
    "node_allocatable": ("DRANodeAllocatableResources",),
}

# Stored expressions may use everything this release knows, whatever the gates say (they guard new objects).
STORED_EXPRESSIONS: Final = CelFeatures(list_type_attributes=True, consumable_capacity=True)


@dataclass(frozen=True, slots=True)
class Features:
    """What the allocator checks; the defaults are those of Kubernetes 1.37."""

    admin_access: bool = True
    prioritized_list: bool = True
    device_taints: bool = True
    device_taint_rules: bool = True
    partitionable_devices: bool = True
    consumable_capacity: bool = True
    binding_conditions: bool = True
    fractional_range: bool = True
    list_type_attributes: bool = False
    compatibility_groups: bool = False
    derived_attributes: bool = False
    optional_node_operations: bool = False
    node_allocatable: bool = False

    @property
    def channel(self) -> str:
        """The first of upstream's allocators (stable, incubating, experimental) that has all these features."""
        if self.list_type_attributes or self.derived_attributes or self.compatibility_groups:
            return "experimental"
        return "incubating" if self.binding_conditions or self.consumable_capacity else "stable"

    @classmethod
    def from_gates(cls, gates: Mapping[str, bool]) -> "Features":
        """Read upstream gate names; a gate that is not named has its 1.37 default."""
        defaults = cls()
        chosen: dict[str, bool] = {}
        for field in fields(cls):
            named = [gates[g] for g in _GATES[field.name] if g in gates]
            # A pair of gates is on by default only as a pair, so one gate switched off is enough.
            chosen[field.name] = all(named) if named else getattr(defaults, field.name)
        return cls(**chosen)

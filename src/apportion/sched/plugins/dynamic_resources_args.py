"""The arguments of DynamicResources in a scheduler configuration. Source: DynamicResourcesArgs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apportion.base import ConfigError, InputError, parse_duration

FILTER_TIMEOUT_S: Final = 10.0
BINDING_TIMEOUT_S: Final = 600.0
_BINDING_TIMEOUT_S_MIN: Final = 1.0
# Time is counted in steps, so that equal problems end equally on every machine; about a tenth of a second each 10,000.
STEPS_PER_S: Final = 5_000
_UNLIMITED_S: Final = 1_000.0


@dataclass(frozen=True, slots=True)
class DynamicResourcesArgs:
    """How much work a search may take, as seconds of upstream's clock (0: any), and how long devices are waited for."""

    filter_timeout_s: float = FILTER_TIMEOUT_S
    binding_timeout_s: float = BINDING_TIMEOUT_S

    @property
    def steps_max(self) -> int:
        """The most steps that the search on one node may take; without timeout that is a hundred times the default."""
        return max(int((self.filter_timeout_s or _UNLIMITED_S) * STEPS_PER_S), 1)


def read_args(args: Mapping[str, object], has_filter_timeout: bool, has_conditions: bool) -> DynamicResourcesArgs:
    """Read the arguments; the flags say which of the features they belong to are on. Raises ConfigError."""
    filter_s = _read(args, "filterTimeout", FILTER_TIMEOUT_S)
    binding_s = _read(args, "bindingTimeout", BINDING_TIMEOUT_S)
    if filter_s < 0:
        raise ConfigError("DynamicResourcesArgs.filterTimeout: must be zero or greater")
    if binding_s < _BINDING_TIMEOUT_S_MIN:
        raise ConfigError("DynamicResourcesArgs.bindingTimeout: must be at least 1 second")
    if "bindingTimeout" in args and not has_conditions:
        gates = "DRADeviceBindingConditions and DRAResourceClaimDeviceStatus"
        raise ConfigError(f"DynamicResourcesArgs.bindingTimeout: needs the feature gates {gates}")
    return DynamicResourcesArgs(filter_s if has_filter_timeout else 0.0, binding_s)


def _read(args: Mapping[str, object], name: str, default_s: float) -> float:
    value = args.get(name)
    if value is None:
        return default_s
    try:
        if isinstance(value, str):
            return parse_duration(value)
    except InputError as fault:
        raise ConfigError(f"DynamicResourcesArgs.{name}: {fault}") from fault
    raise ConfigError(f"DynamicResourcesArgs.{name}: must be a text like 10s or 1m30s")

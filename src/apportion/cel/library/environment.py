"""The environment of a device selector: its functions, and the type of the one variable, ``device``.

Source of the behaviour: k8s.io/apiserver/pkg/cel/environment/base.go at compatibility version 1.37 and
k8s.io/dynamic-resource-allocation/cel/compile.go. Left out: the authorizer, image and format libraries.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Final

from apportion.cel.language import types
from apportion.cel.language.types import Type, map_of
from apportion.cel.library import convert, kubernetes, lists, operators, optionals, strings, time
from apportion.cel.library.declare import Overload
from apportion.cel.values import Value

DEVICE_VARIABLE: Final = "device"
TYPE_NAMES: Final = {
    "bool": types.BOOL,
    "bytes": types.BYTES,
    "double": types.DOUBLE,
    "dyn": types.DYN,
    "int": types.INT,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
    "null_type": types.NULL,
    "string": types.STRING,
    "type": types.type_of(types.DYN),
    "uint": types.UINT,
}


@dataclass(frozen=True, slots=True)
class CelFeatures:
    """Which gated parts of the environment exist.

    ``list_type_attributes`` is the gate DRAListTypeAttributes, ``consumable_capacity`` DRAConsumableCapacity.
    """

    list_type_attributes: bool = False
    consumable_capacity: bool = True


class Dispatcher:
    """Finds the overload for the Python classes of the operands; remembers what it found."""

    __slots__ = ("_found", "_overloads")

    def __init__(self, overloads: list[Overload]) -> None:
        self._overloads = overloads
        self._found: dict[tuple[type, ...], Callable[..., Value] | None] = {}

    def find(self, classes: tuple[type, ...]) -> Callable[..., Value] | None:
        """Return the function to call, or None when no overload takes such operands."""
        try:
            return self._found[classes]
        except KeyError:
            run = next((o.run for o in self._overloads if o.accepts(classes)), None)
            self._found[classes] = run
            return run


class Environment:
    """All that the checker needs to know besides the expression."""

    def __init__(self, features: CelFeatures) -> None:
        self.features = features
        # With list attributes the type must allow iteration, which `any` does not.
        self.attribute_type: Type = types.DYN if features.list_type_attributes else types.ANY

    @cached_property
    def functions(self) -> dict[str, list[Overload]]:
        """The overloads by function name, in the order of declaration."""
        libraries = (operators, convert, time, strings, lists, optionals, kubernetes)
        overloads = [o for library in libraries for o in library.OVERLOADS]
        if self.features.list_type_attributes:
            overloads.extend(lists.INCLUDES)
        overloads.sort(key=lambda o: o.function)
        return {name: list(group) for name, group in groupby(overloads, key=lambda o: o.function)}

    @cached_property
    def device_fields(self) -> dict[str, Type]:
        """The fields of ``device``."""
        fields = {
            "driver": types.STRING,
            "attributes": map_of(types.STRING, map_of(types.STRING, self.attribute_type)),
            "capacity": map_of(types.STRING, map_of(types.STRING, types.QUANTITY)),
        }
        if self.features.consumable_capacity:
            fields["allowMultipleAllocations"] = types.BOOL
        return fields


@lru_cache(maxsize=4)
def get_environment(features: CelFeatures) -> Environment:
    """Return the environment for ``features``; there are four at most."""
    return Environment(features)

"""Sizes as ranges, and the sizes that the fields of ``device`` can have at most.

Amounts saturate at 2**64 - 1, which also stands for "unknown", as in cel-go (checker/cost.go).
"""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

UNKNOWN: Final = (1 << 64) - 1
Path: TypeAlias = tuple[str, ...]

_MAP_SIZE_MAX: Final = 32
_DOMAIN_LENGTH_MAX: Final = 63
_NAME_LENGTH_MAX: Final = 32
# Holds for the length of a string as well as for the number of values in a list.
_VALUE_SIZE_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Size:
    """Fewest and most characters, bytes or items."""

    least: int
    most: int

    def plus(self, other: "Size") -> "Size":
        """Return the size of both together."""
        return Size(saturate(self.least + other.least), saturate(self.most + other.most))

    def times(self, other: "Size") -> "Size":
        """Return the size of one for each of the other."""
        return Size(saturate(self.least * other.least), saturate(self.most * other.most))

    def union(self, other: "Size") -> "Size":
        """Return the size that may be either."""
        return Size(min(self.least, other.least), max(self.most, other.most))


UNKNOWN_SIZE: Final = Size(0, UNKNOWN)


def saturate(amount: int) -> int:
    """Return ``amount``, at most 2**64 - 1."""
    return min(amount, UNKNOWN)


def scale(amount: int, factor: float) -> int:
    """Return ``amount * factor`` in double precision, rounded up."""
    product = math.ceil(float(amount) * factor)
    return saturate(product)


def find_path_size(path: Path | None) -> Size | None:
    """Return how large the value at a path from ``device`` can be, or None when that is not declared.

    Source of the limits: k8s.io/dynamic-resource-allocation/cel/compile.go (sizeEstimator).
    """
    match path:
        case ("device", "driver"):
            most = _DOMAIN_LENGTH_MAX
        case ("device", "allowMultipleAllocations"):
            most = 1
        case ("device", "attributes" | "capacity"):
            most = _MAP_SIZE_MAX
        case ("device", "attributes" | "capacity", "@keys"):
            most = _DOMAIN_LENGTH_MAX
        case ("device", "attributes" | "capacity", "@values"):
            most = _MAP_SIZE_MAX
        case ("device", "attributes" | "capacity", "@values", "@keys"):
            most = _NAME_LENGTH_MAX
        case ("device", "attributes", "@values", name) if name != "@items":
            most = _VALUE_SIZE_MAX
        case _:
            return None
    return Size(0, most)

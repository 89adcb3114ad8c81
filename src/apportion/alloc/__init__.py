"""Device allocation: claims + pools + taken devices give results. Pure search, no I/O."""

from apportion.alloc.allocator import Allocator, Answer, ClaimInput, Problem
from apportion.alloc.features import Features
from apportion.alloc.table import DeviceTable, DriverTotals

__all__ = [
    "Allocator",
    "Answer",
    "ClaimInput",
    "DeviceTable",
    "DriverTotals",
    "Features",
    "Problem",
]

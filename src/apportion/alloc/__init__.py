"""Device allocation: claims + pools + taken devices give results. Pure search, no I/O."""

from apportion.alloc.allocator import Allocator, Answer, ClaimInput, Problem
from apportion.alloc.class_counts import ClassCounts
from apportion.alloc.explanation import (
    ClaimExplanation,
    ConstraintExplanation,
    Explanation,
    PoolProblem,
    RequestExplanation,
    SelectorError,
)
from apportion.alloc.features import Features
from apportion.alloc.table import DeviceTable, DriverTotals

__all__ = [
    "Allocator",
    "Answer",
    "ClaimExplanation",
    "ClaimInput",
    "ClassCounts",
    "ConstraintExplanation",
    "DeviceTable",
    "DriverTotals",
    "Explanation",
    "Features",
    "PoolProblem",
    "Problem",
    "RequestExplanation",
    "SelectorError",
]

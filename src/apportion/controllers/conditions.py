"""Conditions in the status of a workload, as lists of trees."""

from collections.abc import Sequence

from apportion.api import Tree


def find_condition(conditions: Sequence[Tree], name: str) -> Tree | None:
    """Return the condition of a type."""
    return next((c for c in conditions if c.get("type") == name), None)


def has_true(conditions: Sequence[Tree], name: str) -> bool:
    """Return whether a condition holds."""
    found = find_condition(conditions, name)
    return found is not None and found.get("status") == "True"

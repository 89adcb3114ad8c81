"""Fields that do not change any more, in the words of the API server."""

from collections.abc import Callable
from typing import Any, TypeAlias

import orjson

from apportion.api import Tree
from apportion.base import ValidationError

# Compares a new object with the one before, and returns what changed although it must not.
UpdateRule: TypeAlias = Callable[[Tree, Tree], list[ValidationError]]
IMMUTABLE = "field is immutable"


def invalid(field: str, value: Any, why: str) -> ValidationError:
    printed = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return ValidationError(field, f"Invalid value: {printed}: {why}")


def forbidden(field: str, why: str) -> ValidationError:
    return ValidationError(field, f"Forbidden: {why}")


def read_path(tree: Tree, *path: str) -> Any:
    """Return the value at a path, None when there is none."""
    value: Any = tree
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def fix(*paths: str, why: str = IMMUTABLE) -> UpdateRule:
    """Return a rule that the fields at some dotted paths must not change."""

    split = [(p, p.split(".")) for p in paths]

    def check(new: Tree, old: Tree) -> list[ValidationError]:
        return [invalid(path, value, why) for path, value in _find_changed(new, old, split)]

    return check


def _find_changed(new: Tree, old: Tree, paths: list[tuple[str, list[str]]]) -> list[tuple[str, Any]]:
    """Return the paths whose values differ, with the new ones."""
    changed = []
    for path, parts in paths:
        value = read_path(new, *parts)
        if value != read_path(old, *parts):
            changed.append((path, value))
    return changed


def forbid(*paths: str, why: str) -> UpdateRule:
    """Return a rule that says "Forbidden" about changed fields; ``{}`` in the text is the path."""

    split = [(p, p.split(".")) for p in paths]

    def check(new: Tree, old: Tree) -> list[ValidationError]:
        return [forbidden(path, why.format(path)) for path, _ in _find_changed(new, old, split)]

    return check


def join(*rules: UpdateRule) -> UpdateRule:
    """Return a rule that finds what each of several finds."""
    return lambda new, old: [error for rule in rules for error in rule(new, old)]

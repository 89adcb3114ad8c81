"""Partial objects against whole ones: where they differ, field by field."""

from dataclasses import dataclass
from typing import Any, Final

import orjson

from apportion.api import parse_quantity
from apportion.base import InputError
from apportion.server import Shape

ABSENT: Final = "absent"
_NOTHING: Final = Shape("*")


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that is not as expected."""

    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.path}: expected {_show(self.expected)}, found {_show(self.found)}"


def compare(expected: Any, found: Any, shape: Shape | None = None, path: str = "") -> list[Difference]:
    """Return where ``found`` is not as ``expected``: empty when it matches.

    Maps match by key, lists by their merge key when the expected items carry it, else by position and length; None
    means that a field is absent, ``{contains: TEXT}`` stands for any text with TEXT in it.
    """
    shape = shape or _NOTHING
    if is_contains(expected):
        return [] if matches_text(expected, found) else [Difference(path, expected, found)]
    if isinstance(expected, dict):
        return _compare_map(expected, found, shape, path)
    if isinstance(expected, list):
        return _compare_list(expected, found, shape, path)
    return [] if _equal(expected, found, shape) else [Difference(path, expected, found)]


def is_contains(expected: Any) -> bool:
    """Return whether an expected value stands for a part of a text."""
    return isinstance(expected, dict) and expected.keys() == {"contains"} and isinstance(expected["contains"], str)


def matches_text(expected: Any, found: Any) -> bool:
    """Return whether a text is the expected one or has the expected part in it."""
    if is_contains(expected):
        return isinstance(found, str) and expected["contains"] in found
    return bool(expected == found)


def _compare_map(expected: dict[str, Any], found: Any, shape: Shape, path: str) -> list[Difference]:
    if not isinstance(found, dict):
        return [Difference(path, expected, ABSENT if found is None else found)]
    differences = []
    for name, wanted in expected.items():
        inner = f"{path}.{name}" if path else name
        have = found.get(name)
        part = shape.fields.get(name) if shape.fields else shape.item
        if wanted is None:
            differences += [] if have is None else [Difference(inner, ABSENT, have)]
        elif have is None and wanted != []:
            differences.append(Difference(inner, wanted, ABSENT))
        else:
            differences += compare(wanted, have, part, inner)
    return differences


def _compare_list(expected: list[Any], found: Any, shape: Shape, path: str) -> list[Difference]:
    found = found or []
    if not isinstance(found, list):
        return [Difference(path, expected, found)]
    item, key = shape.item, shape.merge_key
    if key and expected and all(isinstance(e, dict) and key in e and not is_contains(e[key]) for e in expected):
        by_key = {str(f.get(key)): f for f in found if isinstance(f, dict)}
        differences = []
        for wanted in expected:
            inner = f"{path}[{key}={wanted[key]}]"
            have = by_key.get(str(wanted[key]))
            differences += [Difference(inner, wanted, ABSENT)] if have is None else compare(wanted, have, item, inner)
        return differences
    if len(expected) != len(found):
        return [Difference(path, expected, found)]
    pairs = enumerate(zip(expected, found, strict=True))
    return [d for i, (e, f) in pairs for d in compare(e, f, item, f"{path}[{i}]")]


def _equal(expected: Any, found: Any, shape: Shape) -> bool:
    is_comparable = type(expected) is type(found) or {type(expected), type(found)} == {int, float}
    if is_comparable and expected == found:
        return True
    if shape.code != "q" or expected is None or found is None:
        return False
    try:  # 1 and "1000m" are one quantity
        return parse_quantity(str(expected)) == parse_quantity(str(found))
    except InputError:
        return False


def _show(value: Any) -> str:
    return value if value is ABSENT else orjson.dumps(value).decode()

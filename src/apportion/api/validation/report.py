"""Collecting what is wrong with one object, in the words that the API server uses for it."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec
import orjson

from apportion.base import ValidationError

T = TypeVar("T")

_ERRORS_MAX: Final = 100


class FieldErrors:
    """The errors of one object. Source of the texts: apimachinery/pkg/util/validation/field/errors.go."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[ValidationError] = []

    def add(self, field: str, detail: str) -> None:
        """Record an error; an object that is wrong in more than a hundred places lists the first hundred."""
        if len(self.found) < _ERRORS_MAX:
            self.found.append(ValidationError(field, detail))

    def required(self, field: str, why: str = "") -> None:
        self.add(field, f"Required value: {why}" if why else "Required value")

    def invalid(self, field: str, value: Any, why: str) -> None:
        self.add(field, f"Invalid value: {print_value(value)}: {why}")

    def forbidden(self, field: str, why: str) -> None:
        self.add(field, f"Forbidden: {why}")

    def duplicate(self, field: str, value: Any) -> None:
        self.add(field, f"Duplicate value: {print_value(value)}")

    def unsupported(self, field: str, value: str, supported: tuple[str, ...]) -> None:
        known = ", ".join(print_value(s) for s in supported)
        self.add(field, f"Unsupported value: {print_value(value)}: supported values: {known}")

    def not_found(self, field: str, value: str, why: str) -> None:
        self.add(field, f"Not found: {print_value(value)}: {why}")

    def too_long(self, field: str, bytes_max: int) -> None:
        self.add(field, f"Too long: may not be more than {bytes_max} bytes")

    def check_length(self, field: str, text: str, bytes_max: int) -> bool:
        """Record an error when the text is too long; return whether it was."""
        too_long = len(text.encode()) > bytes_max
        if too_long:
            self.too_long(field, bytes_max)
        return too_long

    def check_count(self, field: str, count: int, items_max: int) -> None:
        """Record an error when a list or map has too many items."""
        if count > items_max:
            self.add(field, f"Too many: {count}: must have at most {items_max} items")

    def bounded(self, field: str, items: Sequence[T], items_max: int) -> Iterator[tuple[int, T]]:
        """Yield the items with their index; when there are too many, record that and yield none."""
        if len(items) > items_max:
            self.check_count(field, len(items), items_max)
        else:
            yield from enumerate(items)

    def check_format(self, field: str, value: str, problems: tuple[str, ...]) -> None:
        """Record each problem that a format check (``names``) found with the value."""
        for problem in problems:
            self.invalid(field, value, problem)

    def check_choice(self, field: str, value: str, supported: tuple[str, ...]) -> bool:
        """Record an error unless the value is one of those supported; return whether it is."""
        if value in supported:
            return True
        self.unsupported(field, value, supported)
        return False


def print_value(value: Any) -> str:
    """Return a value as it stands in messages of the API server: text quoted, objects as JSON."""
    if isinstance(value, msgspec.Struct):
        return msgspec.json.encode(value).decode()
    return orjson.dumps(value).decode()

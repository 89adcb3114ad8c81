"""Regular expressions in RE2 syntax: linear time whatever the pattern."""

from functools import lru_cache
from typing import Any

import re2

from apportion.cel.values import Failure, Value

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(maxsize=512)
def compile_pattern(pattern: str) -> Any:
    """Return the compiled pattern, or a Failure when it is not valid RE2."""
    try:
        return re2.compile(pattern, options=_OPTIONS)
    except re2.error as error:
        reason = error.args[0] if error.args else "bad pattern"
        text = reason.decode() if isinstance(reason, bytes) else str(reason)
        return Failure(f"error parsing regexp: {text}")


def matches(text: str, pattern: str) -> Value:
    """Return whether the pattern matches anywhere in ``text``."""
    compiled = compile_pattern(pattern)
    return compiled if isinstance(compiled, Failure) else compiled.search(text) is not None


def find(text: str, pattern: str) -> Value:
    """Return the first match, empty when there is none."""
    compiled = compile_pattern(pattern)
    if isinstance(compiled, Failure):
        return compiled
    match = compiled.search(text)
    return match.group() if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> Value:
    """Return all matches, or the first ``limit`` of them when that is not negative."""
    compiled = compile_pattern(pattern)
    if isinstance(compiled, Failure):
        return compiled
    found: list[str] = []
    for match in compiled.finditer(text):
        if limit >= 0 and len(found) >= limit:
            break
        found.append(match.group())
    return tuple(found)

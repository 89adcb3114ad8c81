"""Pods that wait for other pods, found by the labels that they look for instead of asked one by one.

An interest is a label with its value, after the name of the plugin that looks for it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from apportion.api.selectors import LabelMatcher

_PAIRS_MAX: Final = 16  # for a selector with more values a pod is asked about every other pod


def find_interests(plugin: str, matchers: Iterable[LabelMatcher]) -> tuple[str, ...]:
    """Return interests, of which every pod has one in `name_labels` that any of the selectors selects; each once."""
    found: dict[str, None] = {}
    for matcher in matchers:
        pairs = matcher.find_pairs()
        if pairs is None or len(pairs) > _PAIRS_MAX:
            return (any_pod(plugin),)
        found.update((_name(plugin, label, value), None) for label, value in pairs)
    return tuple(found)


def name_labels(plugin: str, *labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the interests that pods with these labels may meet, each once."""
    named = {_name(plugin, label, value): None for of_pod in labels for label, value in of_pod.items()}
    return (any_pod(plugin), *named)


def any_pod(plugin: str) -> str:
    """Return the interest that every pod may meet."""
    return f"{plugin} *"


def _name(plugin: str, label: str, value: str) -> str:
    return f"{plugin} {label}={value}"

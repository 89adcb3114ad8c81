"""The order of the active queue when a plugin decides it."""

import logging
from collections.abc import Callable
from typing import Any, TypeAlias

_log = logging.getLogger(__name__)
# (pod, since when it is queued) -> what pods are compared by, the smallest first
SortFn: TypeAlias = Callable[[Any, float], object]


class SortKey:
    """A plugin's key, compared with care: keys that cannot be compared count as equal, those that are missing as last.

    A fault of the plugin must not stop the queue; it costs the pod in question its place in the order.
    """

    __slots__ = ("is_missing", "value")

    def __init__(self, sort: SortFn, pod: Any, timestamp_s: float) -> None:
        self.is_missing = False
        self.value: Any = None
        try:
            self.value = sort(pod, timestamp_s)
        except Exception as fault:
            self.is_missing = True
            _log.error("the queue sort plugin failed for %s: %r", pod.key, fault)

    def __lt__(self, other: "SortKey") -> bool:
        if self.is_missing or other.is_missing:
            return other.is_missing and not self.is_missing
        try:
            return bool(self.value < other.value)
        except Exception as fault:
            _log.error("keys of the queue sort plugin cannot be compared: %r", fault)
            return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SortKey) and not self < other and not other < self

    __hash__ = None  # type: ignore[assignment]

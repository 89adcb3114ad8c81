"""How long queueing hints take, and what they say.

Behaviour: pkg/scheduler/metrics upstream, with the same name, labels and buckets.
"""

from collections.abc import Callable
from typing import Final

from apportion.base.metrics import Histogram, exponential

_HINT_S: Final = exponential(0.00001, 1.5, 20)


class HintMeter:
    """Is told of each question to a plugin whether an event may help a pod that it rejected."""

    def __init__(self, perf: Callable[[], float]) -> None:
        self._perf = perf
        self.hint_s = Histogram(
            "scheduler_queueing_hint_execution_duration_seconds",
            "How long plugins took to tell whether an event may help a pod. Of many equal pods one is asked about.",
            _HINT_S,
            ("plugin", "event", "hint"),
        )

    def now(self) -> float:
        """Return a time in seconds of which only differences mean something."""
        return self._perf()

    def answered(self, plugin: str, event: str, begun_s: float, hint: str) -> None:
        """A plugin has said Queue or QueueSkip, or failed (Error)."""
        self.hint_s.observe(self._perf() - begun_s, (plugin, event, hint))

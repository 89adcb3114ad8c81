"""The settings of the queue, with upstream's defaults."""

from dataclasses import dataclass, fields

from apportion.base import ConfigError


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """How long pods wait. Raises ``ConfigError`` for a time that makes no sense.

    ``initial_backoff_s`` and ``max_backoff_s`` are the configuration file's ``podInitialBackoffSeconds``
    and ``podMaxBackoffSeconds`` (0 for the latter: no backoff at all). ``max_parked_s`` is how long a pod
    stays parked before it is tried again without a reason. ``pop_from_backoff`` (gate
    SchedulerPopFromBackoffQ): rather than idle, try a pod whose backoff still runs.
    """

    initial_backoff_s: float = 1.0
    max_backoff_s: float = 10.0
    max_parked_s: float = 300.0
    pop_from_backoff: bool = True

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name.endswith("_s") and not 0 <= value < float("inf"):
                raise ConfigError(f"queue {f.name}={value}: give a number of seconds, 0 or more")
        if self.max_parked_s == 0:
            raise ConfigError("queue max_parked_s=0: parked pods would never rest; give more than 0 seconds")

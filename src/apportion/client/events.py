"""Where events are in the API, and their times."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

EVENTS: Final = "events.events.k8s.io"


def format_micro_time(now_s: float) -> str:
    """Return seconds since the epoch as a MicroTime, which wants exactly six digits after the point."""
    second, micros = divmod(round(now_s * 1e6), 1_000_000)
    return f"{_format_second(second)}.{micros:06d}Z"


@lru_cache(maxsize=64)
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")

"""Times as the API writes them (RFC 3339, UTC), and ages as tables show them."""

from datetime import UTC, datetime
from functools import lru_cache

from apportion.base import parse_time

__all__ = ["format_age", "format_duration", "format_time", "parse_time"]


def format_time(seconds: float) -> str:
    """Return seconds since the epoch as ``2026-01-01T00:00:00Z``."""
    return _format_second(int(seconds))


@lru_cache(maxsize=64)  # many requests fall into one second
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_age(text: str | None, now_s: float) -> str:
    """Return how long ago a time was, as kubectl prints it; source: apimachinery/pkg/util/duration."""
    try:
        seconds = int(now_s - parse_time(text)) if text else None
    except ValueError:
        seconds = None
    return "<unknown>" if seconds is None else format_duration(seconds)


def format_duration(seconds: int) -> str:
    """Return a duration with as much detail as its size deserves (``90s``, ``5m30s``, ``3h``, ``2d4h``, ``1y5d``)."""
    if seconds < -1:
        return "<invalid>"
    minutes, hours, days, years = seconds // 60, seconds // 3600, seconds // 86400, seconds // 31536000
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    if minutes < 10:
        return f"{minutes}m" + (f"{seconds % 60}s" if seconds % 60 else "")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h" + (f"{minutes % 60}m" if minutes % 60 else "")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return f"{days}d" + (f"{hours % 24}h" if hours % 24 else "")
    if days < 730:
        return f"{days}d"
    if years < 8:
        return f"{years}y" + (f"{days % 365}d" if days % 365 else "")
    return f"{years}y"

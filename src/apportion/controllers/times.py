"""Times as the API writes them (RFC 3339, UTC)."""

from datetime import UTC, datetime

from apportion.base import parse_time

__all__ = ["format_time", "parse_time"]


def format_time(seconds: float) -> str:
    """Return seconds since the epoch as ``2026-01-01T00:00:00Z``."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

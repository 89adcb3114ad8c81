"""Times as the API writes them (RFC 3339, UTC)."""

from datetime import UTC, datetime


def format_time(seconds: float) -> str:
    """Return seconds since the epoch as ``2026-01-01T00:00:00Z``."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str) -> float:
    """Return seconds since the epoch; raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

"""Times and durations as texts: RFC 3339 as the API writes it, durations as Go writes them."""

import re
from datetime import datetime
from typing import Final

from apportion.base.errors import InputError

_UNITS_S: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)")


def parse_time(text: str) -> float:
    """Return seconds since the epoch; raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def parse_duration(text: str) -> float:
    """Return the seconds in a text like ``1m30s``; raises InputError. Behaviour: Go's time.ParseDuration."""
    body = text.lstrip("+-")
    parts = _PART.findall(body)
    if body == "0":
        return 0.0
    if not parts or "".join(n + unit for n, unit in parts) != body or len(text) - len(body) > 1:
        raise InputError(f"{text!r} is not a duration; write it like 10s or 1m30s")
    seconds = sum(float(n) * _UNITS_S[unit] for n, unit in parts)
    return -seconds if text.startswith("-") else seconds

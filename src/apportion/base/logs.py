"""Log lines as key=value pairs or as JSON. What a record carries as ``fields`` becomes pairs of its own."""

import json
import logging
from datetime import UTC, datetime
from typing import Any, Final

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:+")


def format_time(time_s: float) -> str:
    """Return a time as RFC 3339 with microseconds."""
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class LineFormatter(logging.Formatter):
    """One line a record, ``time``, ``level`` and ``msg`` first.

    A record whose fields hold ``time_s`` has that time: what happens in virtual time is told with it.
    """

    def __init__(self, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; a traceback follows in the same line, escaped."""
        fields: dict[str, Any] = dict(getattr(record, "fields", {}))
        time_s = fields.pop("time_s", record.created)
        line = {"time": format_time(time_s), "level": record.levelname.lower(), "msg": record.getMessage(), **fields}
        if record.exc_info:
            line["fault"] = self.formatException(record.exc_info)
        if self._as_json:
            return json.dumps(line, ensure_ascii=False)
        return " ".join(f"{name}={_quote(value)}" for name, value in line.items())


def _quote(value: object) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if text and _PLAIN.issuperset(text) else json.dumps(text, ensure_ascii=False)

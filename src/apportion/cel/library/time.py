"""Durations and timestamps: parsing, printing and the parts of a date.

Sources of the behaviour: Go's time.ParseDuration and RFC 3339. Named time zones are refused, since looking
them up would read files: write an offset such as ``+01:00``.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from apportion.cel.library.declare import Overload, declare
from apportion.cel.library.operators import fit_duration, fit_timestamp
from apportion.cel.values import Duration, Failure, Timestamp, Value

_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART: Final = re.compile(r"(\d+)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)|\.(\d+)(ns|us|µs|μs|ms|s|m|h)")
_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))"
)
_TEXT_LENGTH_MAX: Final = 256
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> Value:
    """Return the duration that ``text`` such as ``1h30m`` denotes, or a Failure."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if len(text) > _TEXT_LENGTH_MAX:
        return Failure("time: invalid duration: the text is too long")
    total, offset = 0, 0
    while match := _PART.match(body, offset):
        whole, fraction, unit, bare, bare_unit = match.groups()
        scale = _UNITS[unit or bare_unit]
        digits = fraction or bare or ""
        total += int(whole or 0) * scale + int(digits or 0) * scale // 10 ** len(digits)
        offset = match.end()
    if (not body or offset != len(body)) and body != "0":
        return Failure(f"time: invalid duration {text!r}")
    return fit_duration(-total if text[:1] == "-" else total)


def format_duration(value: Duration) -> str:
    """Return the duration in seconds, the shortest exact decimal, with an ``s``."""
    sign = "-" if value.nano < 0 else ""
    seconds, rest = divmod(abs(value.nano), _SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{sign}{seconds}{fraction}s"


def parse_timestamp(text: str) -> Value:
    """Return the point in time that RFC 3339 text denotes, or a Failure."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return Failure(f"timestamp {text!r} is not in RFC 3339 form")
    year, month, day, hour, minute, second, fraction, sign, off_hour, off_minute = match.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    except ValueError as error:
        return Failure(f"timestamp {text!r}: {error}")
    offset_s = (int(off_hour) * 3600 + int(off_minute) * 60) * (-1 if sign == "-" else 1) if sign else 0
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - offset_s
    return fit_timestamp(seconds * _SECOND + int((fraction or "").ljust(9, "0")))


def format_timestamp(value: Timestamp) -> str:
    """Return RFC 3339 text in UTC with as many fractional digits as needed."""
    seconds, rest = divmod(value.nano, _SECOND)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{moment.isoformat().removesuffix('+00:00')}{fraction}Z"


def _zone(name: str) -> timezone | None:
    if name in ("UTC", "Z"):
        return UTC
    match = re.fullmatch(r"([+-]?)(\d\d?):(\d\d)", name)
    if match is None:
        return None
    sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset) if offset < timedelta(hours=24) else None


def _getter(name: str, read: Callable[[datetime], int]) -> tuple[Overload, ...]:
    def get(value: Timestamp, zone_name: str = "UTC") -> Value:
        zone = _zone(zone_name)
        if zone is None:
            return Failure(f"unknown time zone {zone_name!r}; write UTC or an offset such as +01:00")
        seconds, rest = divmod(value.nano, _SECOND)
        try:
            moment = (_EPOCH + timedelta(seconds=seconds, microseconds=rest // 1000)).astimezone(zone)
        except OverflowError:
            return Failure("timestamp overflow")
        return read(moment)

    return (
        declare(name, "timestamp.() -> int", get),
        declare(name, "timestamp.(string) -> int", get),
    )


def _span(name: str, unit_nano: int, modulus: int | None = None) -> Overload:
    def get(value: Duration) -> int:
        amount = abs(value.nano) // unit_nano
        amount = amount % modulus if modulus else amount
        return amount if value.nano >= 0 else -amount

    return declare(name, "duration.() -> int", get)


OVERLOADS: Final = (
    *_getter("getFullYear", lambda t: t.year),
    *_getter("getMonth", lambda t: t.month - 1),
    *_getter("getDayOfMonth", lambda t: t.day - 1),
    *_getter("getDate", lambda t: t.day),
    *_getter("getDayOfWeek", lambda t: t.isoweekday() % 7),
    *_getter("getDayOfYear", lambda t: t.timetuple().tm_yday - 1),
    *_getter("getHours", lambda t: t.hour),
    *_getter("getMinutes", lambda t: t.minute),
    *_getter("getSeconds", lambda t: t.second),
    *_getter("getMilliseconds", lambda t: t.microsecond // 1000),
    _span("getHours", 3600 * _SECOND),
    _span("getMinutes", 60 * _SECOND),
    _span("getSeconds", _SECOND),
    _span("getMilliseconds", 10**6, 1000),
)

"""What every room may use: errors, the clock and seeded randomness."""

from apportion.base.change_log import ChangeLog
from apportion.base.clock import Clock, VirtualClock
from apportion.base.errors import (
    ApportionError,
    ConfigError,
    InputError,
    InvariantError,
    LimitError,
    ValidationError,
)
from apportion.base.rng import Rng
from apportion.base.times import parse_duration, parse_time

__all__ = [
    "ApportionError",
    "ChangeLog",
    "Clock",
    "ConfigError",
    "InputError",
    "InvariantError",
    "LimitError",
    "Rng",
    "ValidationError",
    "VirtualClock",
    "parse_duration",
    "parse_time",
]

"""The face: verbs, tables and reports. Alone reads arguments and prints."""

from apportion.cli.main import main

__all__ = ["main"]

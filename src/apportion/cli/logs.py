"""Options for logs, of the verbs that run a scheduler."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import click

from apportion.base.logs import LineFormatter

F = TypeVar("F", bound=Callable[..., Any])


def log_options(command: F) -> F:
    """Add -v/--verbose and --log-format."""
    for option in (
        click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
                     help="Log lines as key=value pairs or as JSON."),
        click.option("-v", "--verbose", is_flag=True,
                     help="Log each decision, on standard error: pod, node, attempt, duration, reason."),
    ):  # fmt: skip
        command = option(command)
    return command


def set_up_logs(verbose: bool, log_format: str) -> None:
    """Have everything logged in one form; errors alone unless ``verbose``."""
    root = logging.getLogger()
    for handler in root.handlers:
        handler.setFormatter(LineFormatter(log_format == "json"))
    if verbose and root.level > logging.INFO:
        root.setLevel(logging.INFO)

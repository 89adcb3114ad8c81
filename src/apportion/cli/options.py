"""Options that several verbs share, and how their values are read. Imports late: help must start quickly."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from apportion.base import ConfigError

if TYPE_CHECKING:
    from apportion.api.feature_gates import FeatureGates
    from apportion.sched.framework.config import SchedulerConfig

F = TypeVar("F", bound=Callable[..., Any])


def filenames(command: F) -> F:
    """Add -f/--filename."""
    return click.option(
        "-f", "--filename", "paths", multiple=True, required=True, metavar="PATH",
        help="A file, a folder, or - for standard input; YAML or JSON. May be given several times.",
    )(command)  # fmt: skip


def scheduler_options(command: F) -> F:
    """Add --feature-gates, --config and --seed."""
    for option in (
        click.option("--seed", type=int, default=0, show_default=True, metavar="N",
                     help="Seed for ties and generated names: the same seed gives the same result."),
        click.option("--config", "config_path", metavar="FILE",
                     help="A kubescheduler.config.k8s.io/v1 file: profiles, plugins, weights, scoring strategy."),
        click.option("--feature-gates", "gates_text", default="", metavar="NAME=true,...",
                     help="Feature gates by their upstream names; the defaults are those of Kubernetes 1.37."),
    ):  # fmt: skip
        command = option(command)
    return command


def output_option(*choices: str) -> Callable[[F], F]:
    """Add -o/--output with the given choices, the first one being the default."""
    return click.option(
        "-o", "--output", type=click.Choice(choices), default=choices[0], show_default=True,
        help="A table for people, or the same for programs.",
    )  # fmt: skip


def read_gates(text: str) -> "FeatureGates":
    """Return the feature gates. Raises ConfigError naming an unknown one."""
    from apportion.api.feature_gates import FeatureGates

    return FeatureGates.parse(text)


def load_config(path: str | None) -> "SchedulerConfig":
    """Return the scheduler configuration in a file; the default one without a file."""
    import yaml

    from apportion.sched.framework.config import SchedulerConfig, read_config

    if path is None:
        return SchedulerConfig()
    try:
        tree = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as e:
        raise ConfigError(f"{path}: {e.strerror}") from e
    except yaml.YAMLError as e:
        raise ConfigError(f"{path}: not YAML: {e}") from e
    return read_config(tree, path)

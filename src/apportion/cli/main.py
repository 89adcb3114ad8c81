"""The command ``apportion``. Each verb is imported only when it is called, so that starting costs little."""

import importlib
import logging
import sys
from typing import Any, Final

import click

from apportion import __version__
from apportion.base import ApportionError

_VERBS: Final = {
    "demo": ("apportion.cli.demo", "Schedule a bundled example cluster and show every decision."),
    "simulate": ("apportion.cli.simulate", "Place the pods of manifests or a cluster dump, offline."),
    "explain": (
        "apportion.cli.explain",
        "Say for each pending pod and every node what speaks for or against it.",
    ),
    "cel": ("apportion.cli.cel", "Try a CEL device selector on the devices of resource slices."),
    "up": ("apportion.cli.up", "Run a control plane in one process, for kubectl and other clients."),
    "queue": ("apportion.cli.queue", "Show the scheduling queue of a running control plane."),
    "play": ("apportion.cli.play", "Play a scenario in virtual time and check what it expects."),
    "bench": ("apportion.cli.bench", "Measure scheduling speed."),
}


class _Verbs(click.Group):
    """A group whose commands are loaded when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the help text."""
        return list(_VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb's command."""
        if cmd_name not in _VERBS:
            return None
        command: click.Command = getattr(importlib.import_module(_VERBS[cmd_name][0]), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _VERBS.items()])


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="apportion")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, on standard error.")
def cli(verbose: bool) -> None:
    """A Kubernetes scheduler with Dynamic Resource Allocation that explains every decision.

    Start with "apportion demo".
    """
    logging.basicConfig(level=logging.DEBUG if verbose else logging.ERROR, format="%(levelname)s %(message)s")


def main(args: list[str] | None = None) -> Any:
    """Run the command line; errors that a user can mend are one line on standard error, exit status 1."""
    try:
        return cli.main(args=args, standalone_mode=True)
    except ApportionError as e:
        click.echo(f"Error: {e}", err=True)
        sys.exit(1)

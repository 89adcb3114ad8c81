"""``apportion play``: a scenario in virtual time."""

import sys
from typing import Final

import click
import orjson

from apportion.base import ConfigError
from apportion.cli.logs import log_options, set_up_logs
from apportion.cli.options import output_option
from apportion.sim.play import Player, ScenarioError, StepResult, read_scenario

HELD, FAILED, NOT_A_SCENARIO = 0, 1, 2
_INDENT: Final = " " * 21


@click.command()
@click.argument("scenario", metavar="SCENARIO.yaml")
@output_option("text", "json")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N",
              help="Seed for ties, names and uids: the same seed gives the same log.")  # fmt: skip
@click.option("--feature-gates", "gates_text", default="", metavar="NAME=true,...",
              help="Feature gates in addition to those of the scenario.")  # fmt: skip
@click.option("--kubelets", type=click.Choice(["stand-in", "none"]),
              help="Whether bound pods run and deleted ones go; the scenario says it otherwise.")  # fmt: skip
@log_options
def play(
    scenario: str, output: str, seed: int, gates_text: str, kubelets: str | None, verbose: bool, log_format: str
) -> None:
    """Play a scenario: API server, controllers, scheduler and stand-in nodes in virtual time.

    Exit status: 0 when everything held, 1 when an expectation or a step failed, 2 for a file that is no scenario.
    """
    set_up_logs(verbose, log_format)
    try:
        read = read_scenario(scenario)
        player = Player(read, seed, gates_text, None if kubelets is None else kubelets == "stand-in")
    except (ScenarioError, ConfigError) as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(NOT_A_SCENARIO)
    results = []
    for result in player.play():
        results.append(result)
        if output == "text":
            _print(result, len(read.steps))
    has_held = all(r.is_ok for r in results)
    if output == "json":
        tree = {"ok": has_held, "seed": seed, "steps": [r.to_json() for r in results], "total": len(read.steps)}
        sys.stdout.buffer.write(orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    elif has_held:
        click.echo(f"ok: {len(results)} steps, {player.world.elapsed_s:.3f}s of virtual time")
    sys.exit(HELD if has_held else FAILED)


def _print(result: StepResult, total: int) -> None:
    verdict = "ok" if result.is_ok else "FAIL"
    click.echo(f"{result.at_s:10.3f}s  {verdict:<4} {result.kind:<8} {result.text}".rstrip())
    for line in result.shown:
        click.echo(f"{_INDENT}{line}".rstrip())
    for line in result.problems:
        click.echo(f"{_INDENT}{line}")
    if result.story:
        click.echo(f"{_INDENT}the story:")
        for line in result.story:
            click.echo(f"{_INDENT}  {line}")
    if not result.is_ok:
        click.echo(f"failed: step {result.index + 1} of {total}, line {result.line}")

"""``apportion bench``: how many pods per second, on workloads in the format of Kubernetes' scheduler_perf."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from apportion.bench import BenchError, api_workloads, core_workloads
from apportion.cli.bench_results import show_comparisons, show_short
from apportion.cli.bench_run import run
from apportion.cli.options import output_option
from apportion.cli.progress import Progress

_DEFAULT = "run"


class _PathsOrVerbs(click.Group):
    """A group that takes paths as well: whatever is no verb is given to the verb ``run``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the verb in front when the first argument is a path, or an option that is not the group's own."""
        first = args[0] if args else ""
        is_path = "/" in first or first.endswith((".yaml", ".yml")) or Path(first).exists()
        if (
            first
            and first not in self.commands
            and (is_path or (first.startswith("-") and first not in ("-h", "--help")))
        ):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_PathsOrVerbs)
def bench() -> None:
    """Measure scheduling speed.

    "apportion bench PATH ..." runs workload files in the format of Kubernetes' scheduler_perf; it is short for
    "apportion bench run PATH ...".
    """


bench.add_command(run)

F = TypeVar("F", bound=Callable[..., Any])


def _options(command: F) -> F:
    for option in (
        click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed for ties."),
        click.option("--workload", "wanted", default="", metavar="TEXT",
                     help="Run only workloads whose name holds TEXT."),
        output_option("table", "json"),
    ):  # fmt: skip
        command = option(command)
    return command


@bench.command()
@_options
def core(output: str, wanted: str, seed: int) -> None:
    """Feed watch events to the scheduler and carry its commands out in memory.

    Measured is everything from the bytes of a pod's event to the confirmation of its binding. Each workload runs in
    a process of its own; afterwards an independent check verifies every placement.
    """
    _measure("core", [w.name for w in core_workloads()], output, wanted, seed)


@bench.command()
@_options
def api(output: str, wanted: str, seed: int) -> None:
    """Create the pods through the API; they are watched, scheduled and bound through the API, in one process.

    Measured is everything from the first request that creates a pod to the watch event that shows the last one
    bound. Each workload runs in a process of its own; afterwards an independent check verifies every placement.
    """
    _measure("api", [w.name for w in api_workloads()], output, wanted, seed)


@bench.command()
@click.option("--creates", default=10_000, show_default=True, type=click.IntRange(1, 1_000_000), metavar="N",
              help="How many objects to create.")  # fmt: skip
@output_option("table", "json")
def http(output: str, creates: int) -> None:
    """Create small objects over HTTP, with 16 clients and 10 watchers: kept in memory, then kept on disk.

    The server is a process of its own. Every watcher must see every object once.
    """
    from apportion.bench.http import run_http

    results = []
    for is_durable in (False, True):
        with Progress("durable" if is_durable else "in memory") as progress:
            results.append(run_http(is_durable, creates, progress.update).to_json())
    if output == "json":
        click.echo(orjson.dumps({"workloads": results}, option=orjson.OPT_INDENT_2))
    else:
        for result in results:
            click.echo(f"{result['name']:<55} {result['createsPerSecond']:>10,.1f} creates/s")


@bench.command()
@click.argument("before", metavar="BEFORE.json")
@click.argument("after", metavar="AFTER.json")
@output_option("table", "json")
def compare(before: str, after: str, output: str) -> None:
    """Compare two files that "bench -o json" wrote: ratios, and whether they are more than noise."""
    from apportion.bench.compare import compare as compare_results
    from apportion.bench.compare import read_results

    show_comparisons(compare_results(read_results(before), read_results(after)), output)


def _measure(mode: str, known: list[str], output: str, wanted: str, seed: int) -> None:
    names = [name for name in known if wanted in name]
    if not names:
        raise click.UsageError(f"no workload is called like {wanted!r}: {known}")
    results = [_run(mode, name, seed) for name in names]
    if output == "json":
        click.echo(orjson.dumps({"workloads": results}, option=orjson.OPT_INDENT_2))
    else:
        show_short(results)


def _run(mode: str, name: str, seed: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "apportion.bench", mode, name, str(seed)]
    with (
        Progress(name) as progress,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child,
    ):
        assert child.stderr is not None and child.stdout is not None
        said = []
        for line in child.stderr:
            if line.startswith("progress "):
                progress.update(int(line.split()[1]), int(line.split()[2]))
            else:
                said.append(line)
        answer = child.stdout.read()
    if child.returncode:
        raise BenchError("".join(said).strip().removeprefix("error ") or f"{name} ended with {child.returncode}")
    found: dict[str, Any] = orjson.loads(answer)
    return found

"""``apportion bench``: how many pods per second, on workloads with scheduler_perf's names and sizes."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
import orjson

from apportion.bench import BenchError, api_workloads, core_workloads
from apportion.bench.http import CREATES, run_http
from apportion.cli.options import output_option
from apportion.cli.progress import Progress


@click.group()
def bench() -> None:
    """Measure scheduling speed."""


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
@output_option("table", "json")
@click.option("--creates", default=CREATES, show_default=True, type=click.IntRange(1, 1_000_000), metavar="N",
              help="How many objects to create.")  # fmt: skip
def http(output: str, creates: int) -> None:
    """Create small objects over HTTP, with 16 clients and 10 watchers: kept in memory, then kept on disk.

    The server is a process of its own. Every watcher must see every object once.
    """
    results = []
    for is_durable in (False, True):
        with Progress("durable" if is_durable else "in memory") as progress:
            results.append(run_http(is_durable, creates, progress.update).to_json())
    if output == "json":
        click.echo(orjson.dumps({"workloads": results}, option=orjson.OPT_INDENT_2))
    else:
        for result in results:
            click.echo(f"{result['name']:<55} {result['createsPerSecond']:>10,.1f} creates/s")


def _measure(mode: str, known: list[str], output: str, wanted: str, seed: int) -> None:
    names = [name for name in known if wanted in name]
    if not names:
        raise click.UsageError(f"no workload is called like {wanted!r}: {known}")
    results = [_run(mode, name, seed) for name in names]
    if output == "json":
        click.echo(orjson.dumps({"workloads": results}, option=orjson.OPT_INDENT_2))
    else:
        _show(results)


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


def _show(results: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from apportion.cli.tables import make_console

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("workload", no_wrap=True)
    for title in ("pods/s", "decision p50 µs", "decision p99 µs", "peak memory MiB"):
        table.add_column(title, justify="right")
    for r in results:
        cells = (r["podsPerSecond"], r["decisionP50Us"], r["decisionP99Us"], r["peakMemoryMiB"])
        table.add_row(r["name"], *(f"{cell:,.1f}" for cell in cells))
    make_console().print(table)

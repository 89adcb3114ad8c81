"""``apportion bench run``: workload files, one process for each run. Imports late: help must start quickly."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from apportion.base import InputError
from apportion.bench.perf_files import LABELS, OWN_FILES, PerfWorkload, read_workloads, select_workloads
from apportion.cli.bench_results import show_drops, show_results
from apportion.cli.options import output_option
from apportion.cli.progress import Progress

if TYPE_CHECKING:
    from apportion.bench.jobs import Plan


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH ...]")
@click.option("--workload", "pattern", default="", metavar="REGEX", help="Run only workloads whose name matches.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    type=click.Choice(LABELS),
    help="Run only workloads with this label; given several times, with all of them.",
)
@click.option(
    "--mode",
    type=click.Choice(["core", "api"]),
    default="core",
    show_default=True,
    help="core: the scheduler alone, fed with events; api: everything through the embedded API.",
)
@output_option("table", "json")
@click.option("--data-items", "folder", metavar="DIR", help="Also write scheduler_perf's data items there.")
@click.option("--profile", "profile_path", metavar="FILE", help="Write where the time went, by room and function.")
@click.option(
    "--repeat",
    type=click.IntRange(1),
    metavar="N",
    help="Run each workload N times. Otherwise those labelled performance run until 10 s are measured or "
    "60 s have passed, the others once.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed for ties.")
@click.option(
    "--baseline",
    metavar="FILE",
    help="Show where results are more than 20 % below those in FILE, both "
    "relative to the calibration loop that ran beside them.",
)
def run(
    paths: Sequence[str],
    pattern: str,
    labels: Sequence[str],
    mode: str,
    output: str,
    folder: str | None,
    profile_path: str | None,
    repeat: int | None,
    seed: int,
    baseline: str | None,
) -> None:  # fmt: skip
    """Run workload files in the format of Kubernetes' scheduler_perf.

    PATH is a performance-config.yaml or a folder with such files; without one apportion's own workloads run. Each
    run has a process of its own; afterwards an independent check verifies every placement. The exit status is 1
    when a workload could not run or a placement does not hold.
    """
    from apportion.bench.compare import find_drops, read_results
    from apportion.bench.data_items import write_data_items
    from apportion.bench.jobs import Plan
    from apportion.bench.runner import Settings

    workloads = select_workloads(read_workloads(paths or [str(OWN_FILES)]), pattern, labels)
    if not workloads:
        raise click.UsageError("no workload has such a name and such labels")
    committed = read_results(baseline) if baseline else []
    plan = Plan(Settings(mode, seed, profile_path is not None), repeat)
    results, profiles = _run_all(workloads, plan)
    if folder is not None:
        write_data_items(results, folder, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    if profile_path is not None:
        _write(profile_path, "\n".join(profiles))
    if output == "json":
        click.echo(orjson.dumps({"workloads": results}, option=orjson.OPT_INDENT_2))
    else:
        show_results(results)
    if baseline:
        show_drops(find_drops(committed, results))
    sys.exit(any("error" in r for r in results))


def _run_all(workloads: Sequence[PerfWorkload], plan: "Plan") -> tuple[list[dict[str, Any]], list[str]]:
    from apportion.bench.jobs import run_workload

    results, profiles = [], []
    for number, workload in enumerate(workloads, 1):
        with Progress(f"[{number}/{len(workloads)}] {workload.name}") as progress:
            result, profile = run_workload(workload, plan, progress.update)
        results.append(result)
        profiles.append(profile)
        if "error" in result:
            click.echo(f"{workload.name} failed: {result['error']}", err=True)
    return results, profiles


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--profile {path}: {error.strerror}") from None

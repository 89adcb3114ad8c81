"""Tables of benchmark results."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import orjson

if TYPE_CHECKING:
    from rich.table import Table

    from apportion.bench.compare import Comparison


def _make_table(first: str, *titles: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(first, no_wrap=True)
    for title in titles:
        table.add_column(title, justify="right")
    return table


def _print(table: "Table") -> None:
    from apportion.cli.tables import make_console

    make_console().print(table)


def show_short(results: Sequence[dict[str, Any]]) -> None:
    """Print the results of the short forms."""
    table = _make_table("workload", "pods/s", "decision p50 µs", "decision p99 µs", "peak memory MiB")
    for r in results:
        cells = (r["podsPerSecond"], r["decisionP50Us"], r["decisionP99Us"], r["peakMemoryMiB"])
        table.add_row(r["name"], *(f"{cell:,.1f}" for cell in cells))
    _print(table)


def show_results(results: Sequence[dict[str, Any]]) -> None:
    """Print the results of workload files; those that failed come after the table."""
    table = _make_table(
        "workload", "pods/s", "±", "p50", "p90", "p99", "decision p50 µs", "p99 µs", "MiB", "runs", "threshold"
    )
    good = [r for r in results if "error" not in r]
    for r in good:
        rates = [f"{r[key]:,.0f}" for key in ("podsPerSecondP50", "podsPerSecondP90", "podsPerSecondP99")]
        latencies = [f"{r[key]:,.0f}" for key in ("decisionP50Us", "decisionP99Us", "peakMemoryMiB")]
        unit = "" if r["counted"] == "pods" else f" {r['counted']}"
        mean = f"{r['podsPerSecond']:,.0f}{unit}"
        table.add_row(r["name"], mean, f"{r['spread']:.1%}", *rates, *latencies, str(len(r["runs"])), _times(r))
    if good:
        _print(table)
    for r in results:
        for note in r.get("notes", ()):
            click.echo(f"{r['name']}: {note}")
        if "error" in r:
            click.echo(f"{r['name']}: FAILED: {r['error']}")


def _times(result: dict[str, Any]) -> str:
    """Return how many times the threshold of kube-scheduler was reached, "" where there is none."""
    return f"× {result['podsPerSecond'] / result['threshold']:.1f}" if result.get("threshold") else ""


def show_comparisons(comparisons: Sequence["Comparison"], output: str) -> None:
    """Print comparisons as a table, or the same as JSON."""
    if output == "json":
        rows = [{**asdict(c), "ratio": c.ratio, "verdict": c.verdict} for c in comparisons]
        click.echo(orjson.dumps({"workloads": rows}, option=orjson.OPT_INDENT_2))
        return
    table = _make_table("workload", "mode", "before", "after", "ratio", "noise", "")
    for c in comparisons:
        rates = (_show(c.before, ",.1f"), _show(c.after, ",.1f"), _show(c.ratio, ".3f"))
        table.add_row(c.name, c.mode, *rates, f"±{c.noise:.1%}", c.verdict)
    _print(table)


def _show(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def show_drops(drops: Sequence["Comparison"]) -> None:
    """Say which workloads have become slower than committed figures."""
    for drop in drops:
        assert drop.ratio is not None
        click.echo(f"SLOWER: {drop.name} ({drop.mode}) has {drop.ratio:.0%} of the committed figure")
    if not drops:
        click.echo("No workload is more than 20 % below the committed figures.")

"""Placements as tables: pod, node, devices and what was aligned; then what is pending, and why."""

from collections.abc import Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from apportion.sim.alignment import aligned_attributes, index_devices
from apportion.sim.outcome import Outcome, PodResult

ROWS_MAX: Final = 200
PENDING_MAX: Final = 50
_PLAIN_WIDTH: Final = 160


def make_console() -> Console:
    """Return a console that keeps long lines whole where the width is not that of a terminal."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


def show_placed(console: Console, outcome: Outcome, results: Sequence[PodResult], has_phase: bool = False) -> None:
    """Print pod, node and devices of the placed pods, and whether they run when ``has_phase`` says so."""
    placed = [r for r in results if r.node]
    if not placed:
        return
    devices = index_devices(outcome.objects.trees("resourceslices"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("pod", "node", *(["phase"] if has_phase else []), "devices", "aligned"):
        table.add_column(title)
    for result in placed[:ROWS_MAX]:
        aligned: list[str] = []
        for claim in result.claims:
            tree = outcome.objects.find("resourceclaims", result.namespace, claim["name"])
            aligned += aligned_attributes(tree, devices) if tree is not None else []
        listed = ", ".join(_device(d) for claim in result.claims for d in claim["devices"])
        phase = [result.phase] if has_phase else []
        table.add_row(f"{result.namespace}/{result.name}", result.node, *phase, listed, ", ".join(aligned))
    console.print(table)
    if len(placed) > ROWS_MAX:
        console.print(f"… and {len(placed) - ROWS_MAX} more placed pods; --output json has them all")


def _device(device: dict[str, Any]) -> str:
    sub = device["request"].partition("/")[2]
    return f"{device['device']} ({sub})" if sub else str(device["device"])


def show_pending(console: Console, results: Sequence[PodResult], advice: dict[str, list[str]]) -> None:
    """Print each pending pod with its message, the nodes by reason, and what would help."""
    pending = [r for r in results if not r.node]
    for result in pending[:PENDING_MAX]:
        console.print()
        console.print(Text(f"{result.namespace}/{result.name} is pending", style="bold"))
        console.print(f"  {result.message}", markup=False, soft_wrap=True)
        for reason in result.reasons:
            shown = ", ".join(reason.nodes[:5]) + (
                f" and {len(reason.nodes) - 5} more" if len(reason.nodes) > 5 else ""
            )
            console.print(f"  {reason.plugin or '-'}: {reason.reason} [{shown}]", markup=False, soft_wrap=True)
        for sentence in advice.get(f"{result.namespace}/{result.name}", ()):
            console.print(f"  → {sentence}", markup=False, soft_wrap=True)
    if len(pending) > PENDING_MAX:
        console.print(f"… and {len(pending) - PENDING_MAX} more pending pods; --output json has them all")


def show_totals(console: Console, totals: dict[str, Any]) -> None:
    """Print pods placed and pending, and per driver what became of its devices."""
    pods = totals["pods"]
    console.print()
    console.print(f"{pods['placed']} pods placed, {pods['pending']} pending on {totals['nodes']} nodes")
    if totals["drivers"]:
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("driver")
        for title in ("devices", "used", "free", "tainted"):
            table.add_column(title, justify="right")
        for d in totals["drivers"]:
            table.add_row(d["driver"], *(str(d[k]) for k in ("devices", "used", "free", "tainted")))
        console.print(table)

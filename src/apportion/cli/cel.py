"""``apportion cel``: what a device selector says about every device in the given ResourceSlices."""

import re
import sys
from dataclasses import dataclass
from typing import Any, Final

import click
import orjson

from apportion.api.decode import decode_as
from apportion.api.feature_gates import FeatureGates
from apportion.api.resource import Device, ResourceSlice
from apportion.base import InputError
from apportion.cel import (
    CelFeatures,
    CompileError,
    DeviceFacts,
    Selector,
    Trace,
    compile_selector,
    device_facts,
    find_expression_problem,
    summarize,
)
from apportion.sim.manifests import Rejected, load_paths

_LIST_GATE: Final = "DRAListTypeAttributes"
_CAPACITY_GATE: Final = "DRAConsumableCapacity"
_LONG_OPTION: Final = re.compile(r"--[a-z][a-z-]*(=.*)?", re.DOTALL)
_KIND: Final = "ResourceSlice"
# Where the width of the terminal is unknown: wide enough for a decision in one line.
_PLAIN_WIDTH: Final = 200


@dataclass(frozen=True, slots=True)
class _Judged:
    """One device with what the selector made of it."""

    driver: str
    pool: str
    device: str
    facts: DeviceFacts
    trace: Trace


class _ExpressionCommand(click.Command):
    """Takes an expression that starts with a minus sign for what it is, and not for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Move the expression behind ``--`` where it could be mistaken."""
        names = {name for param in self.get_params(ctx) for name in param.opts}
        for i, arg in enumerate(args):
            after_option = i > 0 and args[i - 1] in names
            if arg == "--":
                break
            is_option = arg[:2] in names or _LONG_OPTION.fullmatch(arg) is not None
            if arg.startswith("-") and len(arg) > 1 and not is_option and not after_option:
                args = [*args[:i], *args[i + 1 :], "--", arg]
                break
        return super().parse_args(ctx, args)


@click.command("cel", cls=_ExpressionCommand)
@click.argument("expression")
@click.option("-f", "--filename", "paths", multiple=True, help="File or folder with ResourceSlices; '-' reads stdin.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--feature-gates", "gates", default="", help=f"For example {_LIST_GATE}=false.")
def cel(expression: str, paths: tuple[str, ...], output: str, gates: str) -> None:
    """Evaluate a CEL device selector over the devices of ResourceSlices.

    Shows for each device true, false or the error, and which part of the expression decided. List-typed
    attributes are on unless the gate DRAListTypeAttributes turns them off. Without files, the expression is
    only compiled.
    """
    try:
        features = _choose_features(gates)
        selector = compile_selector(expression, features)
        judged, rejected = _judge_all(selector, paths)
    except InputError as error:
        _report_failure(error, output)
        sys.exit(1)
    if output == "json":
        _print_json({"devices": [_to_json(j) for j in judged]})
    else:
        _print_table(selector, judged, find_expression_problem(expression, features))
    for entry in rejected:
        place = f"{entry.file}, document {entry.document}: {entry.object}"
        click.echo(f"left out {place} {entry.field}: {entry.reason}", err=True)
    sys.exit(1 if rejected else 0)


def _choose_features(text: str) -> CelFeatures:
    gates = FeatureGates.parse(text)
    # Off in a cluster by default; here it only helps to see more, so it takes a word to turn it off.
    lists = gates.enabled(_LIST_GATE) if _LIST_GATE in text else True
    return CelFeatures(list_type_attributes=lists, consumable_capacity=gates.enabled(_CAPACITY_GATE))


def _judge_all(selector: Selector, paths: tuple[str, ...]) -> tuple[list[_Judged], list[Rejected]]:
    """Return every device with its trace, in the order of the input, and the slices that cannot be read."""
    loaded = load_paths(paths, sys.stdin.buffer)
    slices = [
        decode_as(ResourceSlice, orjson.dumps(entry.tree))
        for entry in loaded.objects
        if entry.tree.get("kind") == _KIND
    ]
    judged = [_judge(selector, found, device) for found in slices for device in found.spec.devices]
    return judged, [r for r in loaded.rejected if not r.object or r.object.startswith(_KIND)]


def _judge(selector: Selector, found: ResourceSlice, device: Device) -> _Judged:
    facts = device_facts(found.spec.driver, device)
    return _Judged(found.spec.driver, found.spec.pool.name, device.name, facts, selector.trace(facts))


def _report_failure(error: InputError, output: str) -> None:
    compiling = isinstance(error, CompileError)
    if output == "json":
        _print_json({"compileError" if compiling else "error": str(error)})
    else:
        click.echo(f"{'compilation failed' if compiling else 'cannot use the input'}: {error}", err=True)


def _print_json(tree: dict[str, Any]) -> None:
    click.echo(orjson.dumps(tree, option=orjson.OPT_INDENT_2).decode())


def _to_json(judged: _Judged) -> dict[str, Any]:
    verdict = judged.trace.verdict
    return {
        "driver": judged.driver,
        "pool": judged.pool,
        "device": judged.device,
        "match": verdict.match,
        "error": verdict.error,
        "cost": verdict.cost,
    }


def _print_table(selector: Selector, judged: list[_Judged], problem: str | None) -> None:
    if problem is not None:
        click.echo(f"warning: the API server refuses this expression: {problem}")
    if not judged:
        click.echo(f"the expression compiles, its cost is at most {selector.max_cost}; no devices were given")
        return
    _draw_rows(judged)
    for line in summarize(selector, [j.facts for j in judged]).list_lines():
        click.echo(line)


def _draw_rows(judged: list[_Judged]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for column in ("DRIVER", "POOL", "DEVICE", "MATCH", "COST", "DECIDED BY"):
        table.add_column(column, overflow="fold", justify="right" if column == "COST" else "left")
    for j in judged:
        verdict = j.trace.verdict
        match = "error" if verdict.match is None else str(verdict.match).lower()
        row = (j.driver, j.pool, j.device, match, str(verdict.cost), _describe_decision(j.trace))
        table.add_row(*map(Text, row))
    Console(width=None if sys.stdout.isatty() else _PLAIN_WIDTH).print(table)


def _describe_decision(trace: Trace) -> str:
    error = trace.verdict.error
    if error is None:
        return " and ".join(clause.text for clause in trace.deciding)
    place = " and ".join(clause.text for clause in trace.deciding if clause.error is not None)
    return f"{place}: {error}" if place else error

"""``apportion simulate``: where would these pods go?"""

import sys
from typing import Any

import click
import orjson

from apportion.cli.options import filenames, load_config, output_option, read_gates, scheduler_options
from apportion.cli.progress import Progress
from apportion.sched.explain import advise, judge
from apportion.sim.cluster import Cluster, load_cluster
from apportion.sim.outcome import Outcome, PodResult
from apportion.sim.simulation import Simulation

ALL_PLACED, SOME_PENDING = 0, 2
_ADVICE_MAX = 50


@click.command()
@filenames
@output_option("table", "json", "yaml")
@click.option(
    "--assume-nodes",
    is_flag=True,
    help="Make the nodes that slices or pods name but no Node object describes.",
)
@scheduler_options
def simulate(
    paths: tuple[str, ...], output: str, assume_nodes: bool, gates_text: str, config_path: str | None, seed: int
) -> None:
    """Place the pods of manifests or of a cluster dump, offline.

    Objects that have a node or an allocation keep them. Workloads are expanded into pods, claim templates into
    claims. Pods go by priority, then creation time, then input order.

    Exit status: 0 when every pod is placed, 2 when some are pending, 1 for an error.
    """
    gates, config = read_gates(gates_text), load_config(config_path)
    cluster = load_cluster(paths, sys.stdin.buffer, gates, assume_nodes, seed)
    simulation = Simulation(cluster.objects, config, gates, seed)
    with Progress("scheduling") as progress:
        simulation.run(progress.update)
    outcome = simulation.outcome
    results = outcome.results()
    totals = outcome.totals(results)
    report_problems(cluster)
    if output == "table":
        show(cluster, outcome, results, totals)
    else:
        print_tree(to_json(cluster, results, totals), output)
    sys.exit(SOME_PENDING if totals["pods"]["pending"] else ALL_PLACED)


def to_json(cluster: Cluster, results: list[PodResult], totals: dict[str, Any]) -> dict[str, Any]:
    """Return the documented output."""
    return {
        "pods": [r.to_json() for r in results],
        "totals": totals,
        "notUnderstood": cluster.not_understood,
        "nodesAssumed": cluster.nodes_assumed,
    }


def print_tree(tree: dict[str, Any], output: str) -> None:
    """Print JSON or YAML on standard output."""
    if output == "json":
        sys.stdout.buffer.write(orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    else:
        import yaml

        click.echo(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True), nl=False)


def report_problems(cluster: Cluster) -> None:
    """Say on standard error what was rejected and what was filled in."""
    for rejected in cluster.rejected:
        click.echo(f"rejected: {rejected}", err=True)
    for warning in cluster.warnings:
        click.echo(f"warning: {warning}", err=True)


def show(cluster: Cluster, outcome: Outcome, results: list[PodResult], totals: dict[str, Any]) -> None:
    """Print the tables."""
    from apportion.cli.tables import make_console, show_pending, show_placed, show_totals

    console = make_console()
    if cluster.nodes_assumed:
        console.print(f"nodes assumed: {', '.join(cluster.nodes_assumed)}\n")
    show_placed(console, outcome, results)
    show_pending(console, results, collect_advice(outcome))
    for entry in cluster.not_understood:
        console.print(f"not understood: {entry['object']} in {entry['file']}: {entry['reason']}", markup=False)
    show_totals(console, totals)


def collect_advice(outcome: Outcome) -> dict[str, list[str]]:
    """Return by pod what would help it, for the first pending pods."""
    scheduler = outcome.scheduler
    pending = outcome.pending_pods()[:_ADVICE_MAX]
    return {pod.key: advise(scheduler, pod, judge(scheduler, pod)) for pod in pending}

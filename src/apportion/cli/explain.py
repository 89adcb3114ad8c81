"""``apportion explain``: for each pending pod and every node, what speaks for it or against it."""

import sys

import click
import orjson

from apportion.base import InputError
from apportion.cli.options import filenames, load_config, output_option, read_gates, scheduler_options
from apportion.cli.simulate import report_problems
from apportion.sched.cycle import Scheduler
from apportion.sched.explain import Judgement, NodeScores, advise, judge
from apportion.sched.state import PodInfo
from apportion.sim.cluster import load_cluster
from apportion.sim.simulation import Simulation

_NODES_SHOWN_MAX = 100


@click.command()
@filenames
@output_option("table", "json")
@click.option("--pod", "wanted", metavar="NS/NAME", help="Explain this pod only.")
@click.option("--assume-nodes", is_flag=True, help="Make the nodes that slices or pods name but nothing describes.")
@scheduler_options
def explain(
    paths: tuple[str, ...],
    output: str,
    wanted: str | None,
    assume_nodes: bool,
    gates_text: str,
    config_path: str | None,
    seed: int,
) -> None:
    """Judge each pending pod alone against the state as it is given; nothing is bound.

    For every node: the first plugin that rejects it with code and reasons, or the score that each plugin gives it.
    """
    gates, config = read_gates(gates_text), load_config(config_path)
    cluster = load_cluster(paths, sys.stdin.buffer, gates, assume_nodes, seed)
    simulation = Simulation(cluster.objects, config, gates, seed)
    report_problems(cluster)
    pods = simulation.outcome.pending_pods()
    if wanted is not None:
        pods = [p for p in pods if p.key == wanted]
        if not pods:
            raise InputError(f"no pending pod is called {wanted}; name it as NAMESPACE/NAME")
    scheduler = simulation.scheduler
    for extender in config.extenders:
        click.echo(f"the extender at {extender.url_prefix} is not asked here; simulate and play ask it", err=True)
    if output == "json":
        judged = [judge(scheduler, pod).to_json() for pod in pods]
        sys.stdout.buffer.write(orjson.dumps({"pods": judged}, option=orjson.OPT_INDENT_2))
        return
    for pod in pods:
        _show(scheduler, pod, judge(scheduler, pod))
    if not pods:
        click.echo("no pod is pending")


def _show(scheduler: Scheduler, pod: PodInfo, judgement: Judgement) -> None:
    from rich.table import Table
    from rich.text import Text

    from apportion.cli.tables import make_console

    console = make_console()
    console.print(Text(judgement.pod, style="bold"))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("node", "total", "plugin", "verdict"):
        table.add_column(title, justify="right" if title == "total" else "left")
    order = {name: i for i, name in enumerate(judgement.feasible)}
    ranked = sorted(judgement.nodes.items(), key=lambda n: (order.get(n[0], len(order)), n[0]))
    for name, found in ranked[:_NODES_SHOWN_MAX]:
        if isinstance(found, NodeScores):
            scores = ", ".join(f"{plugin} {score}" for plugin, score in found.weighted.items())
            table.add_row(name, str(found.total), "", scores)
        else:
            table.add_row(name, "", found.plugin, f"{found.code.text}: {found.message}")
    if judgement.nodes:
        console.print(table)
    if len(ranked) > _NODES_SHOWN_MAX:
        console.print(f"… and {len(ranked) - _NODES_SHOWN_MAX} more nodes; --output json has them all")
    if judgement.message is not None:
        console.print(judgement.message, markup=False)
        for sentence in advise(scheduler, pod, judgement):
            console.print(f"→ {sentence}", markup=False)
    console.print()

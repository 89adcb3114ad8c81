"""``apportion demo``: a small GPU cluster, what people ask of it, and every decision."""

import os
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path

import click

from apportion.api.feature_gates import FeatureGates
from apportion.cli.simulate import collect_advice, report_problems
from apportion.sim.cluster import load_cluster
from apportion.sim.simulation import Simulation, total_up

_INTRO = """\
Two nodes with 8 GPUs and 4 NICs each, one without devices. On it: four trainers that want a GPU and a NIC on the
same PCIe root, two viewers that share one GPU, an inference pod that prefers a large GPU and takes two small ones,
a web service spread over zones with a cache beside it, and one pod that asks for too much.
"""
_NEXT = """\
Try next:
  {me} explain -f {folder} --pod default/too-close
      what every node says of that pod
  {me} cel 'device.attributes["gpu.example.com"].model == "G80"' -f {folder}
      a selector tried on every device
  {me} simulate -f YOUR-MANIFESTS --assume-nodes
      the same for your own cluster
"""


@click.command()
def demo() -> None:
    """Schedule a bundled example cluster and show every decision."""
    from apportion.cli.tables import make_console, show_pending, show_placed, show_totals

    console = make_console()
    console.print(_INTRO)
    with as_file(files("apportion.sim") / "demo") as folder:
        gates = FeatureGates.parse("")
        cluster = load_cluster([str(folder)], None, gates, assume_nodes=False, seed=0)
        report_problems(cluster)
        simulation = Simulation(cluster.objects, gates=gates)
        simulation.run()
        results = simulation.results()
        show_placed(console, simulation, results)
        show_pending(console, results, collect_advice(simulation))
        show_totals(console, total_up(simulation, results))
        console.print()
        me = "apportion" if shutil.which("apportion") else sys.argv[0]
        console.print(_NEXT.format(me=me, folder=_shorten(folder)), markup=False, soft_wrap=True)


def _shorten(path: Path) -> str:
    """Return the path as seen from here when that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)

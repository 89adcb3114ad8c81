"""``apportion demo``: a small GPU cluster, what people ask of it, and every decision."""

import os
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path

import click

from apportion.base import InputError
from apportion.cli.simulate import collect_advice
from apportion.sim.documents import read_documents
from apportion.sim.outcome import Outcome
from apportion.sim.play import Player, Scenario
from apportion.sim.play.scenario import Apply, Run, Step

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
    """Apply a bundled example to a control plane in this process, and show what became of it."""
    from apportion.cli.tables import make_console, show_pending, show_placed, show_totals

    console = make_console()
    console.print(_INTRO)
    with as_file(files("apportion.sim") / "demo") as folder:
        player = Player(Scenario(_steps(folder), {}, None))
        for result in player.play():
            if not result.is_ok:
                raise InputError("; ".join(result.problems))
        outcome = Outcome(player.world.plane.scheduler, player.world)
        results = outcome.results()
        show_placed(console, outcome, results, has_phase=True)
        show_pending(console, results, collect_advice(outcome))
        show_totals(console, outcome.totals(results))
        console.print()
        me = "apportion" if shutil.which("apportion") else sys.argv[0]
        console.print(_NEXT.format(me=me, folder=_shorten(folder)), markup=False, soft_wrap=True)


def _steps(folder: Path) -> list[Step]:
    """Return what the demo does: apply each file, and wait until everything rests."""
    steps = []
    for path in sorted(folder.glob("*.yaml")):
        objects = [d.content for d in read_documents(path.read_bytes())]
        steps += [Step("apply", 0, Apply(objects)), Step("run", 0, Run(None))]
    return steps


def _shorten(path: Path) -> str:
    """Return the path as seen from here when that is shorter."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(str(path)) else str(path)

"""``apportion up``: a control plane in one process, for kubectl and other clients."""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import Final

import click

from apportion.base import InputError, Rng
from apportion.cel import check_expressions
from apportion.cli.logs import log_options, set_up_logs
from apportion.cli.options import load_config, read_gates
from apportion.cli.progress import Progress
from apportion.sim.devices import read_devices
from apportion.sim.embedded import Embedded, open_store
from apportion.sim.manifests import Loaded, load_paths
from apportion.sim.preload import Preloaded

NODES_MAX: Final = 20_000
_KUBECONFIG: Final = """apiVersion: v1
kind: Config
clusters:
- name: apportion
  cluster:
    server: {url}
contexts:
- name: apportion
  context:
    cluster: apportion
    user: apportion
current-context: apportion
users:
- name: apportion
  user: {{}}
"""


class SystemClock:
    """The time of day."""

    def now(self) -> float:
        """Return seconds since the Unix epoch."""
        return time.time()


@click.command()
@click.option(
    "-f",
    "--filename",
    "paths",
    multiple=True,
    metavar="PATH",
    help="Manifests or the dump of a cluster: a file, a folder or - for standard input. May be given several times.",
)
@click.option("--nodes", default=0, type=click.IntRange(0, NODES_MAX), help="How many stand-in nodes to make.")
@click.option("--devices", "devices_path", metavar="FILE", help="What the stand-in nodes' drivers publish.")
@click.option(
    "--kubelets",
    default="stand-in",
    type=click.Choice(["stand-in", "none"]),
    help="Whether bound pods run and deleted ones go, on all nodes, without real kubelets.",
)
@click.option(
    "--controllers",
    default="all",
    type=click.Choice(["all", "none"]),
    help="none: leave them to programs of your own.",
)
@click.option(
    "--scheduler",
    default="apportion",
    type=click.Choice(["apportion", "none"]),
    help="none: leave pods to a scheduler of your own.",
)
@click.option("--data-dir", metavar="DIR", help="Keep everything in this folder, across restarts.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port on 127.0.0.1; 0 takes a free one.")
@click.option("--kubeconfig", default="apportion.kubeconfig", metavar="FILE", help="Where to write the kubeconfig.")
@click.option("--config", "config_path", metavar="FILE", help="A KubeSchedulerConfiguration.")
@click.option("--feature-gates", "gates_text", default="", metavar="A=true,B=false", help="Feature gates.")
@log_options
def up(
    paths: tuple[str, ...],
    nodes: int,
    devices_path: str | None,
    kubelets: str,
    controllers: str,
    scheduler: str,
    data_dir: str | None,
    port: int,
    kubeconfig: str,
    verbose: bool,
    log_format: str,
    config_path: str | None,
    gates_text: str,
) -> None:
    """Run an API server, the scheduler and controllers in one process, until Ctrl-C.

    Listens on 127.0.0.1 without authentication: everybody on this machine can use it.
    """
    set_up_logs(verbose, log_format)
    gates, config = read_gates(gates_text), load_config(config_path)
    devices = None if devices_path is None else read_devices(devices_path)
    loaded = load_paths(paths, sys.stdin.buffer, check_expressions(gates.as_dict()))

    async def run() -> None:
        stopped = _catch_signals()
        clock = SystemClock()
        # names and uids must differ from those of an earlier life in the same folder
        rng = Rng(secrets.randbits(63))
        store = open_store(data_dir, clock.now())
        parts = {
            "has_kubelets": kubelets == "stand-in",
            "has_controllers": controllers == "all",
            "has_scheduler": scheduler != "none",
        }
        embedded = Embedded(store, clock, rng, config, gates, port, **parts)
        try:
            with Progress("loading") as progress:
                preloaded = embedded.prepare(loaded, nodes, devices, progress.update)
            _report(loaded, preloaded)
            await embedded.start()
            _write_kubeconfig(kubeconfig, embedded.http.url)
            _greet(embedded.http.url, kubeconfig, nodes, data_dir)
            await stopped.wait()
        finally:
            await embedded.stop()
        click.echo("stopped")

    asyncio.run(run())


def _report(loaded: Loaded, preloaded: Preloaded) -> None:
    """Say what became of the input of -f."""
    for entry in (*loaded.rejected, *loaded.not_understood):
        click.echo(
            f"left out: {entry.object} in {entry.file}: {': '.join(filter(None, (entry.field, entry.reason)))}",
            err=True,
        )
    for text in (*loaded.warnings, *preloaded.problems):
        click.echo(f"warning: {text}", err=True)
    if loaded.objects:
        click.echo(f"loaded: {preloaded.made} objects, {preloaded.existed} were there already")


def _write_kubeconfig(path: str, url: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise InputError(f"--kubeconfig {path}: {error.strerror}; name a file that you may write to") from None
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(_KUBECONFIG.format(url=url))


def _greet(url: str, kubeconfig: str, nodes: int, data_dir: str | None) -> None:
    kept = f"in {data_dir}" if data_dir else "in memory: gone at the end"
    click.echo(f"ready: {url} ({nodes} stand-in nodes; everything is kept {kept})")
    click.echo(f"try:   export KUBECONFIG={Path(kubeconfig).resolve()}")
    click.echo("       kubectl get nodes")
    click.echo("       kubectl run web --image=nginx && kubectl get pods -o wide")
    click.echo("stop:  Ctrl-C")


def _catch_signals() -> asyncio.Event:
    """Return what Ctrl-C sets; called first, so that it also ends a start in an orderly way."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stopped.set)
    return stopped

"""``apportion queue``: what the scheduler of a running control plane has in its queue."""

import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Final

import click
import orjson

from apportion.base import InputError
from apportion.cli.options import output_option

PATH: Final = "/debug/scheduler/queue"
_TIMEOUT_S: Final = 10.0
_TITLES: Final = ("pod", "where", "for", "priority", "attempts", "backoff left", "held by", "wakes on")


@click.command()
@click.option("--server", "server", metavar="URL", help="The address that `apportion up` printed.")
@click.option(
    "--kubeconfig", metavar="FILE", help="The kubeconfig that `apportion up` wrote.  [default: apportion.kubeconfig]"
)
@output_option("table", "json")
def queue(server: str | None, kubeconfig: str | None, output: str) -> None:
    """Show the scheduling queue of a running control plane.

    For each pod: where it is and since when, which plugins hold it, which events would wake it, how much of its
    backoff is left.
    """
    tree = _read(server or _find_server(kubeconfig or "apportion.kubeconfig"))
    if output == "json":
        sys.stdout.buffer.write(orjson.dumps(tree, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    else:
        _show(tree)


def _find_server(path: str) -> str:
    import yaml

    try:
        tree = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        url: str = tree["clusters"][0]["cluster"]["server"]
    except OSError as error:
        raise InputError(f"--kubeconfig {path}: {error.strerror}; name another file, or give --server") from None
    except (yaml.YAMLError, LookupError, TypeError):
        raise InputError(f"--kubeconfig {path}: names no server; give --server") from None
    return url


def _read(server: str) -> dict[str, Any]:
    url = server.rstrip("/") + PATH
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            tree: dict[str, Any] = orjson.loads(answer.read())
    except urllib.error.HTTPError as error:
        text = "is it one of apportion up?" if error.code == 404 else error.reason
        raise InputError(f"{url}: the server answers {error.code}; {text}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{url}: {getattr(error, 'reason', error)}") from None
    return tree


def _show(tree: dict[str, Any]) -> None:
    """Print one line for each pod, whole: the last column is the one that may be long."""
    if not tree["entities"]:
        click.echo("the queue is empty")
        return
    rows = [list(_TITLES), *(_row(entity, tree["now"]) for entity in tree["entities"])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_TITLES))]
    for row in rows:
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _row(entity: dict[str, Any], now_s: float) -> list[str]:
    holders = [*entity["unschedulable_plugins"], *(f"{p} (pending)" for p in entity["pending_plugins"])]
    left_s = entity["backoff_left_s"]
    return [
        entity["pod"],
        entity["where"],
        f"{max(now_s - entity['since_s'], 0):.0f}s",
        str(entity["priority"]),
        str(entity["attempts"]),
        f"{left_s:.1f}s" if left_s else "",
        ", ".join([*holders, *entity["gate_reasons"]]),
        ", ".join(entity["wakes_on"]),
    ]

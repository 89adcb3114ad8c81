"""``apportion up`` as a process of its own, spoken to over HTTP."""

import json
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MAIN = "from apportion.cli import main; main()"
Tree = dict[str, Any]


class Up:
    """One running process; ``url`` is its address."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.kubeconfig = folder / "kubeconfig"
        command = [sys.executable, "-c", _MAIN, "up", "--kubeconfig", str(self.kubeconfig), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line.startswith("loaded: "):
            line = self.process.stdout.readline()
        found = re.match(r"ready: (http://127\.0\.0\.1:\d+)", line)
        assert found, line
        self.url = found[1]

    def call(self, method: str, path: str, tree: Tree | None = None) -> Tree:
        body = None if tree is None else json.dumps(tree).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as response:
            parsed: Tree = json.load(response)
        return parsed

    def create(self, path: str, kind: str, name: str, version: str = "v1", **more: Any) -> Tree:
        return self.call("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more})

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, output
        return output


def eventually(read: Callable[[], Any], wanted: Any) -> None:
    """Ask until the answer is as wanted; gives up after a while."""
    answer = None
    for _ in range(400):
        answer = read()
        if answer == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(f"{answer!r} instead of {wanted!r}")

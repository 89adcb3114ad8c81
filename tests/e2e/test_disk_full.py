"""A disk that refuses writes: ``apportion up`` goes on reading, says why it does not write, and writes again later.

The limit on the size of files, set on the running process from outside, makes SQLite meet a real error.
"""

import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.kubectl_cluster import Cluster, Printed


def limit(cluster: Cluster, size: int) -> None:
    resource.prlimit(cluster.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def create(cluster: Cluster, name: str) -> Printed:
    return cluster.run("create", "configmap", name, "--from-literal=a=b")


def names(cluster: Cluster) -> list[str]:
    return cluster.run("get", "configmaps", "-o", "name").stdout.split()


@pytest.mark.slow
def test_a_full_disk_stops_writes_only_and_only_while_it_is_full(
    start_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    data = tmp_path / "data"
    cluster = start_cluster("--kubelets", "none", "--data-dir", str(data))
    kept = []
    watch = subprocess.Popen(
        [cluster.kubectl, "get", "configmaps", "-w", "-o", "name"],
        stdout=subprocess.PIPE,
        text=True,
        env=cluster.environment,
        bufsize=1,
    )
    assert watch.stdout is not None
    for number in range(5):
        name = f"before-{number}"
        assert create(cluster, name).rc == 0
        kept.append(f"configmap/{name}")
        assert watch.stdout.readline().strip() == kept[-1]
        limit(cluster, 0)
        for _ in range(2):  # the second one is refused without asking the disk
            started_s = time.monotonic()
            refused = create(cluster, f"refused-{number}")
            assert refused.rc == 1 and time.monotonic() - started_s < 5
            assert f"the data directory {data} cannot be written" in refused.stderr
        assert names(cluster) == kept
        limit(cluster, resource.RLIM_INFINITY)
        deadline_s = time.monotonic() + 2.0
        while create(cluster, f"after-{number}").rc:
            assert time.monotonic() < deadline_s, "writing did not go on"
        kept = sorted([*kept, f"configmap/after-{number}"])
        assert watch.stdout.readline().strip() == f"configmap/after-{number}"
        kept = names(cluster)
    watch.kill()
    watch.communicate()
    cluster.stop()
    again = start_cluster("--kubelets", "none", "--data-dir", str(data))
    assert names(again) == kept and len(kept) == 10

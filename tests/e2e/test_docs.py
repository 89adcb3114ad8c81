"""What the documents show works as they show it."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import yaml

from e2e.kubectl_cluster import Cluster

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
SPEC = {"containers": [{"name": "c", "image": "i"}]}


def blocks(page: str, language: str) -> list[str]:
    return [text for found, text in _BLOCK.findall((DOCS / page).read_text()) if found == language]


def run(folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", "from apportion.cli import main; main()", *args]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=60, check=False)


def head(kind: str, name: str, **meta: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **meta}}


def test_the_example_of_an_own_plugin_runs(tmp_path: Path) -> None:
    (tmp_path / "apart.py").write_text(blocks("plugins.md", "python")[0])
    (tmp_path / "config.yaml").write_text(blocks("plugins.md", "yaml")[0])
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    trees = [{**head("Node", f"n{i}"), "status": {"allocatable": room}} for i in range(2)]
    trees += [{**head("Pod", f"p{i}", namespace="default", labels={"app": "web"}), "spec": SPEC} for i in range(5)]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(trees))
    done = run(tmp_path, "simulate", "-f", "cluster.yaml", "--config", "config.yaml", "--output", "json")
    pods = orjson.loads(done.stdout)["pods"]
    assert sorted(p["node"] or "" for p in pods) == ["", "n0", "n0", "n1", "n1"]
    (pending,) = (p for p in pods if not p["node"])
    assert pending["message"] == "0/2 nodes are available: 2 too many of this app on the node."


def test_the_scenario_of_the_page_holds(tmp_path: Path) -> None:
    (tmp_path / "scenario.yaml").write_text(blocks("play.md", "yaml")[0])
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump({**head("Pod", "web"), "spec": SPEC}))
    done = run(tmp_path, "play", "scenario.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_for_driver_authors_leads_to_a_pod_with_a_device(
    tmp_path: Path, start_cluster: Callable[..., Cluster]
) -> None:
    devices, manifests = blocks("driver-author.md", "yaml")
    (tmp_path / "devices.yaml").write_text(devices)
    (tmp_path / "train.yaml").write_text(manifests)
    cluster = start_cluster("--nodes", "2", "--devices", str(tmp_path / "devices.yaml"))
    applied = cluster.run("apply", "-f", str(tmp_path / "train.yaml"))
    assert applied.rc == 0, applied.stderr
    waited = cluster.run("wait", "--for=condition=Ready", "pod/train", "--timeout=20s")
    assert waited.rc == 0, waited.stderr
    results = "{.items[0].status.allocation.devices.results[0].driver}"
    assert cluster.run("get", "resourceclaims", "-o", f"jsonpath={results}").stdout == "gpu.example.com"


def test_the_example_of_devices_is_published(tmp_path: Path, start_cluster: Callable[..., Cluster]) -> None:
    (tmp_path / "devices.yaml").write_text(blocks("devices.md", "yaml")[0])
    cluster = start_cluster("--nodes", "1", "--devices", str(tmp_path / "devices.yaml"))
    listed = cluster.run("get", "resourceslices,deviceclasses", "-o", "name").stdout.split()
    assert [name.rpartition("/")[2] for name in listed] == [
        "node-0-gpu.example.com-0", "node-0-nic.example.com-0", "gpu", "nic",
    ]  # fmt: skip

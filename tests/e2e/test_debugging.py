"""What a running ``apportion up`` tells of itself: metrics, the queue, decisions in the log."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from typing import Any

from e2e.up_process import Up, eventually

_MAIN = "from apportion.cli import main; main()"
_PODS = "/api/v1/namespaces/default/pods"


def spec(cpu: str) -> dict[str, Any]:
    """Return a pod's spec."""
    return {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _MAIN, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_metrics_queue_and_log(start: Callable[..., Up]) -> None:
    up = start("--nodes", "1", "-v", "--log-format", "json")
    up.create(_PODS, "Pod", "small", spec=spec("1"))
    up.create(_PODS, "Pod", "large", spec=spec("100"))

    def reasons() -> list[str]:
        status = up.call("GET", f"{_PODS}/large")["status"]
        return [c["reason"] for c in status.get("conditions", [])]

    eventually(reasons, ["Unschedulable"])
    with urllib.request.urlopen(f"{up.url}/metrics", timeout=20) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        lines = answer.read().decode().splitlines()
    assert 'scheduler_pending_pods{queue="unschedulable"} 1' in lines
    shown = run("queue", "--kubeconfig", str(up.kubeconfig))
    assert shown.returncode == 0, shown.stderr
    (_, row) = shown.stdout.splitlines()
    assert row.startswith("default/large")
    assert "NodeResourcesFit" in row
    tree = json.loads(run("queue", "--server", up.url, "-o", "json").stdout)
    assert [e["pod"] for e in tree["entities"]] == ["default/large"]
    output = up.stop()
    logged = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    decisions = {line["pod"]: line for line in logged if "pod" in line}
    assert decisions["default/small"]["msg"] == "scheduled"
    assert decisions["default/large"]["msg"] == "unschedulable"


def test_a_server_that_is_not_there_is_named() -> None:
    found = run("queue", "--server", "http://127.0.0.1:1")
    assert found.returncode == 1
    assert found.stderr.startswith("Error: http://127.0.0.1:1/debug/scheduler/queue: ")

"""What a running ``apportion up`` tells of itself: metrics, the queue, decisions in the log; and whom it asks."""

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

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


class Choosy(BaseHTTPRequestHandler):
    """An extender that knows one node only."""

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        left = [name for name in sent["NodeNames"] if name == "node-2"]
        failed = {name: "not that one" for name in sent["NodeNames"] if name not in left}
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"NodeNames": left, "FailedNodes": failed}).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _serve(folder: Path) -> ThreadingHTTPServer:
    """Start the extender, and write the configuration that names it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Choosy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True}],
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(tree))
    return server


def test_up_asks_extenders(start: Callable[..., Up], tmp_path: Path) -> None:
    server = _serve(tmp_path)
    up = start("--nodes", "3", "--config", str(tmp_path / "config.yaml"))
    for i in range(5):
        up.create(_PODS, "Pod", f"p{i}", spec=spec("1"))

    def nodes() -> set[str]:
        return {p["spec"].get("nodeName", "") for p in up.call("GET", _PODS)["items"]}

    eventually(nodes, {"node-2"})
    assert "stopped" in up.stop()
    server.shutdown()


def test_play_waits_for_extenders(tmp_path: Path) -> None:
    server = _serve(tmp_path)
    room = {"cpu": "4", "pods": "10"}
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{i}"},
            "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
        }
        for i in range(3)
    ]
    objects += [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": spec("1")} for i in range(3)]
    wanted = [
        {"kind": "Pod", "metadata": {"name": f"p{i}"}, "spec": {"nodeName": "node-2"}, "status": {"phase": "Running"}}
        for i in range(3)
    ]
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    steps = [{"apply": {"objects": objects}}, {"run": "idle"}, {"expect": wanted}]
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"config": config, "steps": steps}))
    found = run("play", str(tmp_path / "s.yaml"), "-v")
    assert found.returncode == 0, found.stdout
    assert "msg=scheduled pod=default/p0" in found.stderr
    server.shutdown()

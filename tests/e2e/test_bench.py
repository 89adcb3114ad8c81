"""``apportion bench`` on workload files: both modes, every result form, and what it refuses."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from apportion.cli.main import cli

_TEMPLATES = {
    "node.yaml": "{apiVersion: v1, kind: Node, metadata: {name: 'n-{{.Index}}'}, spec: {}, "
    "status: {capacity: {cpu: '4', memory: 8Gi, pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}",
    "high.yaml": "{apiVersion: v1, kind: Pod, metadata: {generateName: high-}, spec: {priority: 50, "
    "terminationGracePeriodSeconds: 0, containers: [{name: a, image: b}]}}",
}
_FILE = """
- name: Tiny
  workloadTemplate:
  - {opcode: createNodes, countParam: $nodes, nodeTemplatePath: node.yaml}
  - {opcode: churn, mode: recreate, number: 1, intervalMilliseconds: 5, templatePaths: [high.yaml]}
  - {opcode: createPods, count: 4, namespace: first, skipWaitToCompletion: true}
  - {opcode: barrier, stageRequirement: Scheduled}
  - {opcode: createPods, countParam: $pods, namespace: measured, collectMetrics: true}
  - {opcode: deletePods, namespace: measured, deletePodsPerSecond: 1000}
  - {opcode: sleep, duration: 10ms}
  workloads:
  - {name: good, labels: [short], threshold: 1000, params: {nodes: 3, pods: 12}}
  - {name: nameless, params: {nodes: 3}}
- name: Odd
  workloadTemplate: [{opcode: teleport}]
  workloads: [{name: odd}]
"""


def _write(folder: Path) -> str:
    for name, text in _TEMPLATES.items():
        (folder / name).write_text(text)
    path = folder / "performance-config.yaml"
    path.write_text(_FILE)
    return str(path)


def _bench(*args: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    result = CliRunner().invoke(cli, ["bench", *args, "-o", "json"])
    return result.exit_code, {w["name"]: w for w in json.loads(result.stdout)["workloads"]}, result.stderr


def test_a_small_workload_in_core_mode(tmp_path: Path) -> None:
    path = _write(tmp_path)
    profile, items = tmp_path / "profile.txt", tmp_path / "items"
    code, found, said = _bench(path, "--profile", str(profile), "--data-items", str(items), "--repeat", "1")
    assert code == 1, "two of three workloads cannot run"
    good = found["Tiny/good"]
    assert (good["pods"], good["counted"], good["mode"], good["notes"]) == (
        12,
        "pods",
        "core",
        ["ran under the profiler, which slows it down"],
    )
    assert good["podsPerSecond"] > 0 and good["peakMemoryMiB"] > 0 and good["calibration"] > 0
    assert found["Tiny/nameless"]["error"] == "parameter 'pods' is missing"
    assert found["Odd/odd"]["error"] == "opcode 'teleport' is not known"
    assert "Odd/odd failed: opcode 'teleport' is not known" in said
    assert "sched.plugins" in profile.read_text() and "with callees" in profile.read_text()
    (written,) = items.iterdir()
    assert json.loads(written.read_text())["dataItems"][0]["unit"] == "pods/s"


def test_the_same_workload_through_the_api(tmp_path: Path) -> None:
    code, found, _ = _bench("run", _write(tmp_path), "--mode", "api", "--workload", "good", "--repeat", "1")
    assert code == 0
    assert (found["Tiny/good"]["pods"], found["Tiny/good"]["mode"]) == (12, "api")


def test_results_are_compared(tmp_path: Path) -> None:
    for name, rate in (("a", 100.0), ("b", 150.0)):
        result = {"name": "Case/x", "mode": "core", "podsPerSecond": rate, "spread": 0.01, "calibration": 1.0}
        (tmp_path / name).write_text(json.dumps({"workloads": [result]}))
    done = CliRunner().invoke(cli, ["bench", "compare", str(tmp_path / "a"), str(tmp_path / "b")])
    assert done.exit_code == 0
    assert "1.500" in done.stdout and "faster" in done.stdout


def test_no_path_means_own_workloads() -> None:
    done = CliRunner().invoke(cli, ["bench", "run", "--workload", "no such workload"])
    assert done.exit_code == 2
    assert "no workload has such a name" in done.stderr

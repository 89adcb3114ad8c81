"""The commands simulate and explain, as a user calls them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

CLUSTER = """\
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}
spec: {taints: [{key: dedicated, value: db, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 8Gi, pods: "10"}}
"""


def run(*args: str, stdin: str = "", seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-c", "from apportion.cli import main; main()", *args]
    env = {"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, input=stdin, capture_output=True, text=True, env=env, timeout=60, check=False)


def pod(name: str, cpu: str = "1", **spec: Any) -> str:
    """Return a pod as YAML."""
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
    tree = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}
    return yaml.safe_dump(tree)


def documents(*texts: str) -> str:
    """Join YAML documents."""
    return "\n---\n".join(texts)


def test_every_pod_placed_is_exit_status_0() -> None:
    done = run("simulate", "-f", "-", "--output", "json", stdin=documents(CLUSTER, pod("a")))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["pods"] == [{"namespace": "default", "name": "a", "node": "n1", "claims": []}]
    assert found["totals"] == {"nodes": 2, "pods": {"placed": 1, "pending": 0}, "drivers": []}


def test_a_pending_pod_has_the_schedulers_text_and_a_reason_for_every_node() -> None:
    done = run("simulate", "-f", "-", "--output", "json", stdin=documents(CLUSTER, pod("big", "6")))
    assert done.returncode == 2
    (found,) = json.loads(done.stdout)["pods"]
    assert found["node"] is None
    assert found["message"] == ("0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).")
    assert found["reasons"] == [
        {"nodes": ["n1"], "plugin": "NodeResourcesFit", "reason": "Insufficient cpu"},
        {"nodes": ["n2"], "plugin": "TaintToleration", "reason": "node(s) had untolerated taint(s)"},
    ]


def test_the_table_says_what_would_help() -> None:
    done = run("simulate", "-f", "-", stdin=documents(CLUSTER, pod("big", "6")))
    assert "→ asks for 6 cpu; the most that is free is 4, on n1" in done.stdout
    assert "→ a toleration of dedicated=db:NoSchedule would open n2" in done.stdout


def test_objects_keep_their_node_and_take_room() -> None:
    bound = pod("old", "3", nodeName="n1")
    done = run("simulate", "-f", "-", "--output", "json", stdin=documents(CLUSTER, pod("new", "2"), bound))
    nodes = {p["name"]: p["node"] for p in json.loads(done.stdout)["pods"]}
    assert nodes == {"old": "n1", "new": None}


def test_priority_goes_first_then_creation_then_input_order() -> None:
    one = yaml.safe_load(pod("late", "4"))
    one["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z"
    two = yaml.safe_load(pod("early", "4"))
    two["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    done = run("simulate", "-f", "-", "-o", "json", stdin=documents(CLUSTER, yaml.safe_dump(one), yaml.safe_dump(two)))
    assert {p["name"]: p["node"] for p in json.loads(done.stdout)["pods"]} == {"early": "n1", "late": None}
    important = pod("important", "4", priorityClassName="system-node-critical")
    done = run("simulate", "-f", "-", "-o", "json", stdin=documents(CLUSTER, pod("plain", "4"), important))
    assert {p["name"]: p["node"] for p in json.loads(done.stdout)["pods"]} == {"important": "n1", "plain": None}
    done = run("simulate", "-f", "-", "-o", "json", stdin=documents(CLUSTER, pod("b", "4"), pod("a", "4")))
    assert {p["name"]: p["node"] for p in json.loads(done.stdout)["pods"]} == {"b": "n1", "a": None}


def test_bad_objects_are_named_and_the_others_load(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(documents(CLUSTER, pod("a"), pod("Bad_Name"), pod("worse", "many"), "{{ not yaml }}: ["))
    done = run("simulate", "-f", str(file), "--output", "json")
    assert [p["name"] for p in json.loads(done.stdout)["pods"]] == ["a"]
    assert (
        "document 4, Pod default/Bad_Name: metadata.name" in done.stderr or "Pod Bad_Name: metadata.name" in done.stderr
    )
    assert "spec.containers[0].resources.requests" in done.stderr
    assert str(file) in done.stderr


def test_unknown_kinds_are_listed_not_dropped() -> None:
    other = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {template: {spec: {containers: []}}}"
    done = run("simulate", "-f", "-", "--output", "json", stdin=documents(CLUSTER, other))
    (entry,) = json.loads(done.stdout)["notUnderstood"]
    assert "Widget" in entry["object"]


def test_a_missing_file_is_exit_status_1_and_one_line() -> None:
    done = run("simulate", "-f", "/nowhere/at/all.yaml")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ") and "/nowhere/at/all.yaml" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--feature-gates", "DRAAdminAcces=true"), "DRAAdminAcces"),
        (("--config", "CONFIG"), "profiles[0].plugins"),
    ],
)
def test_bad_options_say_what_is_wrong(args: tuple[str, ...], text: str, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {scores: {}}}]\n"
    )
    done = run("simulate", "-f", "-", *(str(config) if a == "CONFIG" else a for a in args), stdin=CLUSTER)
    assert done.returncode == 1
    assert text in done.stderr and "Traceback" not in done.stderr


def test_a_configuration_changes_the_scoring_strategy(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [
                    {
                        "schedulerName": "default-scheduler",
                        "plugins": {
                            "score": {
                                "disabled": [{"name": "*"}],
                                "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
                            }
                        },
                        "pluginConfig": [
                            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}
                        ],
                    }
                ],
            }
        )
    )
    nodes = CLUSTER.replace("spec: {taints: [{key: dedicated, value: db, effect: NoSchedule}]}\n", "")
    text = documents(nodes, pod("p"))
    spread = json.loads(run("simulate", "-f", "-", "-o", "json", stdin=text).stdout)
    packed = json.loads(run("simulate", "-f", "-", "-o", "json", "--config", str(config), stdin=text).stdout)
    assert [spread["pods"][0]["node"], packed["pods"][0]["node"]] == ["n2", "n1"]


def test_explain_judges_each_pod_alone_and_binds_nothing() -> None:
    text = documents(CLUSTER, pod("a", "3"), pod("b", "3"), pod("c", "9"))
    done = run("explain", "-f", "-", "--output", "json", stdin=text)
    assert done.returncode == 0
    found = {p["pod"]: p for p in json.loads(done.stdout)["pods"]}
    assert list(found) == ["default/a", "default/b", "default/c"]
    for name in ("default/a", "default/b"):  # both fit: neither takes the other's place
        node = found[name]["nodes"]["n1"]
        assert node["total"] == sum(node["weighted"].values())
        assert "message" not in found[name]
    assert found["default/c"]["unschedulablePlugins"] == ["NodeResourcesFit", "TaintToleration"]
    assert found["default/c"]["nodes"]["n1"]["rejected"] == {
        "plugin": "NodeResourcesFit",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ["Insufficient cpu"],
    }
    assert found["default/a"]["preemption"] is None
    assert found["default/c"]["preemption"] == {
        "nominated": None,
        "victims": [],
        "message": "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
    }
    table = run("explain", "-f", "-", "--pod", "default/c", stdin=text)
    assert "default/c" in table.stdout and "default/a" not in table.stdout
    missing = run("explain", "-f", "-", "--pod", "default/z", stdin=text)
    assert missing.returncode == 1 and "default/z" in missing.stderr


def test_explain_says_whom_it_does_not_ask(tmp_path: Path) -> None:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    extender = {"urlPrefix": "http://127.0.0.1:9/x", "filterVerb": "filter"}
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump({**kind, "extenders": [extender]}))
    done = run("explain", "-f", "-", "--config", str(config), stdin=documents(CLUSTER, pod("a", "3")))
    assert done.returncode == 0
    assert done.stderr == "the extender at http://127.0.0.1:9/x is not asked here; simulate and play ask it\n"


def test_the_demo_shows_what_it_promises() -> None:
    done = run("demo")
    assert done.returncode == 0
    assert done.stdout.count("pcieRoot=") == 4
    assert "(two-small)" in done.stdout
    viewers = [line.split() for line in done.stdout.splitlines() if line.startswith("default/viewer-")]
    assert len(viewers) == 2 and viewers[0][1:] == viewers[1][1:]
    assert "default/too-close is pending\n  0/3 nodes are available: 3 cannot allocate all claims." in done.stdout
    assert "Try next" in done.stdout

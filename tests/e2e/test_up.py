"""``apportion up`` as a process of its own, spoken to over HTTP."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
import yaml

from e2e.up_process import Tree, Up, eventually

_MAIN = "from apportion.cli import main; main()"
_PODS = "/api/v1/namespaces/default/pods"
_DRA = "/apis/resource.k8s.io/v1"


def phase(up: Up, name: str) -> tuple[str, str]:
    pod = up.call("GET", f"{_PODS}/{name}")
    return pod["spec"].get("nodeName", ""), pod["status"]["phase"]


def pod_spec(**more: Any) -> Tree:
    return {"containers": [{"name": "c", "image": "i"}], **more}


def test_a_pod_runs_and_goes(start: Callable[..., Up]) -> None:
    up = start("--nodes", "1")
    config = yaml.safe_load(up.kubeconfig.read_text())
    assert config["clusters"][0]["cluster"]["server"] == up.url
    up.create(_PODS, "Pod", "web", spec=pod_spec())
    eventually(lambda: phase(up, "web"), ("node-0", "Running"))
    up.call("DELETE", f"{_PODS}/web")
    eventually(lambda: up.call("GET", _PODS)["items"], [])
    assert "stopped" in up.stop()


def test_a_pod_gets_a_device_and_gives_it_back(start: Callable[..., Up]) -> None:
    up = start("--nodes", "2")
    group = "resource.k8s.io/v1"
    up.create(f"{_DRA}/deviceclasses", "DeviceClass", "gpu", group, spec={})
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    devices = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": pool, "devices": [{"name": "gpu-0"}]}
    up.create(f"{_DRA}/resourceslices", "ResourceSlice", "s", group, spec=devices)
    claim = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    templates = f"{_DRA}/namespaces/default/resourceclaimtemplates"
    up.create(templates, "ResourceClaimTemplate", "one", group, spec={"spec": claim})
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    up.create(_PODS, "Pod", "first", spec=pod_spec(resourceClaims=claims))
    eventually(lambda: phase(up, "first"), ("node-1", "Running"))
    up.create(_PODS, "Pod", "second", spec=pod_spec(resourceClaims=claims))

    def reasons() -> list[str]:
        status = up.call("GET", f"{_PODS}/second")["status"]
        return [c["reason"] for c in status.get("conditions", [])]

    eventually(reasons, ["Unschedulable"])
    up.call("DELETE", f"{_PODS}/first")
    eventually(lambda: phase(up, "second"), ("node-1", "Running"))

    def owners() -> list[str]:
        claims = up.call("GET", f"{_DRA}/resourceclaims")["items"]
        return [c["metadata"]["ownerReferences"][0]["name"] for c in claims]

    eventually(owners, ["second"])


def test_a_data_dir_survives_kill_9_and_belongs_to_one_process(start: Callable[..., Up], tmp_path: Path) -> None:
    options = ("--nodes", "1", "--kubelets", "none", "--data-dir", str(tmp_path / "data"))
    up = start(*options)
    kept = up.create("/api/v1/namespaces/default/configmaps", "ConfigMap", "kept", data={"a": "b"})
    command = [sys.executable, "-c", _MAIN, "up", *options]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1 and "another process uses it" in second.stderr
    up.process.kill()
    up.process.wait(20)
    up = start(*options)
    assert up.call("GET", "/api/v1/namespaces/default/configmaps/kept") == kept
    up.create(_PODS, "Pod", "web", spec=pod_spec())
    eventually(lambda: phase(up, "web"), ("node-0", "Pending"))


def test_an_unknown_path_is_the_apis_own_error(start: Callable[..., Up]) -> None:
    up = start()
    with pytest.raises(HTTPError) as refused:
        up.call("GET", f"{_PODS}/missing")
    assert json.load(refused.value)["message"] == 'pods "missing" not found'


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--nodes", "-1"), "Invalid value for '--nodes'"),
        (("--kubeconfig", "/missing/folder/file"), "name a file that you may write to"),
        (("--data-dir", "/dev/null/x"), "name a folder that you may write to"),
        (("--feature-gates", "Nonsense=true"), "Nonsense"),
    ],
)
def test_bad_options_are_named(options: tuple[str, ...], text: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _MAIN, "up", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path)
    assert done.returncode != 0 and text in done.stderr and "Traceback" not in done.stderr


DEVICES = """
drivers:
- driver: gpu.example.com
  deviceClass: gpu
  devices: [{name: "gpu-[0-1]", attributes: {index: "{i}"}}]
"""
MANIFESTS = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: team}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: team}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
"""


def test_manifests_and_described_devices_are_there_from_the_start(start: Callable[..., Up], tmp_path: Path) -> None:
    (tmp_path / "devices.yaml").write_text(DEVICES)
    (tmp_path / "pods.yaml").write_text(MANIFESTS)
    up = start("--nodes", "1", "--devices", str(tmp_path / "devices.yaml"), "-f", str(tmp_path / "pods.yaml"))
    pod = "/api/v1/namespaces/team/pods/train"
    eventually(lambda: up.call("GET", pod)["status"]["phase"], "Running")
    (claim,) = up.call("GET", f"{_DRA}/resourceclaims")["items"]
    assert claim["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert len(up.call("GET", f"{_DRA}/resourceslices")["items"]) == 1

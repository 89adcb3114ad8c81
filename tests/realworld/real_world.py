"""Runs the simulator on real files together with objects written here."""

from pathlib import Path
from typing import Any

import yaml

from apportion.api.feature_gates import FeatureGates
from apportion.sim.cluster import Cluster, load_cluster
from apportion.sim.outcome import PodResult
from apportion.sim.simulation import Simulation

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
DRANET = DATA / "kubernetes-sigs__dranet" / "examples"
EXAMPLE_DRIVER = DATA / "kubernetes-sigs__dra-example-driver" / "demo" / "examples"
Tree = dict[str, Any]


def device_class(name: str, expression: str) -> Tree:
    """Return a device class with one selector."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


GPU_CLASS = device_class(
    "gpu.nvidia.com",
    'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"',
)


def pod_with_template(template: str) -> Tree:
    """Return a pod with one claim from a template."""
    containers = [{"name": "c", "image": "i", "resources": {"claims": [{"name": "d"}]}}]
    claims = [{"name": "d", "resourceClaimTemplateName": template}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": template},
        "spec": {"containers": containers, "resourceClaims": claims},
    }


def simulate(tmp_path: Path, *sources: Path | Tree) -> tuple[Cluster, dict[str, PodResult]]:
    """Simulate files, folders and objects together, with nodes assumed; returns results by pod name."""
    paths = []
    for number, source in enumerate(sources):
        if isinstance(source, Path):
            paths.append(str(source))
        else:
            file = tmp_path / f"{number}.yaml"
            file.write_text(yaml.safe_dump(source))
            paths.append(str(file))
    gates = FeatureGates.parse("")
    cluster = load_cluster(paths, None, gates, assume_nodes=True, seed=0)
    simulation = Simulation(cluster.objects, gates=gates)
    simulation.run()
    return cluster, {r.name: r for r in simulation.outcome.results()}


def devices_of(result: PodResult) -> list[str]:
    """Return the names of the devices that a pod has."""
    return [d["device"] for claim in result.claims for d in claim["devices"]]

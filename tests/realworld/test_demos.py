"""Every demo of three drivers, file by file, on stand-in nodes: how many pods are placed, and what the others lack.

Captured slices bring their own nodes.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from real_world import DATA
from stand_in import list_objects

from apportion.api.feature_gates import FeatureGates
from apportion.sim.cluster import load_cluster
from apportion.sim.simulation import Simulation

FOLDERS = {
    "example": DATA / "kubernetes-sigs__dra-example-driver" / "demo" / "examples",
    "nvidia": DATA / "kubernetes-sigs__dra-driver-nvidia-gpu" / "demo" / "specs",
    "dranet": DATA / "kubernetes-sigs__dranet" / "examples",
    "dranet-tests": DATA / "kubernetes-sigs__dranet" / "tests" / "manifests",
    "nvidia-tests": DATA / "kubernetes-sigs__dra-driver-nvidia-gpu" / "tests" / "bats" / "specs",
}
OUTCOMES: dict[str, dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "outcomes.yaml").read_text())


def list_sources() -> list[str]:
    """Return what is simulated: each file, and folders whose files are steps of one demo or belong together."""
    found = [f"{name}/{p.relative_to(root)}" for name, root in FOLDERS.items() for p in sorted(root.rglob("*.yaml"))]
    steps = {f.rpartition("/")[0] for f in found if f.rpartition("/")[2][:2] in ("1-", "2-")}
    together = {f.rpartition("/")[0] for f in found if f.startswith("dranet/")}
    return [f for f in found if f.rpartition("/")[0] not in steps] + sorted(steps | together)


def find_class(name: str) -> list[str]:
    """Return the class that is there before the manifests of a folder are."""
    before = {"dranet-tests": "deviceclass.yaml", "dranet": "distributed_training/device-class.yaml"}
    return [str(FOLDERS[name] / before[name])] if name in before else []


def find_outcome(source: str, tmp_path: Path) -> dict[str, Any]:
    name, _, path = source.partition("/")
    world = tmp_path / "world.yaml"
    world.write_text(yaml.safe_dump_all(list_objects()))
    gates = FeatureGates.parse("")
    paths = list(dict.fromkeys([str(world), *find_class(name), str(FOLDERS[name] / path)]))
    cluster = load_cluster(paths, None, gates, assume_nodes=name == "dranet", seed=0)
    simulation = Simulation(cluster.objects, gates=gates)
    simulation.run()
    results = simulation.outcome.results()
    reasons = sorted({r.message.partition(": ")[2] or r.message for r in results if not r.node})
    outcome: dict[str, Any] = {"placed": sum(bool(r.node) for r in results)}
    if reasons:
        outcome |= {"pending": sum(not r.node for r in results), "why": reasons}
    return outcome | ({"rejected": len(cluster.rejected)} if cluster.rejected else {})


@pytest.mark.parametrize("source", list_sources())
def test_the_demo_comes_out_as_written_down(source: str, tmp_path: Path) -> None:
    wanted, found = OUTCOMES[source], find_outcome(source, tmp_path)
    assert len(found.get("why", ())) == len(wanted.get("why", ()))
    assert all(w in f for w, f in zip(wanted.get("why", ()), found.get("why", ()), strict=True))
    assert {**found, "why": 0} == {**wanted, "why": 0}

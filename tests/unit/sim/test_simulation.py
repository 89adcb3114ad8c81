"""Volumes offline: they count when the input describes storage, and only then."""

from typing import Any

from apportion.sim.simulation import Simulation

Tree = dict[str, Any]


def place(*storage: tuple[str, Tree]) -> str:
    room = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    node: Tree = {"metadata": {"name": "n1", "uid": "n"}, "spec": {}, "status": {"allocatable": room}}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
    spec: Tree = {"containers": [{"name": "c"}], "volumes": [volume], "schedulerName": "default-scheduler"}
    pod: Tree = {"metadata": {"name": "web-0", "namespace": "d", "uid": "p"}, "spec": spec, "status": {}}
    simulation = Simulation([*storage, ("nodes", node), ("pods", pod)])
    simulation.run()
    (result,) = simulation.outcome.results()
    return result.node or result.message or ""


def test_without_storage_in_the_input_a_volume_claim_holds_nobody_up() -> None:
    assert place() == "n1"


def test_with_storage_in_the_input_a_missing_claim_does() -> None:
    storage: Tree = {"metadata": {"name": "fast", "uid": "s"}, "provisioner": "csi.example.com"}
    text = '0/1 nodes are available: persistentvolumeclaim "data-web-0" not found.'
    assert place(("storageclasses", storage)) == text


def test_without_claims_the_volume_plugins_score_as_always() -> None:
    simulation = Simulation([])
    assert any(p.name == "VolumeBinding" for p in simulation.scheduler.profiles["default-scheduler"].filters)

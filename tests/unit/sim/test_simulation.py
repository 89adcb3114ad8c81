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


def test_a_pod_whose_device_must_be_made_ready_first_says_so() -> None:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    device = {"name": "d0", "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    published = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}
    requests = [{"name": "r", "exactly": {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}}]
    claim: Tree = {"metadata": {"name": "c", "namespace": "d", "uid": "c"}, "spec": {"devices": {"requests": requests}}}
    node: Tree = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}
    spec: Tree = {"containers": [{"name": "c"}], "schedulerName": "default-scheduler"}
    spec["resourceClaims"] = [{"name": "g", "resourceClaimName": "c"}]
    objects: list[tuple[str, Tree]] = [
        ("nodes", node),
        ("deviceclasses", {"metadata": {"name": "any"}, "spec": {}}),
        ("resourceslices", {"metadata": {"name": "s"}, "spec": published}),
        ("resourceclaims", claim),
        ("pods", {"metadata": {"name": "p", "namespace": "d", "uid": "p"}, "spec": spec, "status": {}}),
    ]
    simulation = Simulation(objects)
    simulation.run()
    (result,) = simulation.outcome.results()
    assert result.node == "" and result.message.startswith("expected on n1: waits for binding conditions")

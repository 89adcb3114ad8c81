"""The stand-in for provisioners and the volume controller, beside a whole control plane in virtual time."""

from typing import Any

from apportion.api.feature_gates import FeatureGates
from apportion.sched.framework.config import SchedulerConfig
from apportion.sim.kubelets import make_node
from apportion.sim.play.world import World

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
PODS = "/api/v1/namespaces/default/pods"


def world_with(provisioner: str) -> World:
    world = World(0, SchedulerConfig(), FeatureGates.parse(""))
    storage = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    post(world, "/apis/storage.k8s.io/v1/storageclasses", "StorageClass", "late", "storage.k8s.io/v1", **storage)
    world.call("POST", "/api/v1/nodes", make_node(0))
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "late"}
    spec = {**claim, "resources": {"requests": {"storage": "1Gi"}}}
    post(world, CLAIMS, "PersistentVolumeClaim", "c", spec=spec)
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    post(world, PODS, "Pod", "p", spec={"containers": [{"name": "c", "image": "i"}], "volumes": volumes})
    return world


def post(world: World, path: str, kind: str, name: str, version: str = "v1", **more: Any) -> None:
    answer = world.call("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more})
    assert answer.code < 300, answer.body


def phase_of(world: World, plural: str, name: str) -> str:
    tree = world.find(plural, "default", name)
    assert tree is not None
    phase: str = tree["status"]["phase"]
    return phase


def test_a_claim_that_waits_for_its_pod_gets_a_volume() -> None:
    world = world_with("csi.example.com")
    assert world.run_idle()
    assert (phase_of(world, "pods", "p"), phase_of(world, "persistentvolumeclaims", "c")) == ("Running", "Bound")
    (volume,) = world.trees("persistentvolumes")
    assert (volume["status"]["phase"], volume["spec"]["csi"]["driver"]) == ("Bound", "csi.example.com")
    assert world.elapsed_s < 1


def test_a_volume_that_is_there_is_bound() -> None:
    world = world_with("kubernetes.io/no-provisioner")
    local = {"path": "/mnt"}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}]}]
    spec = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "late",
        "local": local,
    }
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    post(world, "/api/v1/persistentvolumes", "PersistentVolume", "disk", spec={**spec, **affinity})
    assert world.run_idle()
    assert (phase_of(world, "pods", "p"), phase_of(world, "persistentvolumeclaims", "c")) == ("Running", "Bound")

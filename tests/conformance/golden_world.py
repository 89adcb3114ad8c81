"""Loads the recorded worlds and puts them into a scheduler."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from apportion.api.feature_gates import FeatureGates
from apportion.base import Rng, VirtualClock
from apportion.client import MemoryTransport
from apportion.sched.cycle import Scheduler
from apportion.sched.cycle.build import build_scheduler
from apportion.sched.framework.config import SchedulerConfig
from apportion.sched.shell import Shell
from apportion.sched.state import ClusterState, PodInfo

GOLDEN = Path(__file__).parent.parent / "golden"
PLURALS = {
    "Namespace": "namespaces",
    "Node": "nodes",
    "Service": "services",
    "ReplicationController": "replicationcontrollers",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "DeviceClass": "deviceclasses",
    "ResourceSlice": "resourceslices",
    "ResourceClaim": "resourceclaims",
    "StorageClass": "storageclasses",
    "CSIDriver": "csidrivers",
    "CSINode": "csinodes",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods",
}


def read_golden(name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of one file."""
    with gzip.open(GOLDEN / f"{name}.jsonl.gz") as lines:
        for line in lines:
            yield orjson.loads(line)


class World:
    """A scheduler over objects in memory; nothing is scheduled unless a test does it."""

    def __init__(self) -> None:
        self.transport = MemoryTransport()
        clock = VirtualClock()
        self.scheduler: Scheduler = build_scheduler(
            SchedulerConfig(), ClusterState(), FeatureGates.parse(""), clock, Rng(0)
        )
        shell = Shell(self.scheduler, self.transport, clock)
        shell.start()

    def put(self, trees: list[dict[str, Any]]) -> None:
        """Announce objects, one event each."""
        for tree in trees:
            if tree["kind"] in PLURALS:
                self.transport.put(PLURALS[tree["kind"]], tree)
                while self.transport.deliver():
                    pass

    def read_pod(self, tree: dict[str, Any]) -> PodInfo:
        """Return a pod without announcing it."""
        return self.scheduler.state.reader.read(orjson.dumps(tree))

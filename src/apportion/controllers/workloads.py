"""All workload controllers over one set of caches."""

from collections.abc import Sequence
from typing import Any

from apportion.base import Clock, Rng
from apportion.client import Transport
from apportion.controllers.controller import Controller
from apportion.controllers.daemon_sets import DaemonSetController
from apportion.controllers.deployments import DeploymentController
from apportion.controllers.disruptions import DisruptionController
from apportion.controllers.informers import Informers
from apportion.controllers.jobs import JobController
from apportion.controllers.replica_sets import ReplicaSetController, ReplicationControllerController
from apportion.controllers.stateful_sets import StatefulSetController
from apportion.controllers.workload_controller import WorkloadController

_CONTROLLERS: tuple[type[WorkloadController], ...] = (
    ReplicaSetController,
    ReplicationControllerController,
    JobController,
    DeploymentController,
    DaemonSetController,
    StatefulSetController,
)


def make_workload_controllers(transport: Transport, clock: Clock, rng: Rng) -> Sequence[Controller[Any]]:
    """Return the controllers of all workloads; pods are watched and decoded once for all of them."""
    informers = Informers(transport)
    workloads = [make(informers, clock, rng.fork(make.kind)) for make in _CONTROLLERS]
    return [*workloads, DisruptionController(informers, clock)]

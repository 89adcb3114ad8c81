"""Controllers: they watch, and write through the client. See README.md."""

from apportion.controllers.controller import Controller, decode_frame
from apportion.controllers.device_taint_eviction import DeviceTaintEvictionController
from apportion.controllers.garbage_collector import GarbageCollector
from apportion.controllers.namespaces import NamespaceController
from apportion.controllers.node_readiness import NodeReadinessController
from apportion.controllers.node_ttl import NodeTtlController
from apportion.controllers.pod_gc import PodGarbageCollector
from apportion.controllers.pod_group_protection import PodGroupProtectionController
from apportion.controllers.resource_claims import ResourceClaimController
from apportion.controllers.resource_pool_status import ResourcePoolStatusController
from apportion.controllers.work_queue import WorkQueue
from apportion.controllers.workloads import make_workload_controllers

__all__ = [
    "Controller",
    "DeviceTaintEvictionController",
    "GarbageCollector",
    "NamespaceController",
    "NodeReadinessController",
    "NodeTtlController",
    "PodGarbageCollector",
    "PodGroupProtectionController",
    "ResourceClaimController",
    "ResourcePoolStatusController",
    "WorkQueue",
    "decode_frame",
    "make_workload_controllers",
]

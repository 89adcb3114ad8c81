"""The plugins that come with the scheduler, in the default profile's order and with its weights."""

from collections.abc import Callable, Mapping
from typing import Final

from apportion.sched.framework.plugin import Plugin
from apportion.sched.plugins.default_binder import DefaultBinder
from apportion.sched.plugins.default_preemption import DefaultPreemption
from apportion.sched.plugins.dynamic_resources import DynamicResources
from apportion.sched.plugins.handle import Handle
from apportion.sched.plugins.image_locality import ImageLocality
from apportion.sched.plugins.inter_pod_affinity import InterPodAffinity
from apportion.sched.plugins.node_affinity import NodeAffinity
from apportion.sched.plugins.node_declared_features import NodeDeclaredFeatures
from apportion.sched.plugins.node_name import NodeName
from apportion.sched.plugins.node_ports import NodePorts
from apportion.sched.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from apportion.sched.plugins.node_resources_fit import NodeResourcesFit
from apportion.sched.plugins.node_unschedulable import NodeUnschedulable
from apportion.sched.plugins.node_volume_limits import NodeVolumeLimits
from apportion.sched.plugins.pod_topology_spread import PodTopologySpread
from apportion.sched.plugins.priority_sort import PrioritySort
from apportion.sched.plugins.scheduling_gates import SchedulingGates
from apportion.sched.plugins.taint_toleration import TaintToleration
from apportion.sched.plugins.volume_binding import VolumeBinding
from apportion.sched.plugins.volume_restrictions import VolumeRestrictions
from apportion.sched.plugins.volume_zone import VolumeZone

# name -> (factory, default score weight); the order is that of the default profile in Kubernetes 1.37
IN_TREE: Final[Mapping[str, tuple[Callable[[Handle], Plugin], int]]] = {
    "SchedulingGates": (SchedulingGates, 1),
    "PrioritySort": (PrioritySort, 1),
    "NodeName": (NodeName, 1),
    "NodeUnschedulable": (NodeUnschedulable, 1),
    "TaintToleration": (TaintToleration, 3),
    "NodeAffinity": (NodeAffinity, 2),
    "NodePorts": (NodePorts, 1),
    "NodeResourcesFit": (NodeResourcesFit, 1),
    "VolumeRestrictions": (VolumeRestrictions, 1),
    "NodeVolumeLimits": (NodeVolumeLimits, 1),
    "VolumeBinding": (VolumeBinding, 1),
    "VolumeZone": (VolumeZone, 1),
    "PodTopologySpread": (PodTopologySpread, 2),
    "InterPodAffinity": (InterPodAffinity, 2),
    "DynamicResources": (DynamicResources, 2),
    "DefaultPreemption": (DefaultPreemption, 1),
    "NodeResourcesBalancedAllocation": (NodeResourcesBalancedAllocation, 1),
    "ImageLocality": (ImageLocality, 1),
    "DefaultBinder": (DefaultBinder, 1),
    "NodeDeclaredFeatures": (NodeDeclaredFeatures, 1),
}
# plugins of Kubernetes that do nothing while their feature gate is off, and that do not exist here
GATED: Final[Mapping[str, str]] = {
    "DeferredPodScheduling": "InPlacePodVerticalScalingSchedulerPreemption",
    "GangScheduling": "GenericWorkload",
    "PodGroupPodsCount": "TopologyAwareWorkloadScheduling",
    "TopologyPlacementGenerator": "TopologyAwareWorkloadScheduling",
}

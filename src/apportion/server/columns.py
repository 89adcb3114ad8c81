"""The columns of tables, by resource. Source: pkg/printers/internalversion/printers.go upstream."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from apportion.api import Tree
from apportion.server import cells
from apportion.server.cells import NONE, read
from apportion.server.resources import Resource
from apportion.server.schema import get_document

# What a column says about itself is either a field's documentation (type.field, see the schema table) or a text.
_READY: Final = "Number of the pod with ready state"
_CONTAINERS: Final = "Names of each container in the template."
_IMAGES: Final = "Images referenced by each container in the template."
_GATES: Final = (
    "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers "
    'are ready AND all conditions specified in the readiness gates have status equal to "True" More info: '
    "https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates"
)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: how it is named, and what stands in it. ``priority`` 1 is shown in wide output only."""

    name: str
    document: str
    value: Callable[[Tree, float], Any]
    type: str = "string"
    format: str = ""
    priority: int = 0

    def print_cell(self, tree: Tree, now_s: float) -> Any:
        return self.value(tree, now_s)

    def describe(self) -> Tree:
        """Return the column's definition."""
        is_field = " " not in self.document
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": get_document(self.document) if is_field else self.document,
            "priority": self.priority,
        }


def _column(name: str, document: str, value: Callable[[Tree], Any], wide: bool = False, kind: str = "string") -> Column:
    return Column(name, document, lambda tree, _: value(tree), kind, "", int(wide))


def _field(
    name: str, document: str, path: str, default: Any = NONE, wide: bool = False, kind: str = "string"
) -> Column:
    # an empty text is as good as none
    return _column(name, document, lambda tree: read(tree, path) or default, wide, kind)


_NAME: Final = Column("Name", "meta.v1.ObjectMeta.name", lambda t, _: t["metadata"]["name"], format="name")
_AGE: Final = Column("Age", "meta.v1.ObjectMeta.creationTimestamp", cells.print_age)
_CONTAINER_COLUMNS: Final = (
    _column("Containers", _CONTAINERS, lambda t: cells.print_containers(t, "name"), wide=True),
    _column("Images", _IMAGES, lambda t: cells.print_containers(t, "image"), wide=True),
)


def _select(document: str, path: str = "spec.selector", wide: bool = True) -> Column:
    return _column("Selector", document, lambda t: cells.print_selector(read(t, path)), wide)


_PODS: Final = (
    _NAME,
    _column("Ready", "The aggregate readiness state of this pod for accepting traffic.", cells.print_pod_ready),
    _column("Status", "The aggregate status of the containers in this pod.", cells.print_pod_status),
    _column(
        "Restarts",
        "The number of times the containers in this pod have been restarted and when the last container in this pod "
        "has restarted.",
        cells.print_restarts,
    ),
    _AGE,
    _field("IP", "core.v1.PodStatus.podIP", "status.podIP", wide=True),
    _field("Node", "core.v1.PodSpec.nodeName", "spec.nodeName", wide=True),
    _field("Nominated Node", "core.v1.PodStatus.nominatedNodeName", "status.nominatedNodeName", wide=True),
    _column("Readiness Gates", _GATES, cells.print_readiness_gates, wide=True),
)
_INFO: Final = "core.v1.NodeSystemInfo."
_NODES: Final = (
    _NAME,
    _column("Status", "The status of the node", cells.print_node_status),
    _column("Roles", "The roles of the node", cells.print_roles),
    _AGE,
    _field("Version", _INFO + "kubeletVersion", "status.nodeInfo.kubeletVersion", ""),
    _column("Internal-IP", "core.v1.NodeStatus.addresses", lambda t: cells.print_address(t, "InternalIP"), wide=True),
    _column("External-IP", "core.v1.NodeStatus.addresses", lambda t: cells.print_address(t, "ExternalIP"), wide=True),
    _field("OS-Image", _INFO + "osImage", "status.nodeInfo.osImage", "<unknown>", wide=True),
    _column("Kernel-Version", _INFO + "kernelVersion", cells.print_kernel, wide=True),
    _field(
        "Container-Runtime", _INFO + "containerRuntimeVersion", "status.nodeInfo.containerRuntimeVersion",
        "<unknown>", wide=True,
    ),
)  # fmt: skip
_DEPLOYMENTS: Final = (
    _NAME,
    _column("Ready", _READY, cells.print_ready_share),
    _field(
        "Up-to-date",
        "Total number of non-terminating pods targeted by this deployment that have the desired template spec.",
        "status.updatedReplicas",
        0,
    ),
    _field(
        "Available",
        "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this "
        "deployment.",
        "status.availableReplicas",
        0,
    ),
    _AGE,
    *_CONTAINER_COLUMNS,
    _select("apps.v1.DeploymentSpec.selector"),
)
_REPLICA_SETS: Final = (
    _NAME,
    _field("Desired", "apps.v1.ReplicaSetSpec.replicas", "spec.replicas", 0, kind="integer"),
    _field("Current", "apps.v1.ReplicaSetStatus.replicas", "status.replicas", 0, kind="integer"),
    _field("Ready", "apps.v1.ReplicaSetStatus.readyReplicas", "status.readyReplicas", 0, kind="integer"),
    _AGE,
    *_CONTAINER_COLUMNS,
    _select("apps.v1.ReplicaSetSpec.selector"),
)
_STATEFUL_SETS: Final = (_NAME, _column("Ready", _READY, cells.print_ready_share), _AGE, *_CONTAINER_COLUMNS)
_DAEMON_COUNTS: Final = (
    ("Desired", "desiredNumberScheduled"),
    ("Current", "currentNumberScheduled"),
    ("Ready", "numberReady"),
    ("Up-to-date", "updatedNumberScheduled"),
    ("Available", "numberAvailable"),
)
_DAEMON_SETS: Final = (
    _NAME,
    *(_field(n, f"apps.v1.DaemonSetStatus.{f}", f"status.{f}", 0, kind="integer") for n, f in _DAEMON_COUNTS),
    _column(
        "Node Selector",
        "core.v1.PodSpec.nodeSelector",
        lambda t: cells.print_selector(read(t, "spec.template.spec.nodeSelector")),
    ),
    _AGE,
    *_CONTAINER_COLUMNS,
    _select("apps.v1.DaemonSetSpec.selector"),
)
_JOBS: Final = (
    _NAME,
    _column("Status", "Status of the job.", cells.print_job_status),
    _column("Completions", "batch.v1.JobStatus.succeeded", cells.print_completions),
    Column("Duration", "Time required to complete the job.", cells.print_job_duration),
    _AGE,
    *_CONTAINER_COLUMNS,
    _select("batch.v1.JobSpec.selector"),
)
_EVENTS: Final = (
    Column(
        "Last Seen",
        "The time at which the most recent occurrence of this event was recorded.",
        lambda t, now_s: cells.print_event_time(t, now_s, first=False),
    ),
    _field("Type", "core.v1.Event.type", "type", ""),
    _field("Reason", "core.v1.Event.reason", "reason", ""),
    _column("Object", "The object that this event is about.", cells.print_event_object),
    _field("Subobject", "core.v1.ObjectReference.fieldPath", "involvedObject.fieldPath", "", wide=True),
    _column(
        "Source",
        "The component reporting this event. Should be a short machine understandable string.",
        cells.print_event_source,
        wide=True,
    ),
    _column("Message", "core.v1.Event.message", lambda t: (t.get("message") or "").strip()),
    Column(
        "First Seen",
        "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
        lambda t, now_s: cells.print_event_time(t, now_s, first=True),
        priority=1,
    ),
    _column(
        "Count",
        "The number of times this event has occurred.",
        lambda t: read(t, "series.count") or t.get("count") or 1,
        wide=True,
    ),
    Column("Name", _NAME.document, _NAME.value, format="name", priority=1),
)
_STATE: Final = "A summary of the current state (allocated, pending, reserved, etc.)."
_SLICES: Final = (
    _NAME,
    _column("Node", "The node that the devices belong to.", lambda t: read(t, "spec.nodeName") or NONE),
    _column("Driver", "The driver that published the devices.", lambda t: read(t, "spec.driver", "")),
    _column("Pool", "The pool that the devices belong to.", lambda t: read(t, "spec.pool.name", "")),
    _AGE,
)
_POD_GROUPS: Final = (
    _NAME,
    _column(
        "Policy",
        "schedulingPolicy defines the scheduling policy for this instance of the PodGroup. Controllers are expected to "
        "fill this field by copying it from a PodGroupTemplate.",
        cells.print_group_policy,
    ),
    _column(
        "Workload",
        "Name of the referenced Workload object",
        lambda t: read(t, "spec.podGroupTemplateRef.workload.workloadName") or NONE,
    ),
    _column("Status", "Status of the PodGroup", lambda t: read(t, "status.phase", "Pending")),
    _AGE,
)

_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "pods": _PODS,
    "nodes": _NODES,
    "namespaces": (_NAME, _field("Status", "The status of the namespace", "status.phase", ""), _AGE),
    "configmaps": (_NAME, _column("Data", "core.v1.ConfigMap.data", lambda t: len(t.get("data") or {})), _AGE),
    "secrets": (
        _NAME,
        _field("Type", "core.v1.Secret.type", "type", ""),
        _column("Data", "core.v1.Secret.data", lambda t: len(t.get("data") or {})),
        _AGE,
    ),
    "deployments.apps": _DEPLOYMENTS,
    "replicasets.apps": _REPLICA_SETS,
    "replicationcontrollers": _REPLICA_SETS,
    "statefulsets.apps": _STATEFUL_SETS,
    "daemonsets.apps": _DAEMON_SETS,
    "jobs.batch": _JOBS,
    "events": _EVENTS,
    "resourceclaims.resource.k8s.io": (_NAME, _column("State", _STATE, cells.print_claim_state), _AGE),
    "resourceslices.resource.k8s.io": _SLICES,
    "podgroups.scheduling.k8s.io": _POD_GROUPS,
    "leases.coordination.k8s.io": (
        _NAME,
        _field("Holder", "coordination.v1.LeaseSpec.holderIdentity", "spec.holderIdentity", ""),
        _AGE,
    ),
}


def find_columns(resource: Resource) -> tuple[Column, ...]:
    """Return the columns of a resource; name and age for those that have no others."""
    return _COLUMNS.get(resource.storage, (_NAME, _AGE))

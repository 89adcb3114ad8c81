"""The columns of tables, by resource. Source: pkg/printers/internalversion/printers.go upstream."""

from typing import Final

from apportion.server import cells
from apportion.server.cells import NONE, read
from apportion.server.column import AGE, CONTAINER_COLUMNS, NAME, Column, column, field, select
from apportion.server.other_columns import OTHER_COLUMNS
from apportion.server.resources import Resource

_READY: Final = "Number of the pod with ready state"
_GATES: Final = (
    "If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers "
    'are ready AND all conditions specified in the readiness gates have status equal to "True" More info: '
    "https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates"
)


_PODS: Final = (
    NAME,
    column("Ready", "The aggregate readiness state of this pod for accepting traffic.", cells.print_pod_ready),
    column("Status", "The aggregate status of the containers in this pod.", cells.print_pod_status),
    column(
        "Restarts",
        "The number of times the containers in this pod have been restarted and when the last container in this pod "
        "has restarted.",
        cells.print_restarts,
    ),
    AGE,
    field("IP", "core.v1.PodStatus.podIP", "status.podIP", wide=True),
    field("Node", "core.v1.PodSpec.nodeName", "spec.nodeName", wide=True),
    field("Nominated Node", "core.v1.PodStatus.nominatedNodeName", "status.nominatedNodeName", wide=True),
    column("Readiness Gates", _GATES, cells.print_readiness_gates, wide=True),
)
_INFO: Final = "core.v1.NodeSystemInfo."
_NODES: Final = (
    NAME,
    column("Status", "The status of the node", cells.print_node_status),
    column("Roles", "The roles of the node", cells.print_roles),
    AGE,
    field("Version", _INFO + "kubeletVersion", "status.nodeInfo.kubeletVersion", ""),
    column("Internal-IP", "core.v1.NodeStatus.addresses", lambda t: cells.print_address(t, "InternalIP"), wide=True),
    column("External-IP", "core.v1.NodeStatus.addresses", lambda t: cells.print_address(t, "ExternalIP"), wide=True),
    field("OS-Image", _INFO + "osImage", "status.nodeInfo.osImage", "<unknown>", wide=True),
    column("Kernel-Version", _INFO + "kernelVersion", cells.print_kernel, wide=True),
    field(
        "Container-Runtime", _INFO + "containerRuntimeVersion", "status.nodeInfo.containerRuntimeVersion",
        "<unknown>", wide=True,
    ),
)  # fmt: skip
_DEPLOYMENTS: Final = (
    NAME,
    column("Ready", _READY, cells.print_ready_share),
    field(
        "Up-to-date",
        "Total number of non-terminating pods targeted by this deployment that have the desired template spec.",
        "status.updatedReplicas",
        0,
    ),
    field(
        "Available",
        "Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this "
        "deployment.",
        "status.availableReplicas",
        0,
    ),
    AGE,
    *CONTAINER_COLUMNS,
    select("apps.v1.DeploymentSpec.selector"),
)
_REPLICA_SETS: Final = (
    NAME,
    field("Desired", "apps.v1.ReplicaSetSpec.replicas", "spec.replicas", 0, kind="integer"),
    field("Current", "apps.v1.ReplicaSetStatus.replicas", "status.replicas", 0, kind="integer"),
    field("Ready", "apps.v1.ReplicaSetStatus.readyReplicas", "status.readyReplicas", 0, kind="integer"),
    AGE,
    *CONTAINER_COLUMNS,
    select("apps.v1.ReplicaSetSpec.selector"),
)
_STATEFUL_SETS: Final = (NAME, column("Ready", _READY, cells.print_ready_share), AGE, *CONTAINER_COLUMNS)
_DAEMON_COUNTS: Final = (
    ("Desired", "desiredNumberScheduled"),
    ("Current", "currentNumberScheduled"),
    ("Ready", "numberReady"),
    ("Up-to-date", "updatedNumberScheduled"),
    ("Available", "numberAvailable"),
)
_DAEMON_SETS: Final = (
    NAME,
    *(field(n, f"apps.v1.DaemonSetStatus.{f}", f"status.{f}", 0, kind="integer") for n, f in _DAEMON_COUNTS),
    column(
        "Node Selector",
        "core.v1.PodSpec.nodeSelector",
        lambda t: cells.print_selector(read(t, "spec.template.spec.nodeSelector")),
    ),
    AGE,
    *CONTAINER_COLUMNS,
    select("apps.v1.DaemonSetSpec.selector"),
)
_JOBS: Final = (
    NAME,
    column("Status", "Status of the job.", cells.print_job_status),
    column("Completions", "batch.v1.JobStatus.succeeded", cells.print_completions),
    Column("Duration", "Time required to complete the job.", cells.print_job_duration),
    AGE,
    *CONTAINER_COLUMNS,
    select("batch.v1.JobSpec.selector"),
)
_EVENTS: Final = (
    Column(
        "Last Seen",
        "The time at which the most recent occurrence of this event was recorded.",
        lambda t, now_s: cells.print_event_time(t, now_s, first=False),
    ),
    field("Type", "core.v1.Event.type", "type", ""),
    field("Reason", "core.v1.Event.reason", "reason", ""),
    column("Object", "The object that this event is about.", cells.print_event_object),
    field("Subobject", "core.v1.ObjectReference.fieldPath", "involvedObject.fieldPath", "", wide=True),
    column(
        "Source",
        "The component reporting this event. Should be a short machine understandable string.",
        cells.print_event_source,
        wide=True,
    ),
    column("Message", "core.v1.Event.message", lambda t: (t.get("message") or "").strip()),
    Column(
        "First Seen",
        "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
        lambda t, now_s: cells.print_event_time(t, now_s, first=True),
        priority=1,
    ),
    column(
        "Count",
        "The number of times this event has occurred.",
        lambda t: read(t, "series.count") or t.get("count") or 1,
        wide=True,
    ),
    Column("Name", NAME.document, NAME.value, format="name", priority=1),
)
_STATE: Final = "A summary of the current state (allocated, pending, reserved, etc.)."
_SLICES: Final = (
    NAME,
    column("Node", "The node that the devices belong to.", lambda t: read(t, "spec.nodeName") or NONE),
    column("Driver", "The driver that published the devices.", lambda t: read(t, "spec.driver", "")),
    column("Pool", "The pool that the devices belong to.", lambda t: read(t, "spec.pool.name", "")),
    AGE,
)
_POD_GROUPS: Final = (
    NAME,
    column(
        "Policy",
        "schedulingPolicy defines the scheduling policy for this instance of the PodGroup. Controllers are expected to "
        "fill this field by copying it from a PodGroupTemplate.",
        cells.print_group_policy,
    ),
    column(
        "Workload",
        "Name of the referenced Workload object",
        lambda t: read(t, "spec.podGroupTemplateRef.workload.workloadName") or NONE,
    ),
    column("Status", "Status of the PodGroup", lambda t: read(t, "status.phase", "Pending")),
    AGE,
)

_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    **OTHER_COLUMNS,
    "pods": _PODS,
    "nodes": _NODES,
    "namespaces": (NAME, field("Status", "The status of the namespace", "status.phase", ""), AGE),
    "configmaps": (NAME, column("Data", "core.v1.ConfigMap.data", lambda t: len(t.get("data") or {})), AGE),
    "secrets": (
        NAME,
        field("Type", "core.v1.Secret.type", "type", ""),
        column("Data", "core.v1.Secret.data", lambda t: len(t.get("data") or {})),
        AGE,
    ),
    "deployments.apps": _DEPLOYMENTS,
    "replicasets.apps": _REPLICA_SETS,
    "replicationcontrollers": _REPLICA_SETS,
    "statefulsets.apps": _STATEFUL_SETS,
    "daemonsets.apps": _DAEMON_SETS,
    "jobs.batch": _JOBS,
    "events": _EVENTS,
    "resourceclaims.resource.k8s.io": (NAME, column("State", _STATE, cells.print_claim_state), AGE),
    "resourceslices.resource.k8s.io": _SLICES,
    "podgroups.scheduling.k8s.io": _POD_GROUPS,
    "leases.coordination.k8s.io": (
        NAME,
        field("Holder", "coordination.v1.LeaseSpec.holderIdentity", "spec.holderIdentity", ""),
        AGE,
    ),
}


def find_columns(resource: Resource) -> tuple[Column, ...]:
    """Return the columns of a resource; name and age for those that have no others."""
    return _COLUMNS.get(resource.storage, (NAME, AGE))

"""The table of kinds: which objects exist, in which versions, and what becomes of them here."""

from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from apportion.api import core, resource, storage
from apportion.api.view import View
from apportion.base import ValidationError

# An API object as parsed JSON. Functions on trees never change their argument.
Tree: TypeAlias = dict[str, Any]


class Use(Enum):
    """What an object of a kind is for."""

    SCHEDULING = "read by the scheduler or a controller"
    WORKLOAD = "stands for pods and is expanded into them"
    OPAQUE = "known, without influence on scheduling"


class Kind(NamedTuple):
    """One kind; ``versions`` starts with the one that all others are converted to."""

    group: str
    name: str
    plural: str
    versions: tuple[str, ...]
    namespaced: bool
    use: Use
    view: type[View] | None = None

    @property
    def api_version(self) -> str:
        """The preferred ``apiVersion``."""
        return f"{self.group}/{self.versions[0]}" if self.group else self.versions[0]

    @property
    def qualified_name(self) -> str:
        """``Kind.group`` as Kubernetes names it in messages; the bare kind in the core group."""
        return f"{self.name}.{self.group}" if self.group else self.name


_V1: Final = ("v1",)
_BETA_TOO: Final = ("v1", "v1beta1")
_DRA: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")
_GROUPS: Final = ("v1beta1", "v1alpha3", "v1alpha2")
_NAMESPACED: Final = True
_CLUSTER: Final = False

_READ: Final = (
    ("", "Node", "nodes", _V1, _CLUSTER, core.Node),
    ("", "Namespace", "namespaces", _V1, _CLUSTER, core.Namespace),
    ("", "Pod", "pods", _V1, _NAMESPACED, core.Pod),
    ("", "Service", "services", _V1, _NAMESPACED, core.Service),
    ("", "PersistentVolume", "persistentvolumes", _V1, _CLUSTER, storage.PersistentVolume),
    ("", "PersistentVolumeClaim", "persistentvolumeclaims", _V1, _NAMESPACED, storage.PersistentVolumeClaim),
    ("storage.k8s.io", "StorageClass", "storageclasses", _BETA_TOO, _CLUSTER, storage.StorageClass),
    ("storage.k8s.io", "CSINode", "csinodes", _BETA_TOO, _CLUSTER, storage.CSINode),
    ("storage.k8s.io", "CSIDriver", "csidrivers", _BETA_TOO, _CLUSTER, storage.CSIDriver),
    (
        "storage.k8s.io",
        "CSIStorageCapacity",
        "csistoragecapacities",
        _BETA_TOO,
        _NAMESPACED,
        storage.CSIStorageCapacity,
    ),
    ("storage.k8s.io", "VolumeAttachment", "volumeattachments", _BETA_TOO, _CLUSTER, storage.VolumeAttachment),
    (
        "policy",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        _BETA_TOO,
        _NAMESPACED,
        core.PodDisruptionBudget,
    ),
    ("scheduling.k8s.io", "PriorityClass", "priorityclasses", _BETA_TOO, _CLUSTER, core.PriorityClass),
    ("scheduling.k8s.io", "PodGroup", "podgroups", _GROUPS, _NAMESPACED, None),
    ("scheduling.k8s.io", "CompositePodGroup", "compositepodgroups", ("v1alpha3",), _NAMESPACED, None),
    ("scheduling.k8s.io", "Workload", "workloads", _GROUPS, _NAMESPACED, None),
    ("node.k8s.io", "RuntimeClass", "runtimeclasses", _BETA_TOO, _CLUSTER, core.RuntimeClass),
    ("resource.k8s.io", "ResourceClaim", "resourceclaims", _DRA, _NAMESPACED, resource.ResourceClaim),
    (
        "resource.k8s.io",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        _DRA,
        _NAMESPACED,
        resource.ResourceClaimTemplate,
    ),
    ("resource.k8s.io", "ResourceSlice", "resourceslices", _DRA, _CLUSTER, resource.ResourceSlice),
    ("resource.k8s.io", "DeviceClass", "deviceclasses", _DRA, _CLUSTER, resource.DeviceClass),
    (
        "resource.k8s.io",
        "DeviceTaintRule",
        "devicetaintrules",
        ("v1", "v1beta2", "v1alpha3"),
        _CLUSTER,
        resource.DeviceTaintRule,
    ),
    (
        "resource.k8s.io",
        "ResourcePoolStatusRequest",
        "resourcepoolstatusrequests",
        ("v1alpha3",),
        _CLUSTER,
        resource.ResourcePoolStatusRequest,
    ),
)

_WORKLOADS: Final = (
    ("", "ReplicationController", "replicationcontrollers", _V1, core.ReplicationController),
    ("apps", "ReplicaSet", "replicasets", _V1, core.ReplicaSet),
    ("apps", "Deployment", "deployments", _V1, None),
    ("apps", "StatefulSet", "statefulsets", _V1, core.StatefulSet),
    ("apps", "DaemonSet", "daemonsets", _V1, None),
    ("batch", "Job", "jobs", _V1, None),
    ("batch", "CronJob", "cronjobs", _BETA_TOO, None),
    ("kubeflow.org", "MPIJob", "mpijobs", ("v2beta1", "v1"), None),
    ("kubeflow.org", "PyTorchJob", "pytorchjobs", _V1, None),
    ("jobset.x-k8s.io", "JobSet", "jobsets", ("v1alpha2",), None),
    ("ray.io", "RayCluster", "rayclusters", ("v1", "v1alpha1"), None),
    ("ray.io", "RayJob", "rayjobs", ("v1", "v1alpha1"), None),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets", _V1, None),
)

_OPAQUE: Final = (
    ("", "ConfigMap", "configmaps", _V1, _NAMESPACED),
    ("", "Secret", "secrets", _V1, _NAMESPACED),
    ("", "ServiceAccount", "serviceaccounts", _V1, _NAMESPACED),
    ("", "Event", "events", _V1, _NAMESPACED),
    ("", "Endpoints", "endpoints", _V1, _NAMESPACED),
    ("", "LimitRange", "limitranges", _V1, _NAMESPACED),
    ("", "ResourceQuota", "resourcequotas", _V1, _NAMESPACED),
    ("", "PodTemplate", "podtemplates", _V1, _NAMESPACED),
    ("apps", "ControllerRevision", "controllerrevisions", _V1, _NAMESPACED),
    ("events.k8s.io", "Event", "events", _V1, _NAMESPACED),
    ("coordination.k8s.io", "Lease", "leases", _V1, _NAMESPACED),
    ("discovery.k8s.io", "EndpointSlice", "endpointslices", _V1, _NAMESPACED),
    ("networking.k8s.io", "Ingress", "ingresses", _V1, _NAMESPACED),
    ("networking.k8s.io", "NetworkPolicy", "networkpolicies", _V1, _NAMESPACED),
    ("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", ("v2", "v1"), _NAMESPACED),
    ("rbac.authorization.k8s.io", "Role", "roles", _V1, _NAMESPACED),
    ("rbac.authorization.k8s.io", "RoleBinding", "rolebindings", _V1, _NAMESPACED),
    ("rbac.authorization.k8s.io", "ClusterRole", "clusterroles", _V1, _CLUSTER),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", "clusterrolebindings", _V1, _CLUSTER),
    (
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        _V1,
        _CLUSTER,
    ),
)

KINDS: Final[tuple[Kind, ...]] = (
    *(Kind(g, n, p, v, scope, Use.SCHEDULING, view) for g, n, p, v, scope, view in _READ),
    *(Kind(g, n, p, v, _NAMESPACED, Use.WORKLOAD, view) for g, n, p, v, view in _WORKLOADS),
    *(Kind(g, n, p, v, scope, Use.OPAQUE) for g, n, p, v, scope in _OPAQUE),
)
_BY_NAME: Final = {(k.group, k.name): k for k in KINDS}


def split_api_version(api_version: str) -> tuple[str, str]:
    """Return (group, version); the core group is the empty string."""
    group, slash, version = api_version.rpartition("/")
    return (group, version) if slash else ("", api_version)


def find_kind(group: str, name: str) -> Kind | None:
    """Return the table's entry, or None when the kind is unknown."""
    return _BY_NAME.get((group, name))


def find_kind_of(tree: Tree) -> Kind | None:
    """Return the entry for the object's apiVersion and kind, whatever its version; None when unknown."""
    api_version, name = tree.get("apiVersion"), tree.get("kind")
    if not isinstance(api_version, str) or not isinstance(name, str):
        return None
    return find_kind(split_api_version(api_version)[0], name)


def get_kind(group: str, name: str) -> Kind:
    """Return the table's entry; raises ValidationError when the kind is unknown."""
    kind = find_kind(group, name)
    if kind is None:
        raise ValidationError("kind", f"unknown kind {name} in group {group or 'core'}")
    return kind


def describe_object(tree: Tree) -> str:
    """Return ``Kind namespace/name`` for messages; a missing part is written as ``?``."""
    metadata = tree.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or "?"
    namespace = metadata.get("namespace")
    return f"{tree.get('kind') or '?'} {namespace}/{name}" if namespace else f"{tree.get('kind') or '?'} {name}"

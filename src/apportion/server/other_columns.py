"""The columns of kinds that are kept for their users: services, volumes, access, policies.

Source: pkg/printers/internalversion/printers.go upstream.
"""

from typing import Any, Final

from apportion.api import Tree
from apportion.server.cells import NONE, print_selector, read
from apportion.server.column import AGE, NAME, Column, column, field
from apportion.server.other_cells import (
    print_access_modes,
    print_allowed,
    print_class_name,
    print_endpoint_ports,
    print_endpoints,
    print_external_address,
    print_ingress_address,
    print_ingress_ports,
    print_last_schedule,
    print_owner,
    print_quota,
    print_service_ports,
    print_slice_addresses,
    print_subjects,
)

_SERVICE: Final = "core.v1.ServiceSpec."
_CREATED: Final = (
    NAME,
    column("Created At", "meta.v1.ObjectMeta.creationTimestamp", lambda t: t["metadata"].get("creationTimestamp")),
)


def _plain(name: str, path: str, default: Any = NONE, wide: bool = False, kind: str = "string") -> Column:
    return field(name, f"The field {path} of the object", path, default, wide, kind)


def _flag(name: str, path: str) -> Column:
    return column(name, f"Whether {path} is set", lambda t: bool(read(t, path)), kind="boolean")


_ROLE_BINDINGS: Final = (
    NAME,
    column(
        "Role",
        "The role that the binding refers to",
        lambda t: f"{read(t, 'roleRef.kind', '')}/{read(t, 'roleRef.name', '')}",
    ),
    AGE,
    column("Users", "Users of the binding", lambda t: print_subjects(t, "User"), wide=True),
    column("Groups", "Groups of the binding", lambda t: print_subjects(t, "Group"), wide=True),
    column(
        "ServiceAccounts",
        "Service accounts of the binding",
        lambda t: print_subjects(t, "ServiceAccount"),
        wide=True,
    ),
)
_PRIORITY_CLASSES: Final = (
    NAME,
    field("Value", "scheduling.v1.PriorityClass.value", "value", 0, kind="integer"),
    field("Global-Default", "scheduling.v1.PriorityClass.globalDefault", "globalDefault", False, kind="boolean"),
    AGE,
    _plain("PreemptionPolicy", "preemptionPolicy", ""),
)
_BUDGETS: Final = (
    NAME,
    column("Min Available", "How many pods must stay", lambda t: print_allowed(t, "minAvailable")),
    column("Max Unavailable", "How many pods may be gone", lambda t: print_allowed(t, "maxUnavailable")),
    field("Allowed Disruptions", "How many pods may go now", "status.disruptionsAllowed", 0, kind="integer"),
    AGE,
)
_SERVICES: Final = (
    NAME,
    field("Type", _SERVICE + "type", "spec.type", ""),
    column("Cluster-IP", _SERVICE + "clusterIP", lambda t: next(iter(read(t, "spec.clusterIPs", [])), NONE)),
    column("External-IP", _SERVICE + "externalIPs", print_external_address),
    column("Port(s)", _SERVICE + "ports", print_service_ports),
    AGE,
    column("Selector", _SERVICE + "selector", lambda t: print_selector(read(t, "spec.selector")), wide=True),
)
_VOLUMES: Final = (
    NAME,
    _plain("Capacity", "spec.capacity.storage", ""),
    column("Access Modes", "How the volume can be mounted", lambda t: print_access_modes(read(t, "spec.accessModes"))),
    _plain("Reclaim Policy", "spec.persistentVolumeReclaimPolicy", ""),
    _plain("Status", "status.phase", ""),
    column(
        "Claim",
        "The claim that has the volume",
        lambda t: "/".join(read(t, f"spec.claimRef.{n}", "") for n in ("namespace", "name")).strip("/"),
    ),
    _plain("StorageClass", "spec.storageClassName", ""),
    _plain("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
    _plain("Reason", "status.reason", ""),
    AGE,
    _plain("VolumeMode", "spec.volumeMode", "<unset>", wide=True),
)
_VOLUME_CLAIMS: Final = (
    NAME,
    _plain("Status", "status.phase", ""),
    _plain("Volume", "spec.volumeName", ""),
    _plain("Capacity", "status.capacity.storage", ""),
    column("Access Modes", "How the volume is mounted", lambda t: print_access_modes(read(t, "status.accessModes"))),
    _plain("StorageClass", "spec.storageClassName", ""),
    _plain("VolumeAttributesClass", "spec.volumeAttributesClassName", "<unset>"),
    AGE,
    _plain("VolumeMode", "spec.volumeMode", "<unset>", wide=True),
)
_STORAGE_CLASSES: Final = (
    Column("Name", NAME.document, lambda t, _: print_class_name(t), format="name"),
    _plain("Provisioner", "provisioner", ""),
    _plain("ReclaimPolicy", "reclaimPolicy", "Delete"),
    _plain("VolumeBindingMode", "volumeBindingMode", "Immediate"),
    _flag("AllowVolumeExpansion", "allowVolumeExpansion"),
    AGE,
)
_CRON_JOBS: Final = (
    NAME,
    _plain("Schedule", "spec.schedule", ""),
    _plain("Timezone", "spec.timeZone"),
    column("Suspend", "Whether new jobs are held back", lambda t: "True" if read(t, "spec.suspend") else "False"),
    column("Active", "Jobs that run", lambda t: len(read(t, "status.active", [])), kind="integer"),
    Column("Last Schedule", "When a job was made last", print_last_schedule),
    AGE,
)


def _list_containers(tree: Tree, name: str) -> str:
    containers = read(tree, "spec.jobTemplate.spec.template.spec.containers", [])
    return ",".join(c.get(name, "") for c in containers)


_CRON_CONTAINERS: Final = (
    column("Containers", "Names of the containers", lambda t: _list_containers(t, "name"), wide=True),
    column("Images", "Images of the containers", lambda t: _list_containers(t, "image"), wide=True),
    column(
        "Selector",
        "The selector of the jobs",
        lambda t: print_selector(read(t, "spec.jobTemplate.spec.selector")),
        wide=True,
    ),
)
_INGRESSES: Final = (
    NAME,
    _plain("Class", "spec.ingressClassName"),
    column("Hosts", "Hosts of the rules", lambda t: ",".join(r.get("host") or "*" for r in read(t, "spec.rules", []))),
    column("Address", "Where requests come in", print_ingress_address),
    column("Ports", "Ports that are open", print_ingress_ports),
    AGE,
)
_SLICES: Final = (
    NAME,
    _plain("AddressType", "addressType", ""),
    column("Ports", "Ports of the endpoints", print_endpoint_ports),
    column("Endpoints", "Addresses of the endpoints", print_slice_addresses),
    AGE,
)
_AUTOSCALERS: Final = (
    NAME,
    column(
        "Reference",
        "What is scaled",
        lambda t: "/".join(read(t, f"spec.scaleTargetRef.{n}", "") for n in ("kind", "name")),
    ),
    _plain("MinPods", "spec.minReplicas", "<unset>"),
    _plain("MaxPods", "spec.maxReplicas", 0, kind="integer"),
    _plain("Replicas", "status.currentReplicas", 0, kind="integer"),
    AGE,
)
_ATTACHMENTS: Final = (
    NAME,
    _plain("Attacher", "spec.attacher", ""),
    _plain("PV", "spec.source.persistentVolumeName", ""),
    _plain("Node", "spec.nodeName", ""),
    _flag("Attached", "status.attached"),
    AGE,
)
OTHER_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "services": _SERVICES,
    "endpoints": (NAME, column("Endpoints", "Addresses and ports", print_endpoints), AGE),
    "endpointslices.discovery.k8s.io": _SLICES,
    "ingresses.networking.k8s.io": _INGRESSES,
    "networkpolicies.networking.k8s.io": (
        NAME,
        column("Pod-Selector", "The pods it is about", lambda t: print_selector(read(t, "spec.podSelector"))),
        AGE,
    ),
    "resourcequotas": (
        NAME,
        column("Request", "Requests in use and allowed", lambda t: print_quota(t, is_limit=False)),
        column("Limit", "Limits in use and allowed", lambda t: print_quota(t, is_limit=True)),
        AGE,
    ),
    "limitranges": _CREATED,
    "roles.rbac.authorization.k8s.io": _CREATED,
    "clusterroles.rbac.authorization.k8s.io": _CREATED,
    "rolebindings.rbac.authorization.k8s.io": _ROLE_BINDINGS,
    "clusterrolebindings.rbac.authorization.k8s.io": _ROLE_BINDINGS,
    "priorityclasses.scheduling.k8s.io": _PRIORITY_CLASSES,
    "poddisruptionbudgets.policy": _BUDGETS,
    "runtimeclasses.node.k8s.io": (NAME, _plain("Handler", "handler", ""), AGE),
    "persistentvolumes": _VOLUMES,
    "persistentvolumeclaims": _VOLUME_CLAIMS,
    "storageclasses.storage.k8s.io": _STORAGE_CLASSES,
    "volumeattachments.storage.k8s.io": _ATTACHMENTS,
    "csinodes.storage.k8s.io": (
        NAME,
        column("Drivers", "How many drivers", lambda t: len(read(t, "spec.drivers", [])), kind="integer"),
        AGE,
    ),
    "cronjobs.batch": _CRON_JOBS + _CRON_CONTAINERS,
    "horizontalpodautoscalers.autoscaling": _AUTOSCALERS,
    "controllerrevisions.apps": (
        NAME,
        column("Controller", "Who made it", print_owner),
        _plain("Revision", "revision", 0, kind="integer"),
        AGE,
    ),
}

"""What the server decides about an object when it is created or updated, whatever the client wrote.

Source: apiserver/pkg/registry/rest/{create,update}.go and the strategies below pkg/registry upstream.
"""

from typing import Any, Final

from apportion.api import Kind, Tree
from apportion.api.pod_admission import NOT_READY_TAINT
from apportion.server.resources import Resource
from apportion.server.schema import Shape
from apportion.server.strategies.pod_defaults import get_qos_class
from apportion.server.strategies.service_rules import keep_addresses

_SYSTEM_FIELDS: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "generation",
    "generateName",
)  # fmt: skip
_COUNTED: Final = frozenset({
    ("", "Pod"), ("", "ReplicationController"), ("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet"),
    ("apps", "DaemonSet"), ("batch", "Job"), ("batch", "CronJob"), ("policy", "PodDisruptionBudget"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("resource.k8s.io", "ResourceSlice"), ("resource.k8s.io", "DeviceClass"), ("resource.k8s.io", "DeviceTaintRule"),
    ("networking.k8s.io", "Ingress"), ("networking.k8s.io", "NetworkPolicy"), ("discovery.k8s.io", "EndpointSlice"),
    ("", "PodTemplate"),
})  # fmt: skip
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_GROUP_FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"  # a controller takes it back
_KEEPS_STATUS: Final = frozenset({"Node"})
_STARTS_WITHOUT_STATUS: Final = frozenset({"ResourcePoolStatusRequest"})  # who answers it writes the first one
_ZEROS: Final[dict[str, Any]] = {"i": 0, "s": "", "b": False}
# Upstream's newer status strategies take nothing but the status, the older ones metadata too, with exceptions.
_GROUPS_WITH_CLOSED_METADATA: Final = ("resource.k8s.io", "scheduling.k8s.io")
_KEPT_BY_STATUS: Final = {"Pod": ("ownerReferences",), "Deployment": ("labels",)}
_JOB_LABELS: Final = ("controller-uid", "job-name")


def has_generation(kind: Kind) -> bool:
    """Return whether objects of a kind count the changes of their spec."""
    return (kind.group, kind.name) in _COUNTED


def prepare_create(tree: Tree, resource: Resource, now: str) -> Tree:
    """Return a new object without what only the server may say, and with its first status."""
    metadata = {k: v for k, v in tree["metadata"].items() if k not in _SYSTEM_FIELDS or k == "generateName"}
    if has_generation(resource.kind):
        metadata["generation"] = 1
    tree = {**tree, "metadata": metadata}
    if resource.kind.name in _STARTS_WITHOUT_STATUS:
        tree = {k: v for k, v in tree.items() if k != "status"}
    elif resource.has_status and resource.kind.name not in _KEEPS_STATUS:
        tree = {**tree, "status": _get_first_status(tree, resource, now)}
    return _prepare_kind(tree, resource.kind)


def _get_first_status(tree: Tree, resource: Resource, now: str) -> Tree:
    name = resource.kind.name
    if name == "Pod":
        return _get_first_pod_status(tree.get("spec") or {}, now)
    if name == "StatefulSet":
        return {"replicas": 0, "availableReplicas": 0}
    return _fill_required(resource.shape.fields["status"])


def _get_first_pod_status(spec: Tree, now: str) -> Tree:
    status: Tree = {"phase": "Pending", "qosClass": get_qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": now,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    return status


def _fill_required(shape: Shape) -> Tree:
    """Return what Go would write for an empty structure: the required fields with their zero values."""
    return {n: _ZEROS[shape.fields[n].code] for n in sorted(shape.required) if shape.fields[n].code in _ZEROS}


def _prepare_kind(tree: Tree, kind: Kind) -> Tree:
    spec = tree.get("spec") or {}
    if kind.name == "Pod" and (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        return {**tree, "spec": {**spec, "terminationGracePeriodSeconds": 1}}
    if kind.name == "Namespace":
        return {**tree, "spec": {**spec, "finalizers": ["kubernetes"]}}
    if kind.name == "Node":
        taints = spec.get("taints") or []
        if not any(t.get("key") == NOT_READY_TAINT for t in taints):
            taints = [*taints, {"key": NOT_READY_TAINT, "effect": "NoSchedule"}]
        return {**tree, "spec": {**spec, "taints": taints}}
    if kind.name == "PodGroup":
        finalizers = tree["metadata"].get("finalizers") or []
        if _GROUP_FINALIZER not in finalizers:
            finalizers = [*finalizers, _GROUP_FINALIZER]
        return {**tree, "metadata": {**tree["metadata"], "finalizers": finalizers}}
    if kind.name == "DaemonSet":
        annotations = {**(tree["metadata"].get("annotations") or {}), TEMPLATE_GENERATION: "1"}
        return {**tree, "metadata": {**tree["metadata"], "annotations": annotations}}
    return tree


def finish_create(tree: Tree, kind: Kind) -> Tree:
    """Return the object with what depends on its name and uid; a job selects its pods by its uid."""
    if kind.name != "Job" or tree["spec"].get("manualSelector"):
        return tree
    uid, name = tree["metadata"]["uid"], tree["metadata"]["name"]
    values = dict(zip(_JOB_LABELS, (uid, name), strict=True))
    labels = {**values, **{f"batch.kubernetes.io/{k}": v for k, v in values.items()}}
    spec = tree["spec"]
    template = spec.get("template") or {}
    template_metadata = template.get("metadata") or {}
    template = {
        **template,
        "metadata": {**template_metadata, "labels": {**(template_metadata.get("labels") or {}), **labels}},
    }
    selector = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    metadata = {**tree["metadata"], "labels": {**(tree["metadata"].get("labels") or {}), **labels}}
    return {**tree, "metadata": metadata, "spec": {**spec, "selector": selector, "template": template}}


def prepare_update(new: Tree, old: Tree, resource: Resource) -> Tree:
    """Return an update of everything but the status: what only the server may say is as it was."""
    metadata = {k: v for k, v in new["metadata"].items() if k not in _SYSTEM_FIELDS}
    metadata.update({k: old["metadata"][k] for k in _SYSTEM_FIELDS if k in old["metadata"]})
    if resource.plural == "services":
        new = keep_addresses(new, old)
    if resource.plural == "namespaces" and "finalizers" in (old.get("spec") or {}):
        new = {**new, "spec": {**(new.get("spec") or {}), "finalizers": old["spec"]["finalizers"]}}
    new = {**new, "metadata": metadata}
    if not resource.has_status:
        return new
    return _replace(new, "status", old)


def prepare_status_update(new: Tree, old: Tree, resource: Resource) -> Tree:
    """Return an update of the status, and of metadata where the kind's status door lets them through."""
    done = {**{k: v for k, v in old.items() if k != "status"}, "metadata": _take_status_metadata(new, old, resource)}
    if "status" not in new:
        return done
    status = new["status"]
    if resource.kind.name == "Pod" and not status.get("qosClass") and "qosClass" in (old.get("status") or {}):
        status = {**status, "qosClass": old["status"]["qosClass"]}
    return {**done, "status": status}


def _take_status_metadata(new: Tree, old: Tree, resource: Resource) -> Tree:
    if resource.group in _GROUPS_WITH_CLOSED_METADATA:
        return dict(old["metadata"])
    kept = (*_SYSTEM_FIELDS, *_KEPT_BY_STATUS.get(resource.kind.name, ()))
    metadata = {k: v for k, v in new["metadata"].items() if k not in kept}
    metadata.update({k: old["metadata"][k] for k in kept if k in old["metadata"]})
    return dict(old["metadata"]) if metadata == old["metadata"] else metadata


def _replace(tree: Tree, name: str, source: Tree) -> Tree:
    rest = {k: v for k, v in tree.items() if k != name}
    return {**rest, name: source[name]} if name in source else rest


def _annotations_differ(new: Tree, old: Tree) -> bool:
    return (new["metadata"].get("annotations") or {}) != (old["metadata"].get("annotations") or {})


def count_generation(new: Tree, old: Tree, kind: Kind, is_status: bool) -> Tree:
    """Return the object with its generation raised when more than metadata and status changed.

    Deployments count changes of their annotations too, except those that come through the status door.
    """
    if not has_generation(kind):
        return new
    rest = [{k: v for k, v in t.items() if k not in ("metadata", "status")} for t in (new, old)]
    if rest[0] == rest[1] and not (kind.name == "Deployment" and not is_status and _annotations_differ(new, old)):
        return new
    metadata = {**new["metadata"], "generation": old["metadata"].get("generation", 0) + 1}
    if kind.name == "DaemonSet" and new["spec"].get("template") != old["spec"].get("template"):
        annotations = {**(metadata.get("annotations") or {})}
        before = annotations.get(TEMPLATE_GENERATION, "0")
        annotations[TEMPLATE_GENERATION] = str(int(before) + 1 if before.isdecimal() else 1)
        metadata["annotations"] = annotations
    return {**new, "metadata": metadata}

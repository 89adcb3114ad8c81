"""Which changes an update must not make. Source: pkg/apis/*/validation/validation.go upstream."""

from typing import Final

import orjson

from apportion.api import Kind, Tree, View, decode_as, parse_quantity
from apportion.api.resource import ResourceClaimSpec, ResourceClaimTemplate
from apportion.base import ValidationError
from apportion.server.strategies.fields import UpdateRule, fix, forbid, forbidden, invalid, join, read_path
from apportion.server.strategies.internals import print_internal
from apportion.server.strategies.pod_updates import check_pod_update
from apportion.server.strategies.workload_updates import check_job_update, check_stateful_set_update

_CLAIM_TEXT: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def check_update(new: Tree, old: Tree, kind: Kind) -> list[ValidationError]:
    """Return what an update changed although it must not."""
    found = check_identity(new, old)
    check = _RULES.get((kind.group, kind.name))
    return found if check is None else found + check(new, old)


def check_identity(new: Tree, old: Tree) -> list[ValidationError]:
    """Return what an update changed of that by which an object is known."""
    given, known = new["metadata"], old["metadata"]
    if all(given.get(name) == known.get(name) for name in ("uid", "name", "namespace")):
        return []
    return _IDENTITY(new, old)


def _check_claim_update(new: Tree, old: Tree) -> list[ValidationError]:
    found = []
    if new.get("spec") != old.get("spec"):
        found.append(invalid("spec", None, "field is immutable"))
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation = before.get("allocation")
    if allocation and status.get("allocation") and status["allocation"] != allocation:
        found.append(invalid("status.allocation", None, "field cannot be modified once set"))
    if new["metadata"].get("deletionTimestamp"):
        known = [c.get("uid") for c in before.get("reservedFor") or ()]
        if any(c.get("uid") not in known for c in status.get("reservedFor") or ()):
            why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            found.append(ValidationError("status.reservedFor", f"Forbidden: {why}"))
    return found


def _check_template_update(new: Tree, old: Tree) -> list[ValidationError]:
    """The message of the original quotes the whole spec, the metadata in it under their names in JSON."""
    spec = new.get("spec") or {}
    if spec == (old.get("spec") or {}):
        return []
    view = decode_as(ResourceClaimTemplate, orjson.dumps(new)).spec.spec
    printed = print_internal(_TemplateSpec(view), **(spec.get("metadata") or {}))
    return [ValidationError("spec", f"Invalid value: {printed}: field is immutable")]


class _TemplateSpec(View):
    spec: ResourceClaimSpec


def _check_immutable(new: Tree, old: Tree) -> list[ValidationError]:
    """ConfigMaps and Secrets that were declared immutable."""
    if not old.get("immutable"):
        return []
    names = ("immutable", "data", "binaryData", "type")
    why = "Forbidden: field is immutable when `immutable` is set"
    return [ValidationError(n, why) for n in names if new.get(n) != old.get(n)]


def _check_service(new: Tree, old: Tree) -> list[ValidationError]:
    """The addresses of a service stay, unless it becomes or was a mere name."""
    if "ExternalName" in (read_path(new, "spec", "type"), read_path(old, "spec", "type")):
        return []
    given, was = (read_path(t, "spec", "clusterIPs") or [] for t in (new, old))
    return [] if given[:1] == was[:1] else [invalid("spec.clusterIPs[0]", given, "may not change once set")]


def _check_volume_claim(new: Tree, old: Tree) -> list[ValidationError]:
    """A claim gets its volume once; after that it may only ask for more room, or for another class of attributes."""
    spec, before = dict(new.get("spec") or {}), old.get("spec") or {}
    if not before.get("volumeName"):
        spec.pop("volumeName", None)
    elif read_path(old, "status", "phase") == "Bound":
        for name in ("resources", "volumeAttributesClassName"):
            spec.pop(name, None)
            if name in before:
                spec[name] = before[name]
    if spec != {k: v for k, v in before.items() if k != "volumeName" or v}:
        return [forbidden("spec", _CLAIM_TEXT)]
    wanted, has = (read_path(t, *p) for t, p in ((new, _REQUEST), (old, _CAPACITY)))
    if wanted and has and parse_quantity(wanted) < parse_quantity(has):
        return [forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")]
    return []


_REQUEST: Final = ("spec", "resources", "requests", "storage")
_CAPACITY: Final = ("status", "capacity", "storage")
_IDENTITY: Final = fix("metadata.name", "metadata.namespace", "metadata.uid")
_SELECTOR: Final = fix("spec.selector")
_ROLE: Final = fix("roleRef", why="cannot change roleRef")
_RULES: Final[dict[tuple[str, str], UpdateRule]] = {
    ("", "Pod"): check_pod_update,
    ("", "Service"): _check_service,
    ("", "ConfigMap"): _check_immutable,
    ("", "Secret"): join(_check_immutable, fix("type")),
    ("", "PersistentVolumeClaim"): _check_volume_claim,
    ("apps", "Deployment"): _SELECTOR,
    ("apps", "ReplicaSet"): _SELECTOR,
    ("apps", "DaemonSet"): _SELECTOR,
    ("apps", "StatefulSet"): check_stateful_set_update,
    ("apps", "ControllerRevision"): fix("data"),
    ("batch", "Job"): check_job_update,
    ("discovery.k8s.io", "EndpointSlice"): fix("addressType"),
    ("node.k8s.io", "RuntimeClass"): fix("handler"),
    ("rbac.authorization.k8s.io", "RoleBinding"): _ROLE,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _ROLE,
    ("storage.k8s.io", "StorageClass"): join(
        forbid("parameters", "provisioner", "reclaimPolicy", why="updates to {} are forbidden."),
        fix("volumeBindingMode"),
    ),
    ("storage.k8s.io", "VolumeAttachment"): fix("spec"),
    ("scheduling.k8s.io", "PriorityClass"): join(
        forbid("value", why="may not be changed in an update."), fix("preemptionPolicy")
    ),
    ("resource.k8s.io", "ResourceClaim"): _check_claim_update,
    ("resource.k8s.io", "ResourceClaimTemplate"): _check_template_update,
    ("resource.k8s.io", "ResourcePoolStatusRequest"): fix("spec"),
    ("resource.k8s.io", "ResourceSlice"): fix("spec.driver", "spec.pool.name", "spec.nodeName"),
}

"""Rules for pods and pod templates, as far as scheduling reads them (upstream: pkg/apis/core/validation)."""

from typing import Final

from apportion.api.core import PodResourceClaim, PodSpec
from apportion.api.kinds import Tree
from apportion.api.quantity import parse_quantity
from apportion.api.validation.affinity import (
    validate_affinity,
    validate_spread_constraint,
    validate_toleration,
)
from apportion.api.validation.containers import (
    validate_containers,
    validate_host_ports,
    validate_requirements,
)
from apportion.api.validation.metadata import validate_labels
from apportion.api.validation.names import check_dns_label, check_dns_subdomain, check_qualified_name
from apportion.api.validation.report import FieldErrors
from apportion.base import InputError

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32_MAX: Final = (1 << 31) - 1
_CLAIM_FIELDS: Final = ("name", "resourceClaimName", "resourceClaimTemplateName")


def validate_pod_spec(errors: FieldErrors, field: str, spec: PodSpec, tree: Tree) -> None:
    """Check a pod's spec; ``tree`` is the same as it was written, for fields that the view leaves out."""
    _validate_claim_fields(errors, field, tree)
    names: set[str] = set()
    if not spec.containers:
        errors.required(f"{field}.containers")
    groups = {"containers": spec.containers, "initContainers": spec.init_containers}
    for name, containers in groups.items():
        path = f"{field}.{name}"
        validate_containers(errors, path, containers, names, spec.resource_claims, spec.host_network)
        if any(c.ports for c in containers):
            validate_host_ports(errors, path, containers)
    if spec.resources is not None:
        validate_requirements(errors, f"{field}.resources", spec.resources)
    errors.check_choice(f"{field}.restartPolicy", tree.get("restartPolicy") or "Always", _RESTART_POLICIES)
    _validate_placement(errors, field, spec)
    _validate_claims(errors, field, spec.resource_claims)
    _validate_rest(errors, field, spec)
    _validate_running(errors, field, tree)


def _validate_running(errors: FieldErrors, field: str, tree: Tree) -> None:
    """Check what only a kubelet acts upon."""
    deadline = tree.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        errors.invalid(f"{field}.activeDeadlineSeconds", deadline, f"must be between 1 and {_INT32_MAX}, inclusive")
    errors.check_choice(f"{field}.dnsPolicy", tree.get("dnsPolicy") or "ClusterFirst", _DNS_POLICIES)


def _validate_placement(errors: FieldErrors, field: str, spec: PodSpec) -> None:
    validate_labels(errors, f"{field}.nodeSelector", spec.node_selector)
    validate_affinity(errors, f"{field}.affinity", spec.affinity)
    for i, toleration in enumerate(spec.tolerations):
        validate_toleration(errors, f"{field}.tolerations[{i}]", toleration)
    seen: set[tuple[str, str]] = set()
    for i, constraint in enumerate(spec.topology_spread_constraints):
        path = f"{field}.topologySpreadConstraints[{i}]"
        validate_spread_constraint(errors, path, constraint)
        key = (constraint.topology_key, constraint.when_unsatisfiable)
        if key in seen:
            errors.duplicate(path, "{" + ", ".join(key) + "}")
        seen.add(key)


def _validate_claims(errors: FieldErrors, field: str, claims: tuple[PodResourceClaim, ...]) -> None:
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        path = f"{field}.resourceClaims[{i}]"
        if not claim.name:
            errors.required(f"{path}.name")
        elif claim.name in seen:
            errors.duplicate(f"{path}.name", claim.name)
        else:
            errors.check_format(f"{path}.name", claim.name, check_dns_label(claim.name))
        seen.add(claim.name)
        _validate_claim_source(errors, path, claim)


def _validate_claim_source(errors: FieldErrors, path: str, claim: PodResourceClaim) -> None:
    named, template = claim.resource_claim_name, claim.resource_claim_template_name
    printed = {"Name": claim.name, "ResourceClaimName": named, "ResourceClaimTemplateName": template}
    if named is not None and template is not None:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.invalid(path, printed, why)
    elif named is None and template is None:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.invalid(path, printed, why)
    for name, value in (("resourceClaimName", named), ("resourceClaimTemplateName", template)):
        if value is not None:
            errors.check_format(f"{path}.{name}", value, check_dns_subdomain(value))


def _validate_claim_fields(errors: FieldErrors, field: str, tree: Tree) -> None:
    """Name fields that Kubernetes does not know, such as the ``source`` of releases before 1.31."""
    for i, claim in enumerate(tree.get("resourceClaims") or ()):
        for name in claim:
            if name not in _CLAIM_FIELDS:
                hint = "; write its content one level up" if name == "source" else ""
                errors.add(f"{field}.resourceClaims[{i}].{name}", f"unknown field{hint}")


def _validate_rest(errors: FieldErrors, field: str, spec: PodSpec) -> None:
    gates = [g.name for g in spec.scheduling_gates]
    for i, gate in enumerate(gates):
        path = f"{field}.schedulingGates[{i}]"
        errors.check_format(path, gate, check_qualified_name(gate))
        if gate in gates[:i]:
            errors.duplicate(path, gate)
    if gates and spec.node_name:
        errors.forbidden(f"{field}.nodeName", "cannot be set until all schedulingGates have been cleared")
    volumes = [v.name for v in spec.volumes]
    for i, volume in enumerate(volumes):
        if not volume:
            errors.required(f"{field}.volumes[{i}].name")
        elif volume in volumes[:i]:
            errors.duplicate(f"{field}.volumes[{i}].name", volume)
    if spec.scheduling_group is not None:
        name = spec.scheduling_group.pod_group_name
        errors.check_format(f"{field}.schedulingGroup.podGroupName", name, check_dns_subdomain(name))
    for name, raw in spec.overhead.items():
        try:
            parse_quantity(raw)
        except InputError as error:
            errors.add(f"{field}.overhead[{name}]", str(error))

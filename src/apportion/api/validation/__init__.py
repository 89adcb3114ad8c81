"""Says what is wrong with an object, with field paths and in the API server's words."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import orjson

from apportion.api.core import PodTemplateSpec
from apportion.api.decode import decode_as
from apportion.api.kinds import Kind, Tree, find_kind_of
from apportion.api.resource import ResourceClaim
from apportion.api.validation.allocation import validate_claim_status
from apportion.api.validation.claims import validate_claim, validate_claim_template
from apportion.api.validation.classes import validate_device_class, validate_pool_status_request, validate_taint_rule
from apportion.api.validation.devices import CheckCEL
from apportion.api.validation.metadata import validate_labels, validate_metadata
from apportion.api.validation.nodes import (
    SYSTEM_PRIORITY_CLASSES,
    validate_node,
    validate_priority_class,
    validate_runtime_class,
)
from apportion.api.validation.pods import validate_pod_spec
from apportion.api.validation.report import FieldErrors
from apportion.api.validation.slices import validate_slice
from apportion.api.validation.unknown_fields import find_unknown_fields
from apportion.api.view import ObjectMeta, View
from apportion.base import InputError, ValidationError

__all__ = ["SYSTEM_PRIORITY_CLASSES", "CheckCEL", "validate", "validate_pod_template", "validate_unchanged_spec"]

# Gets the errors so far, the object's view, the object as written, and the check for CEL expressions.
_Rules: TypeAlias = Callable[[FieldErrors, Any, Tree, CheckCEL | None], None]


class _AnyObject(View):
    """What can be checked of an object that no view covers."""

    metadata: ObjectMeta = ObjectMeta()


def validate(tree: Tree, check_cel: CheckCEL | None = None, is_canonical: bool = False) -> list[ValidationError]:
    """Return what is wrong with an object in its preferred version, after defaults; empty when it is valid.

    ``check_cel`` judges CEL expressions; without it they are checked for their length only. Costs about 100
    µs for a pod. Of a kind that no view covers, only the metadata is checked; unknown fields are reported for
    resource.k8s.io, unless the object is canonical: it has none then.
    """
    kind = find_kind_of(tree)
    view_type = _AnyObject if kind is None or kind.view is None else kind.view
    try:
        view: Any = decode_as(view_type, orjson.dumps(tree))
    except ValidationError as error:
        return [error]
    except (InputError, orjson.JSONEncodeError) as error:
        return [ValidationError("", str(error))]
    errors = FieldErrors()
    if kind is not None:
        validate_metadata(errors, view.metadata, kind, tree["metadata"].get("generateName"))
        if kind.group == "resource.k8s.io" and not is_canonical:
            _report_unknown_fields(errors, kind, tree)
        _RULES.get((kind.group, kind.name), _no_rules)(errors, view, tree, check_cel)
    return errors.found


def validate_unchanged_spec(tree: Tree, old: Tree, kind: Kind) -> list[ValidationError] | None:
    """Return what is wrong with a pod or a claim whose spec is that of a valid object before it: its metadata, and a
    claim's status, as far as they changed. None for other kinds and other changes, which need `validate`.

    Source: upstream's ValidatePodStatusUpdate and ValidateResourceClaimStatusUpdate, which look at no spec either.
    """
    is_claim = (kind.group, kind.name) == ("resource.k8s.io", "ResourceClaim")
    if not (is_claim or (kind.group, kind.name) == ("", "Pod")) or tree.get("spec") != old.get("spec"):
        return None
    errors = FieldErrors()
    metadata = tree["metadata"]
    try:
        if metadata != old["metadata"]:
            view = decode_as(_AnyObject, orjson.dumps({"metadata": metadata}))
            validate_metadata(errors, view.metadata, kind, metadata.get("generateName"))
        if is_claim and tree.get("status") != old.get("status"):
            validate_claim_status(errors, decode_as(ResourceClaim, orjson.dumps(tree)))
    except ValidationError as error:
        return [error]
    return errors.found


def validate_pod_template(template: Any, field: str) -> list[ValidationError]:
    """Return what is wrong with the pod template of a workload, with paths below ``field``."""
    try:
        view = decode_as(PodTemplateSpec, orjson.dumps(template))
    except ValidationError as error:
        return [ValidationError(f"{field}.{error.field}" if error.field else field, error.detail)]
    except (InputError, orjson.JSONEncodeError) as error:
        return [ValidationError(field, str(error))]
    errors = FieldErrors()
    validate_labels(errors, f"{field}.metadata.labels", view.metadata.labels)
    validate_pod_spec(errors, f"{field}.spec", view.spec, template.get("spec") or {})
    return errors.found


def _report_unknown_fields(errors: FieldErrors, kind: Kind, tree: Tree) -> None:
    if kind.view is not None:
        for path in find_unknown_fields(kind.view, tree, ("apiVersion", "kind")):
            errors.add(path, "unknown field; Kubernetes would drop it silently or refuse the object")


def _no_rules(_errors: FieldErrors, _view: Any, _tree: Tree, _check_cel: CheckCEL | None) -> None:
    """Kinds of which scheduling reads nothing that can be wrong."""


_RULES: Final[dict[tuple[str, str], _Rules]] = {
    ("", "Pod"): lambda e, v, t, _: validate_pod_spec(e, "spec", v.spec, t.get("spec") or {}),
    ("", "Node"): lambda e, v, _t, _c: validate_node(e, v),
    ("node.k8s.io", "RuntimeClass"): lambda e, v, _t, _c: validate_runtime_class(e, v),
    ("scheduling.k8s.io", "PriorityClass"): lambda e, v, _t, _c: validate_priority_class(e, v),
    ("resource.k8s.io", "ResourceClaim"): validate_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): validate_claim_template,
    ("resource.k8s.io", "ResourceSlice"): lambda e, v, t, _: validate_slice(e, v, t),
    ("resource.k8s.io", "DeviceClass"): validate_device_class,
    ("resource.k8s.io", "DeviceTaintRule"): lambda e, v, _t, _c: validate_taint_rule(e, v),
    ("resource.k8s.io", "ResourcePoolStatusRequest"): lambda e, v, _t, _c: validate_pool_status_request(e, v),
}

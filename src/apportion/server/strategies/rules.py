"""What is checked beyond ``api.validate``: owners, templates of workloads, policies of pod groups.

Source: pkg/apis/*/validation/validation.go upstream.
"""

from typing import Final

import orjson

from apportion.api import (
    CheckCEL,
    Kind,
    Tree,
    compile_label_selector,
    decode_as,
    validate,
    validate_pod_template,
)
from apportion.api.view import LabelSelector
from apportion.base import ValidationError
from apportion.server.strategies.fields import invalid
from apportion.server.strategies.pod_groups import check_pod_group

_TEMPLATED: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job"})


def check_object(tree: Tree, kind: Kind, check_cel: CheckCEL | None) -> list[ValidationError]:
    """Return what is wrong with an object after defaults; empty when it is valid."""
    found = _check_owners(tree)
    found += validate(tree, check_cel)
    if kind.name in _TEMPLATED and isinstance(tree.get("spec"), dict):
        found += _check_workload(tree["spec"], kind)
    if kind.name == "PodGroup":
        found += check_pod_group(tree)
    return found


def _check_owners(tree: Tree) -> list[ValidationError]:
    owners = tree["metadata"].get("ownerReferences") or ()
    return [
        ValidationError(f"metadata.ownerReferences[{i}].uid", "Required value: must not be empty")
        for i, owner in enumerate(owners)
        if not owner.get("uid")
    ]


def _check_workload(spec: Tree, kind: Kind) -> list[ValidationError]:
    selector, template = spec.get("selector"), spec.get("template")
    found = []
    if kind.name != "Job" and not selector:
        found.append(ValidationError("spec.selector", "Required value"))
    if not isinstance(template, dict):
        return [*found, ValidationError("spec.template", "Required value")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and kind.name != "Job":
        matcher = compile_label_selector(decode_as(LabelSelector, orjson.dumps(selector)), "spec.selector")
        if not matcher.matches(labels):
            found.append(
                invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
            )
    return found + validate_pod_template(template, "spec.template")

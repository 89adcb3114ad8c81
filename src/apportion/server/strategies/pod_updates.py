"""Which fields of a pod's spec an update may change. Source: ValidatePodUpdate in pkg/apis/core/validation."""

from typing import Final

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server.strategies.pod_diff import print_spec_difference

_TEXT: Final = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_MUTABLE: Final = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
# A pod that is held by gates may still be narrowed down to fewer nodes.
_MUTABLE_WHILE_GATED: Final = ("nodeSelector", "affinity")


def check_pod_update(new: Tree, old: Tree) -> list[ValidationError]:
    """Return the fields that changed although they must not."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    found = _check_gates(spec, before)
    if any(t not in (spec.get("tolerations") or ()) for t in before.get("tolerations") or ()):
        found.append(
            ValidationError(
                "spec.tolerations", "Forbidden: existing toleration can not be modified except its tolerationSeconds"
            )
        )
    mutable = _MUTABLE + (_MUTABLE_WHILE_GATED if before.get("schedulingGates") else ())
    names = sorted(spec.keys() | before.keys())
    if any(_strip(spec, n) != _strip(before, n) for n in names if n not in mutable):
        # what may change is shown as it is now, so that the difference names the rest only
        kept = {n: spec[n] for n in mutable if n in spec}
        shown = {**{n: v for n, v in before.items() if n not in mutable}, **kept}
        found.append(ValidationError("spec", f"{_TEXT}\n{print_spec_difference(shown, spec)}"))
    return found


def _check_gates(spec: Tree, before: Tree) -> list[ValidationError]:
    known = [g.get("name") for g in before.get("schedulingGates") or ()]
    added = [g.get("name") for g in spec.get("schedulingGates") or () if g.get("name") not in known]
    if not added:
        return []
    return [
        ValidationError(
            "spec.schedulingGates", f"Forbidden: only deletion is allowed, but found new scheduling gate '{added[0]}'"
        )
    ]


def _strip(spec: Tree, name: str) -> object:
    value = spec.get(name)
    if name in ("containers", "initContainers") and isinstance(value, list):
        return [{k: v for k, v in c.items() if k != "image"} for c in value]
    return value

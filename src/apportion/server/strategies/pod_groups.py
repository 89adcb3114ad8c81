"""Defaults and rules of PodGroups. Source: pkg/apis/scheduling upstream."""

from typing import Final

from apportion.api import Tree
from apportion.base import ValidationError

_POLICY: Final = "spec.schedulingPolicy"
_POLICIES: Final = ("basic", "gang")


def complete_pod_group(tree: Tree) -> Tree:
    """Return a group in which it is said what is disrupted at once: one pod, if nothing else is asked for."""
    return {**tree, "spec": {"disruptionMode": {"single": {}}, **(tree.get("spec") or {})}}


def check_pod_group(tree: Tree) -> list[ValidationError]:
    """Return what is wrong with the policy of a group; it has exactly one."""
    policy = (tree.get("spec") or {}).get("schedulingPolicy") or {}
    given = [name for name in _POLICIES if name in policy]
    if not given:
        return [ValidationError(_POLICY, 'Invalid value: "": must specify one of: `basic`, `gang`')]
    if len(given) > 1:
        why = f'Invalid value: "{{{", ".join(given)}}}": must specify exactly one of: `basic`, `gang`'
        return [ValidationError(_POLICY, why)]
    if given == ["basic"]:
        return []
    field = f"{_POLICY}.gang.minCount"
    count = policy["gang"].get("minCount")
    if not count:
        return [ValidationError(field, "Required value")]
    if count < 0:
        return [ValidationError(field, f"Invalid value: {count}: must be greater than or equal to 1")]
    return []

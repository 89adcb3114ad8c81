"""What is checked beyond ``api.validate``: owners, and what scheduling does not read.

Source: pkg/apis/*/validation/validation.go upstream.
"""

from typing import Any

from apportion.api import CheckCEL, Kind, Tree, validate, validate_unchanged_spec
from apportion.base import ValidationError
from apportion.server.strategies.object_checks import OBJECT_CHECKS
from apportion.server.strategies.workload_checks import check_workload


def check_object(tree: Tree, kind: Kind, check_cel: CheckCEL | None) -> list[ValidationError]:
    """Return what is wrong with an object after defaults; empty when it is valid."""
    found = _check_owners(tree)
    found += validate(tree, check_cel, is_canonical=True)
    if isinstance(tree.get("spec"), dict):
        found += check_workload(tree, kind)
    check = OBJECT_CHECKS.get((kind.group, kind.name))
    return found if check is None else found + check(tree)


def check_changed(tree: Tree, old: Tree, kind: Kind, check_cel: CheckCEL | None) -> list[ValidationError]:
    """Return the same for an object that takes the place of a valid one; what did not change is not looked at."""
    found = validate_unchanged_spec(tree, old, kind)
    if found is not None:
        return _check_owners(tree) + found
    if check_cel is not None and kind.group == "resource.k8s.io":
        check_cel = _pass_over(_list_expressions(old), check_cel)
    return check_object(tree, kind, check_cel)


def _pass_over(known: set[str], check_cel: CheckCEL) -> CheckCEL:
    """Leave expressions alone that were accepted once, perhaps under other feature gates."""
    return lambda expression: None if expression in known else check_cel(expression)


def _list_expressions(tree: Any) -> set[str]:
    """Return the CEL expressions anywhere in an object of the group of devices."""
    found: set[str] = set()
    for value in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        found |= _list_expressions(value)
    expression = tree.get("expression") if isinstance(tree, dict) else None
    return found | {expression} if isinstance(expression, str) else found


def _check_owners(tree: Tree) -> list[ValidationError]:
    owners = tree["metadata"].get("ownerReferences") or ()
    return [
        ValidationError(f"metadata.ownerReferences[{i}].uid", "Required value: must not be empty")
        for i, owner in enumerate(owners)
        if not owner.get("uid")
    ]

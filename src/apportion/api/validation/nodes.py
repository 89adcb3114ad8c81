"""Rules for nodes and for the classes that pods name."""

from typing import Final

from apportion.api.core import Node, PriorityClass
from apportion.api.quantity import parse_quantity
from apportion.api.validation.affinity import validate_taints
from apportion.api.validation.report import FieldErrors
from apportion.base import InputError

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
SYSTEM_PRIORITY_CLASSES: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


def validate_node(errors: FieldErrors, node: Node) -> None:
    """Check taints and the amounts that a node offers."""
    if node.spec.taints:
        validate_taints(errors, "spec.taints", node.spec.taints)
    for part, amounts in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        for name, raw in amounts.items():
            field = f"status.{part}[{name}]"
            try:
                amount = parse_quantity(raw)
            except InputError as error:
                errors.add(field, str(error))
                continue
            if amount.nano < 0:
                errors.invalid(field, str(amount), "must be greater than or equal to 0")


def validate_priority_class(errors: FieldErrors, priority_class: PriorityClass) -> None:
    """Check the value: above one billion only Kubernetes' own two classes may go."""
    name, value = priority_class.metadata.name, priority_class.value
    if name.startswith("system-"):
        if SYSTEM_PRIORITY_CLASSES.get(name) != value:
            why = "priority class names with 'system-' prefix are reserved for system use only"
            errors.forbidden("metadata.name", why)
    elif value > HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        errors.forbidden("value", why)
    policy = priority_class.preemption_policy
    errors.check_choice("preemptionPolicy", policy, ("Never", "PreemptLowerPriority"))

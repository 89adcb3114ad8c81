"""Rules for nodes and for the classes that pods name."""

from typing import Final

from apportion.api.core import Node, PriorityClass, RuntimeClass
from apportion.api.quantity import parse_quantity
from apportion.api.validation.affinity import validate_taints, validate_toleration
from apportion.api.validation.metadata import validate_labels
from apportion.api.validation.report import FieldErrors
from apportion.api.view import ResourceList
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
    _validate_amounts(errors, "status.capacity", node.status.capacity)
    _validate_amounts(errors, "status.allocatable", node.status.allocatable)


def _validate_amounts(errors: FieldErrors, path: str, amounts: ResourceList) -> None:
    for name, raw in amounts.items():
        field = f"{path}[{name}]"
        try:
            amount = parse_quantity(raw)
        except InputError as error:
            errors.add(field, str(error))
            continue
        if amount.nano < 0:
            errors.invalid(field, str(amount), "must be greater than or equal to 0")


def validate_runtime_class(errors: FieldErrors, runtime_class: RuntimeClass) -> None:
    """Check the overhead, and what the class adds to its pods."""
    if runtime_class.overhead is not None:
        _validate_amounts(errors, "overhead.podFixed", runtime_class.overhead.pod_fixed)
    if runtime_class.scheduling is not None:
        validate_labels(errors, "scheduling.nodeSelector", runtime_class.scheduling.node_selector)
        for i, toleration in enumerate(runtime_class.scheduling.tolerations):
            validate_toleration(errors, f"scheduling.tolerations[{i}]", toleration)


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

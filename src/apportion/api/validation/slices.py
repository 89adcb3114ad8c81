"""Rules for ResourceSlices and the devices in them (upstream: pkg/apis/resource/validation)."""

from typing import Any, Final

from apportion.api.kinds import Tree
from apportion.api.resource import Counter, Device, DeviceAttribute, ResourceSlice, ResourceSliceSpec
from apportion.api.validation.affinity import validate_node_selector
from apportion.api.validation.allocation import validate_pool_name
from apportion.api.validation.capacity import read_quantity, validate_capacity
from apportion.api.validation.devices import (
    TAINTS_MAX,
    validate_device_taint,
    validate_driver,
    validate_qualified_id,
)
from apportion.api.validation.names import (
    check_dns_label,
    check_dns_subdomain,
    check_qualified_name,
    is_semver,
)
from apportion.api.validation.report import FieldErrors
from apportion.api.view import NodeSelector

DEVICES_MAX: Final = 128
DEVICES_WITH_EXTRAS_MAX: Final = 64
COUNTER_SETS_MAX: Final = 8
COUNTERS_MAX: Final = 32
CONSUMED_SETS_MAX: Final = 2
ATTRIBUTES_AND_CAPACITIES_MAX: Final = 32
CONDITIONS_MAX: Final = 4
VALUE_BYTES_MAX: Final = 64
_VALUES: Final = ("int", "bool", "string", "version", "ints", "bools", "strings", "versions")
_VALUES_TEXT: Final = ", ".join(f"`{v}`" for v in _VALUES)
_SELECTIONS_TEXT: Final = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"


def validate_slice(errors: FieldErrors, resource_slice: ResourceSlice, tree: Tree) -> None:
    """Check a ResourceSlice."""
    spec = resource_slice.spec
    validate_driver(errors, "spec.driver", spec.driver)
    validate_pool_name(errors, "spec.pool.name", spec.pool.name)
    if spec.pool.resource_slice_count <= 0:
        errors.invalid("spec.pool.resourceSliceCount", spec.pool.resource_slice_count, "must be greater than zero")
    if spec.pool.generation < 0:
        errors.invalid("spec.pool.generation", spec.pool.generation, "must be greater than or equal to zero")
    _validate_node_selection(errors, spec, tree.get("spec") or {})
    if spec.devices and spec.shared_counters:
        errors.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    extras = any(d.taints or d.consumes_counters for d in spec.devices)
    devices_max = DEVICES_WITH_EXTRAS_MAX if extras else DEVICES_MAX
    names: set[str] = set()
    for i, device in errors.bounded("spec.devices", spec.devices, devices_max):
        path = f"spec.devices[{i}]"
        if device.name in names:
            errors.duplicate(path, device.name)
        names.add(device.name)
        _validate_device(errors, path, device, bool(spec.per_device_node_selection))
    _validate_counter_sets(errors, spec)


# ---- which nodes ------------------------------------------------------------------------------------------


def _validate_node_selection(errors: FieldErrors, spec: ResourceSliceSpec, tree: Tree) -> None:
    chosen: list[str] = []
    if spec.node_name is not None:
        if spec.node_name:
            chosen.append("`nodeName`")
            errors.check_format("spec.nodeName", spec.node_name, check_dns_subdomain(spec.node_name))
        else:
            errors.invalid("spec.nodeName", "", "must be either unset or set to a non-empty string")
    if spec.node_selector is not None:
        chosen.append("`nodeSelector`")
        _validate_single_term(errors, "spec.nodeSelector", spec.node_selector, tree.get("nodeSelector"))
    for name, flag in (
        ("allNodes", spec.all_nodes),
        ("perDeviceNodeSelection", spec.per_device_node_selection),
    ):
        if flag:
            chosen.append(f"`{name}`")
        elif flag is not None:
            errors.invalid(f"spec.{name}", False, "must be either unset or set to true")
    if not chosen:
        errors.required("spec", _SELECTIONS_TEXT)
    elif len(chosen) > 1:
        printed = "{" + ", ".join(chosen) + "}"
        errors.invalid("spec", printed, f"{_SELECTIONS_TEXT}, but multiple fields are set")


def _validate_single_term(errors: FieldErrors, field: str, selector: NodeSelector, tree: Any) -> None:
    validate_node_selector(errors, field, selector)
    if len(selector.node_selector_terms) != 1:
        terms = (tree or {}).get("nodeSelectorTerms") or []
        printed = [_print_go_term(t) for t in terms]
        errors.invalid(f"{field}.nodeSelectorTerms", printed, "must have exactly one node selector term")


def _print_go_term(term: Tree) -> Tree:
    """Return a term with the internal field names and the nulls that the API server prints."""

    def requirements(items: Any) -> Any:
        return [{k.capitalize(): r.get(k) for k in ("key", "operator", "values")} for r in items] if items else None

    return {
        "MatchExpressions": requirements(term.get("matchExpressions")),
        "MatchFields": requirements(term.get("matchFields")),
    }


def _validate_device_nodes(errors: FieldErrors, field: str, device: Device, per_device: bool) -> None:
    chosen = (device.node_name is not None) + (device.node_selector is not None) + (device.all_nodes is not None)
    if chosen and not per_device:
        why = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to "
            "true in the ResourceSlice spec"
        )
        errors.invalid(field, None, why)
    if per_device and chosen != 1:
        why = (
            "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when "
            "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"
        )
        if chosen:
            errors.invalid(field, None, why)
        else:
            errors.required(field, why)
    if device.node_selector is not None:
        _validate_single_term(errors, f"{field}.nodeSelector", device.node_selector, None)


# ---- devices ----------------------------------------------------------------------------------------------


def _validate_device(errors: FieldErrors, field: str, device: Device, per_device: bool) -> None:
    errors.check_format(f"{field}.name", device.name, check_dns_label(device.name))
    count = len(device.attributes) + len(device.capacity)
    if count > ATTRIBUTES_AND_CAPACITIES_MAX:
        why = f"the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        errors.invalid(field, count, why)
    for name, attribute in device.attributes.items():
        validate_qualified_id(errors, f"{field}.attributes", name)
        _validate_attribute(errors, f"{field}.attributes[{name}]", attribute)
    for name, capacity in device.capacity.items():
        validate_qualified_id(errors, f"{field}.capacity", name)
        path = f"{field}.capacity[{name}]"
        validate_capacity(errors, path, capacity, bool(device.allow_multiple_allocations))
    _validate_consumption(errors, f"{field}.consumesCounters", device)
    _validate_device_nodes(errors, field, device, per_device)
    for i, taint in errors.bounded(f"{field}.taints", device.taints, TAINTS_MAX):
        validate_device_taint(errors, f"{field}.taints[{i}]", taint)
    _validate_binding_conditions(errors, field, device)


def _validate_attribute(errors: FieldErrors, field: str, attribute: DeviceAttribute) -> None:
    values = {v: getattr(attribute, f"{v[:-1]}_values" if v.endswith("s") else f"{v}_value") for v in _VALUES}
    given = [v for v, value in values.items() if value is not None]
    if len(given) != 1:
        printed = "{" + ", ".join(given) + "}" if given else ""
        start = "must specify exactly one of" if given else "must specify one of"
        errors.invalid(field, printed, f"{start}: {_VALUES_TEXT}")
        return
    name, value = given[0], values[given[0]]
    if name.endswith("s") and not value:
        errors.required(f"{field}.{name}")
    for i, text in enumerate(value if name.endswith("s") else (value,)):
        path = f"{field}.{name}[{i}]" if name.endswith("s") else f"{field}.{name}"
        if isinstance(text, str):
            errors.check_length(path, text, VALUE_BYTES_MAX)
            if name.startswith("version") and not is_semver(text):
                errors.invalid(path, text, "must be a string compatible with semver.org spec 2.0.0")


def _validate_binding_conditions(errors: FieldErrors, field: str, device: Device) -> None:
    conditions, failures = device.binding_conditions, device.binding_failure_conditions
    for name, listed in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        for i, condition in enumerate(listed):
            path = f"{field}.{name}[{i}]"
            if condition in listed[:i]:
                errors.duplicate(path, condition)
            else:
                errors.check_format(path, condition, check_qualified_name(condition))
            if listed is failures and condition in conditions:
                errors.invalid(path, condition, "bindingFailureConditions must not overlap with bindingConditions")
    if bool(conditions) != bool(failures):
        missing, other = ("bindingFailureConditions", "bindingConditions")
        if not conditions:
            missing, other = other, missing
        errors.invalid(f"{field}.{missing}", None, f"{missing} are required to use {other}")
    errors.check_count(f"{field}.bindingConditions", len(conditions), CONDITIONS_MAX)
    errors.check_count(f"{field}.bindingFailureConditions", len(failures), CONDITIONS_MAX)


# ---- counters ---------------------------------------------------------------------------------------------


def _validate_counter_sets(errors: FieldErrors, spec: ResourceSliceSpec) -> None:
    names: set[str] = set()
    for i, counter_set in errors.bounded("spec.sharedCounters", spec.shared_counters, COUNTER_SETS_MAX):
        path = f"spec.sharedCounters[{i}]"
        errors.check_format(f"{path}.name", counter_set.name, check_dns_label(counter_set.name))
        if counter_set.name in names:
            errors.duplicate(f"{path}.name", counter_set.name)
        names.add(counter_set.name)
        _validate_counters(errors, f"{path}.counters", counter_set.counters)


def _validate_consumption(errors: FieldErrors, field: str, device: Device) -> None:
    names: set[str] = set()
    for i, consumption in errors.bounded(field, device.consumes_counters, CONSUMED_SETS_MAX):
        path = f"{field}[{i}]"
        if not consumption.counter_set:
            errors.required(f"{path}.counterSet")
        else:
            name = consumption.counter_set
            errors.check_format(f"{path}.counterSet", name, check_dns_label(name))
        if consumption.counter_set in names:
            errors.duplicate(f"{path}.counterSet", consumption.counter_set)
        names.add(consumption.counter_set)
        _validate_counters(errors, f"{path}.counters", consumption.counters)


def _validate_counters(errors: FieldErrors, field: str, counters: dict[str, Counter]) -> None:
    if not counters:
        errors.required(field)
    errors.check_count(field, len(counters), COUNTERS_MAX)
    for name, counter in counters.items():
        errors.check_format(field, name, check_dns_label(name))
        read_quantity(errors, f"{field}[{name}].value", counter.value)

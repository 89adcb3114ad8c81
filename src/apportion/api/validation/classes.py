"""Rules for DeviceClasses, DeviceTaintRules and ResourcePoolStatusRequests."""

from typing import Final

from apportion.api.kinds import Tree
from apportion.api.resource import DeviceClass, DeviceTaintRule, ResourcePoolStatusRequest
from apportion.api.validation.allocation import validate_pool_name
from apportion.api.validation.devices import (
    CheckCEL,
    validate_device_taint,
    validate_driver,
    validate_opaque,
    validate_selectors,
)
from apportion.api.validation.names import check_dns_label, check_qualified_name
from apportion.api.validation.report import FieldErrors

CONFIGS_MAX: Final = 32
POOLS_MAX: Final = 1000  # in the answer to one ResourcePoolStatusRequest


def validate_device_class(
    errors: FieldErrors, device_class: DeviceClass, tree: Tree, check_cel: CheckCEL | None
) -> None:
    """Check selectors, configuration and the extended resource name of a class."""
    spec = device_class.spec
    validate_selectors(errors, "spec.selectors", spec.selectors, check_cel)
    configs = (tree.get("spec") or {}).get("config") or []
    for i, config in errors.bounded("spec.config", spec.config, CONFIGS_MAX):
        validate_opaque(errors, f"spec.config[{i}].opaque", config.opaque, configs[i].get("opaque"))
    if spec.extended_resource_name is not None:
        _validate_extended_resource(errors, "spec.extendedResourceName", spec.extended_resource_name)


def _validate_extended_resource(errors: FieldErrors, field: str, name: str) -> None:
    errors.check_format(field, name, check_qualified_name(name))
    domain, slash, _ = name.partition("/")
    if not slash:
        errors.invalid(field, name, "a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif domain == "kubernetes.io" or domain.endswith(".kubernetes.io") or name.startswith("requests."):
        errors.invalid(field, name, "must not be a native resource name of Kubernetes")


def validate_taint_rule(errors: FieldErrors, rule: DeviceTaintRule) -> None:
    """Check which devices a rule names, and its taint."""
    selector = rule.spec.device_selector
    if selector is not None:
        if selector.driver is not None:
            validate_driver(errors, "spec.deviceSelector.driver", selector.driver)
        if selector.pool is not None:
            validate_pool_name(errors, "spec.deviceSelector.pool", selector.pool)
        if selector.device is not None:
            problems = check_dns_label(selector.device)
            errors.check_format("spec.deviceSelector.device", selector.device, problems)
    validate_device_taint(errors, "spec.taint", rule.spec.taint)


def validate_pool_status_request(errors: FieldErrors, request: ResourcePoolStatusRequest) -> None:
    """Check which pools are asked about."""
    spec = request.spec
    validate_driver(errors, "spec.driver", spec.driver)
    if spec.pool_name is not None:
        validate_pool_name(errors, "spec.poolName", spec.pool_name)
    if not 1 <= spec.limit <= POOLS_MAX:
        errors.invalid("spec.limit", spec.limit, f"must be between 1 and {POOLS_MAX}, inclusive")
    if spec.default_partition_type_attribute is not None:
        name = spec.default_partition_type_attribute
        errors.check_format("spec.defaultPartitionTypeAttribute", name, check_qualified_name(name))

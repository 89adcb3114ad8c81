"""The arguments of the plugins that come with Kubernetes: their fields, defaults and rules.

Behaviour: pkg/scheduler/apis/config/v1/defaults.go and validation/validation_pluginargs.go of Kubernetes 1.37. What
depends on feature gates is checked by the plugins themselves.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from apportion.api.core import NodeAffinity, TopologySpreadConstraint
from apportion.api.selectors import compile_node_selector, compile_node_selector_term
from apportion.api.validation.names import check_qualified_name
from apportion.api.validation.report import FieldErrors
from apportion.api.validation.unknown_fields import find_unknown_fields
from apportion.base import ConfigError, ValidationError
from apportion.sched.framework.config_fields import Strict, convert, drop_nulls

_GROUP: Final = "kubescheduler.config.k8s.io"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class DefaultPreemptionArgs(Strict, frozen=True):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100


class DynamicResourcesArgs(Strict, frozen=True):
    filter_timeout: Any = None  # durations, read by the plugin
    binding_timeout: Any = None


class InterPodAffinityArgs(Strict, frozen=True):
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(Strict, frozen=True):
    added_affinity: dict[str, Any] | None = None


class Resource(Strict, frozen=True):
    name: str = ""
    weight: int = 0


class NodeResourcesBalancedAllocationArgs(Strict, frozen=True):
    resources: tuple[Resource, ...] = ()


class ShapePoint(Strict, frozen=True, omit_defaults=False):
    utilization: int = 0
    score: int = 0


class Ratio(Strict, frozen=True):
    shape: tuple[ShapePoint, ...] = ()


class ScoringStrategy(Strict, frozen=True):
    type: str = ""
    resources: tuple[Resource, ...] = ()
    requested_to_capacity_ratio: Ratio | None = None


class NodeResourcesFitArgs(Strict, frozen=True):
    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy | None = None


class PodTopologySpreadArgs(Strict, frozen=True):
    default_constraints: tuple[dict[str, Any], ...] = ()
    defaulting_type: str = "System"


class VolumeBindingArgs(Strict, frozen=True):
    bind_timeout_seconds: int = 600
    shape: tuple[ShapePoint, ...] = ()


def read_plugin_args(plugin: str, args: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the arguments of a plugin, with nulls dropped; those of other plugins unchanged.

    Raises ConfigError with a path below ``path``.
    """
    if plugin not in _KINDS:
        return dict(args)
    kind, check = _KINDS[plugin]
    given: dict[str, Any] = drop_nulls(args)
    _check_type(given, f"{plugin}Args", path)
    struct = convert({k: v for k, v in given.items() if k not in ("apiVersion", "kind")}, kind, path)
    errors = FieldErrors()
    check(errors, path, struct)
    if errors.found:
        raise ConfigError("; ".join(str(e) for e in errors.found))
    tree: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(struct))
    return tree


def _check_type(args: Mapping[str, Any], kind: str, path: str) -> None:
    if args.get("apiVersion") not in (None, "", f"{_GROUP}/v1"):
        raise ConfigError(f"{path}.apiVersion: is {args['apiVersion']!r}; it must be {_GROUP}/v1")
    if args.get("kind") not in (None, "", kind):
        raise ConfigError(f"{path}.kind: is {args['kind']!r}; the arguments of this plugin are of kind {kind}")


# ---- rules ------------------------------------------------------------------------------------------------


def _check_preemption(errors: FieldErrors, path: str, args: DefaultPreemptionArgs) -> None:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    where = f"{path}.minCandidateNodesPercentage"
    if not 0 <= percentage <= 100:
        errors.invalid(where, percentage, "not in valid range [0, 100]")
    if absolute < 0:
        errors.invalid(f"{path}.minCandidateNodesAbsolute", absolute, "not in valid range [0, inf)")
    if percentage == 0 and absolute == 0:
        errors.invalid(where, 0, "cannot be zero at the same time as minCandidateNodesAbsolute")


def _check_nothing(errors: FieldErrors, path: str, args: Any) -> None:
    """Everything that can be wrong depends on feature gates."""


def _check_pod_affinity(errors: FieldErrors, path: str, args: InterPodAffinityArgs) -> None:
    weight = args.hard_pod_affinity_weight
    if not 0 <= weight <= 100:
        errors.invalid(f"{path}.hardPodAffinityWeight", weight, "not in valid range [0, 100]")


def _check_node_affinity(errors: FieldErrors, path: str, args: NodeAffinityArgs) -> None:
    if args.added_affinity is None:
        return
    path = f"{path}.addedAffinity"
    affinity = _read_view(errors, path, args.added_affinity, NodeAffinity)
    try:
        if affinity is not None and affinity.required is not None:
            compile_node_selector(affinity.required, f"{path}.{_REQUIRED}")
        for i, term in enumerate(affinity.preferred if affinity is not None else ()):
            compile_node_selector_term(term.preference, f"{path}.{_PREFERRED}[{i}].preference")
    except ValidationError as error:
        errors.add(error.field, error.detail)


def _read_view(errors: FieldErrors, path: str, tree: Any, view: type[Any]) -> Any:
    """Return a part that is written as in the API; None, with the errors recorded, when it has mistakes."""
    unknown = find_unknown_fields(view, tree)
    for field in unknown:
        errors.add(f"{path}.{field}", f"unknown field `{field.rpartition('.')[2]}`")
    try:
        return convert(tree, view, path) if not unknown else None
    except ConfigError as error:
        errors.add("", str(error))
        return None


def _check_balance(errors: FieldErrors, path: str, args: NodeResourcesBalancedAllocationArgs) -> None:
    seen: set[str] = set()
    for i, resource in enumerate(args.resources):
        where = f"{path}.resources[{i}]"
        if resource.name in seen:
            errors.duplicate(f"{where}.name", resource.name)
        seen.add(resource.name)
        if resource.weight not in (0, 1):
            errors.invalid(f"{where}.weight", resource.weight, "must be 1")


def _check_fit(errors: FieldErrors, path: str, args: NodeResourcesFitArgs) -> None:
    for i, name in enumerate(args.ignored_resources):
        errors.check_format(f"{path}.ignoredResources[{i}]", name, check_qualified_name(name))
    for i, group in enumerate(args.ignored_resource_groups):
        where = f"{path}.ignoredResourceGroups[{i}]"
        if "/" in group:
            errors.invalid(where, group, "resource group name can't contain '/'")
        errors.check_format(where, group, check_qualified_name(group))
    if args.scoring_strategy is not None:
        _check_strategy(errors, f"{path}.scoringStrategy", args.scoring_strategy)


def _check_strategy(errors: FieldErrors, path: str, strategy: ScoringStrategy) -> None:
    known = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    errors.check_choice(f"{path}.type", strategy.type, known)
    for i, resource in enumerate(strategy.resources):
        if not 0 <= resource.weight <= 100:
            why = f"resource weight of {resource.name} not in valid range (0, 100]"
            errors.invalid(f"{path}.resources[{i}].weight", resource.weight, why)
    ratio, where = strategy.requested_to_capacity_ratio, f"{path}.requestedToCapacityRatio"
    if strategy.type != "RequestedToCapacityRatio":
        if ratio is not None:
            errors.forbidden(where, "must be nil when type is not RequestedToCapacityRatio")
    elif ratio is None:
        errors.required(where, "must be specified when type is RequestedToCapacityRatio")
    elif not ratio.shape:
        errors.required(f"{where}.shape", "at least one point must be specified")
    else:
        _check_shape(errors, f"{where}.shape", ratio.shape)


def _check_shape(errors: FieldErrors, path: str, shape: tuple[ShapePoint, ...]) -> None:
    for i, point in enumerate(shape):
        if i and shape[i - 1].utilization >= point.utilization:
            why = "values must be sorted in increasing order"
            errors.invalid(f"{path}[{i}].utilization", point.utilization, why)
        if not 0 <= point.utilization <= 100:
            errors.invalid(f"{path}[{i}].utilization", point.utilization, "not in valid range [0, 100]")
        if not 0 <= point.score <= 10:
            errors.invalid(f"{path}[{i}].score", point.score, "not in valid range [0, 10]")


def _check_spread(errors: FieldErrors, path: str, args: PodTopologySpreadArgs) -> None:
    kind = args.defaulting_type
    errors.check_choice(f"{path}.defaultingType", kind, ("System", "List"))
    if kind == "System" and args.default_constraints:
        errors.invalid(f"{path}.defaultingType", kind, "when .defaultConstraints are not empty")
    seen: set[tuple[str, str]] = set()
    for i, tree in enumerate(args.default_constraints):
        where = f"{path}.defaultConstraints[{i}]"
        constraint = _read_view(errors, where, tree, TopologySpreadConstraint)
        if constraint is not None:
            _check_constraint(errors, where, constraint, tree)
            key = (constraint.topology_key, constraint.when_unsatisfiable)
            if key in seen:
                errors.duplicate(where, f"{{{key[0]}, {key[1]}}}")
            seen.add(key)


def _check_constraint(errors: FieldErrors, path: str, c: TopologySpreadConstraint, tree: Mapping[str, Any]) -> None:
    if tree.get("maxSkew", 0) <= 0:
        errors.invalid(f"{path}.maxSkew", tree.get("maxSkew", 0), "not in valid range (0, inf)")
    if not c.topology_key:
        errors.required(f"{path}.topologyKey", "can not be empty")
    else:
        errors.check_format(f"{path}.topologyKey", c.topology_key, check_qualified_name(c.topology_key))
    if not tree.get("whenUnsatisfiable"):
        errors.required(f"{path}.whenUnsatisfiable", "can not be empty")
    else:
        errors.check_choice(f"{path}.whenUnsatisfiable", c.when_unsatisfiable, ("DoNotSchedule", "ScheduleAnyway"))
    if c.label_selector is not None:
        errors.forbidden(f"{path}.labelSelector", "constraint must not define a selector, as they deduced for each pod")


def _check_volumes(errors: FieldErrors, path: str, args: VolumeBindingArgs) -> None:
    if args.bind_timeout_seconds < 0:
        errors.invalid(
            f"{path}.bindTimeoutSeconds",
            args.bind_timeout_seconds,
            "invalid BindTimeoutSeconds, should not be a negative value",
        )
    _check_shape(errors, f"{path}.shape", args.shape)


_KINDS: Final[dict[str, tuple[type[Any], Callable[[FieldErrors, str, Any], None]]]] = {
    "DefaultPreemption": (DefaultPreemptionArgs, _check_preemption),
    "DynamicResources": (DynamicResourcesArgs, _check_nothing),
    "InterPodAffinity": (InterPodAffinityArgs, _check_pod_affinity),
    "NodeAffinity": (NodeAffinityArgs, _check_node_affinity),
    "NodeResourcesBalancedAllocation": (NodeResourcesBalancedAllocationArgs, _check_balance),
    "NodeResourcesFit": (NodeResourcesFitArgs, _check_fit),
    "PodTopologySpread": (PodTopologySpreadArgs, _check_spread),
    "VolumeBinding": (VolumeBindingArgs, _check_volumes),
}

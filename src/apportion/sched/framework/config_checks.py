"""The rules of the configuration file beyond types.

Behaviour: pkg/scheduler/apis/config/validation of Kubernetes 1.37, with its texts.
"""

from typing import TYPE_CHECKING, Final

from apportion.api.validation.names import check_qualified_name
from apportion.api.validation.report import FieldErrors
from apportion.base import ConfigError, InputError, parse_duration
from apportion.sched.framework.config_fields import Extender

if TYPE_CHECKING:
    from apportion.sched.framework.config import LeaderElection, Plugins, PluginSet, ProfileConfig, SchedulerConfig

# plugins that earlier versions had
_REMOVED: Final = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
_NATIVE_DOMAIN: Final = "kubernetes.io/"


def check_config(config: "SchedulerConfig") -> None:
    """Raise ConfigError for what is wrong, all of it, with paths."""
    errors = FieldErrors()
    if config.client_connection.burst < 0:
        errors.invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative")
    _check_leader_election(errors, config.leader_election)
    if config.parallelism <= 0:
        errors.invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    _check_percentage(errors, "percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    _check_backoff(errors, config)
    _check_names(errors, config.profiles)
    for i, profile in enumerate(config.profiles):
        _check_profile(errors, f"profiles[{i}]", profile)
    _check_queue_sort(errors, config.profiles)
    _check_extenders(errors, config.extenders)
    if errors.found:
        raise ConfigError("; ".join(str(e) for e in errors.found))


def _check_leader_election(errors: FieldErrors, election: "LeaderElection") -> None:
    if not election.leader_elect:
        return
    times = {}
    for name, text in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        times[name] = _read_duration(errors, f"leaderElection.{name}", text)
        if times[name] <= 0:
            errors.invalid(f"leaderElection.{name}", text, "must be greater than zero")
    if times["leaseDuration"] <= times["renewDeadline"]:
        errors.invalid("leaderElection.leaseDuration", election.lease_duration, "must be greater than `RenewDeadline`")
    if election.resource_lock != "leases":
        errors.invalid("leaderElection.resourceLock", election.resource_lock, 'resourceLock value must be "leases"')


def _read_duration(errors: FieldErrors, path: str, text: str) -> float:
    try:
        return parse_duration(text)
    except InputError as error:
        errors.invalid(path, text, str(error))
        return 1.0


def _check_percentage(errors: FieldErrors, path: str, percentage: int | None) -> None:
    if percentage is not None and not 0 <= percentage <= 100:
        errors.invalid(path, percentage, "not in valid range [0-100]")


def _check_backoff(errors: FieldErrors, config: "SchedulerConfig") -> None:
    first, most = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if first <= 0:
        errors.invalid("podInitialBackoffSeconds", first, "must be greater than 0")
    if most < first:
        errors.invalid("podMaxBackoffSeconds", most, "must be greater than or equal to PodInitialBackoffSeconds")


def _check_names(errors: FieldErrors, profiles: "tuple[ProfileConfig, ...]") -> None:
    seen: dict[str, int] = {}
    for i, profile in enumerate(profiles):
        path = f"profiles[{i}].schedulerName"
        # only a single profile gets the default name
        if profile.scheduler_name == "" or (profile.scheduler_name is None and len(profiles) > 1):
            errors.required(path)
        elif profile.name in seen:
            errors.duplicate(path, profile.name)
        seen.setdefault(profile.name, i)


def _check_profile(errors: FieldErrors, path: str, profile: "ProfileConfig") -> None:
    _check_percentage(errors, f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
    for field, point in _points(profile.plugins):
        for i, ref in enumerate(point.enabled):
            where = f"{path}.plugins.{field}.enabled[{i}]"
            if ref.name in _REMOVED:
                errors.invalid(where, ref.name, "was removed; use NodeVolumeLimits")
            if ref.weight is not None and ref.weight < 0:
                errors.invalid(f"{where}.weight", ref.weight, "must not be negative")
    seen: set[str] = set()
    for i, entry in enumerate(profile.plugin_config):
        if entry.name in seen:
            errors.duplicate(f"{path}.pluginConfig[{i}]", entry.name)
        if entry.name in _REMOVED:
            errors.invalid(f"{path}.pluginConfig[{i}]", entry.name, "was removed; use NodeVolumeLimits")
        seen.add(entry.name)


def _points(plugins: "Plugins") -> "list[tuple[str, PluginSet]]":
    names = zip(plugins.__struct_encode_fields__, plugins.__struct_fields__, strict=True)
    return [(shown, getattr(plugins, name)) for shown, name in names]


def _check_queue_sort(errors: FieldErrors, profiles: "tuple[ProfileConfig, ...]") -> None:
    """All profiles share one queue, so they must agree on its order."""
    first = profiles[0]
    enabled = first.plugins.queue_sort.enabled
    if len(enabled) > 1:
        path = "profiles[0].plugins.queueSort.enabled"
        errors.invalid(path, len(enabled), "only one queue sort plugin can be enabled")
    for i, profile in enumerate(profiles[1:], 1):
        if profile.plugins.queue_sort != first.plugins.queue_sort:
            errors.add(f"profiles[{i}].plugins.queueSort", "Invalid value: must be the same for all profiles")
        elif enabled and profile.args_of(enabled[0].name) != first.args_of(enabled[0].name):
            path = f"profiles[{i}].pluginConfig.args"
            errors.add(path, "Invalid value: queueSort must be the same for all profiles")


def _check_extenders(errors: FieldErrors, extenders: tuple[Extender, ...]) -> None:
    managed: set[str] = set()
    for i, extender in enumerate(extenders):
        path = f"extenders[{i}]"
        if not extender.url_prefix:
            errors.required(f"{path}.urlPrefix")
        if extender.prioritize_verb and extender.weight <= 0:
            errors.invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        _read_duration(errors, f"{path}.httpTimeout", extender.http_timeout)
        for j, resource in enumerate(extender.managed_resources):
            where = f"{path}.managedResources[{j}].name"
            _check_extended_name(errors, where, resource.name)
            if resource.name in managed:
                errors.invalid(where, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(bool(e.bind_verb) for e in extenders)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        errors.invalid("extenders", found, "only one extender can implement bind")


def _check_extended_name(errors: FieldErrors, path: str, name: str) -> None:
    problems = check_qualified_name(name)
    errors.check_format(path, name, problems)
    is_native = "/" not in name or _NATIVE_DOMAIN in name or name.startswith("requests.")
    if not problems and is_native:
        errors.invalid(path, name, "is an invalid extended resource name")

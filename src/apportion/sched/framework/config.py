"""The scheduler's configuration file: kubescheduler.config.k8s.io/v1, read strictly.

Unknown fields are errors with their path. Fields that have no meaning here (client connection, leader election,
debugging) are accepted with their upstream types.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from apportion.base import ConfigError

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"
T = TypeVar("T")


class _Strict(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Base of the configuration's structs."""


class PluginRef(_Strict, frozen=True):
    name: str
    weight: int | None = None


class PluginSet(_Strict, frozen=True):
    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(_Strict, frozen=True):
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()


class PluginArgs(_Strict, frozen=True):
    name: str
    args: dict[str, Any] = {}


class ProfileConfig(_Strict, frozen=True):
    scheduler_name: str = "default-scheduler"
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginArgs, ...] = ()

    def args_of(self, plugin: str) -> Mapping[str, object]:
        """Return the arguments given for a plugin, without apiVersion and kind."""
        for entry in self.plugin_config:
            if entry.name == plugin:
                return {k: v for k, v in entry.args.items() if k not in ("apiVersion", "kind")}
        return {}


class SchedulerConfig(_Strict, frozen=True):
    """The whole file. ``percentage_of_nodes_to_score`` 0 or unset means that all nodes are scored."""

    api_version: str = API_VERSION
    kind: str = KIND
    parallelism: int = 16
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: float = 1
    pod_max_backoff_seconds: float = 10
    profiles: tuple[ProfileConfig, ...] = (ProfileConfig(),)
    extenders: tuple[dict[str, Any], ...] = ()
    leader_election: dict[str, Any] = {}
    client_connection: dict[str, Any] = {}
    delay_cache_until_active: bool = False
    enable_profiling: bool = field(name="enableProfiling", default=True)
    enable_contention_profiling: bool = field(name="enableContentionProfiling", default=True)
    health_z_bind_address: str = field(name="healthzBindAddress", default="")
    metrics_bind_address: str = ""


def read_config(tree: object, source: str) -> SchedulerConfig:
    """Return the configuration in ``tree`` (as YAML or JSON gave it). Raises ConfigError with file and field path."""
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{source}: must be a mapping with apiVersion {API_VERSION} and kind {KIND}")
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if tree.get(name) != wanted:
            raise ConfigError(f"{source}: {name} is {tree.get(name)!r}; it must be {wanted}")
    try:
        config = msgspec.convert(tree, SchedulerConfig)
    except msgspec.ValidationError as e:
        raise ConfigError(f"{source}: {_with_path(str(e))}") from e
    _check(config, source)
    return config


def _with_path(text: str) -> str:
    """Turn "... - at `$.profiles[0].plugins`" into "profiles[0].plugins: ..."."""
    message, _, path = text.partition(" - at `$")
    return f"{path.strip('`.')}: {message}" if path.strip("`.") else message


def _check(config: SchedulerConfig, source: str) -> None:
    names = [p.scheduler_name for p in config.profiles]
    if not names:
        raise ConfigError(f"{source}: profiles: needs at least one profile")
    for i, name in enumerate(names):
        if not name:
            raise ConfigError(f"{source}: profiles[{i}].schedulerName: must not be empty")
        if name in names[:i]:
            raise ConfigError(f"{source}: profiles[{i}].schedulerName: {name!r} is used twice")
    for i, profile in enumerate(config.profiles):
        percentage = profile.percentage_of_nodes_to_score
        if percentage is not None and not 0 <= percentage <= 100:
            raise ConfigError(f"{source}: profiles[{i}].percentageOfNodesToScore: must be from 0 to 100")
    if config.pod_initial_backoff_seconds <= 0:
        raise ConfigError(f"{source}: podInitialBackoffSeconds: must be greater than 0")
    if config.pod_max_backoff_seconds < config.pod_initial_backoff_seconds:
        raise ConfigError(f"{source}: podMaxBackoffSeconds: must be at least podInitialBackoffSeconds")
    if config.extenders:
        raise ConfigError(f"{source}: extenders: HTTP extenders are not available")

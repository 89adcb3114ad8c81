"""The scheduler's configuration file: kubescheduler.config.k8s.io/v1, read strictly.

Every field that Kubernetes 1.37 knows is accepted, with its type and its rules; anything else is an error with its
path. What has no meaning here (client connection, leader election, profiling) is checked and left alone.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import field
from msgspec.structs import replace

from apportion.base import ConfigError
from apportion.sched.framework.config_checks import check_config
from apportion.sched.framework.config_fields import Extender, Strict, convert, drop_nulls
from apportion.sched.framework.plugin_args import read_plugin_args

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"


class PluginRef(Strict, frozen=True):
    name: str
    weight: int | None = None


class PluginSet(Strict, frozen=True):
    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(Strict, frozen=True):
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


class PluginConfig(Strict, frozen=True):
    name: str
    args: dict[str, Any] = {}


class ProfileConfig(Strict, frozen=True):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: int | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()

    @property
    def name(self) -> str:
        """The scheduler name that pods ask for."""
        return self.scheduler_name or "default-scheduler"

    def args_of(self, plugin: str) -> Mapping[str, object]:
        """Return the arguments given for a plugin, without apiVersion and kind."""
        for entry in self.plugin_config:
            if entry.name == plugin:
                return {k: v for k, v in entry.args.items() if k not in ("apiVersion", "kind")}
        return {}


class LeaderElection(Strict, frozen=True):
    leader_elect: bool = True
    lease_duration: str = "15s"
    renew_deadline: str = "10s"
    retry_period: str = "2s"
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(Strict, frozen=True):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 50
    burst: int = 100


class SchedulerConfig(Strict, frozen=True):
    """The whole file. ``percentage_of_nodes_to_score`` 0 or unset means that all nodes are scored."""

    api_version: str = API_VERSION
    kind: str = KIND
    parallelism: int = 16
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int | float = 1
    pod_max_backoff_seconds: int | float = 10
    profiles: tuple[ProfileConfig, ...] = (ProfileConfig(),)
    extenders: tuple[Extender, ...] = ()
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    delay_cache_until_active: bool = False
    enable_profiling: bool = field(name="enableProfiling", default=True)
    enable_contention_profiling: bool = field(name="enableContentionProfiling", default=True)


def read_config(tree: object, source: str) -> SchedulerConfig:
    """Return the configuration in ``tree`` (as YAML or JSON gave it). Raises ConfigError with file and field path."""
    if not isinstance(tree, Mapping):
        raise ConfigError(f"{source}: must be a mapping with apiVersion {API_VERSION} and kind {KIND}")
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if tree.get(name) != wanted:
            raise ConfigError(f"{source}: {name} is {tree.get(name)!r}; it must be {wanted}")
    try:
        config = convert(drop_nulls(tree), SchedulerConfig, "")
        profiles = config.profiles or (ProfileConfig(),)
        config = replace(config, profiles=tuple(_read_args(p, i) for i, p in enumerate(profiles)))
        check_config(config)
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from error
    return config


def _read_args(profile: ProfileConfig, index: int) -> ProfileConfig:
    """Return the profile with arguments of plugins that come with Kubernetes checked, and with its defaults."""
    entries = []
    for i, entry in enumerate(profile.plugin_config):
        path = f"profiles[{index}].pluginConfig[{i}].args"
        entries.append(replace(entry, args=read_plugin_args(entry.name, entry.args, path)))
    return replace(profile, plugin_config=tuple(entries))

"""Builds a scheduler from a configuration: profiles, their plugins with arguments, the queue."""

from apportion.api.feature_gates import FeatureGates
from apportion.base import Clock, ConfigError, Rng
from apportion.sched.cycle.scheduler import Scheduler
from apportion.sched.framework import Plugin, PluginUse, Profile, WaitingPods, build_profile
from apportion.sched.framework.config import Plugins, PluginSet, ProfileConfig, SchedulerConfig
from apportion.sched.plugins import IN_TREE, Handle, find_own
from apportion.sched.queue import QueueConfig
from apportion.sched.state import ClusterState

# the fields of each plugin's arguments that have an effect
_ARGS = {
    "NodeResourcesFit": {"scoringStrategy", "ignoredResources", "ignoredResourceGroups"},
    "NodeResourcesBalancedAllocation": {"resources"},
    "InterPodAffinity": {"hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods"},
    "PodTopologySpread": {"defaultConstraints", "defaultingType"},
    "DynamicResources": {"filterTimeout", "bindingTimeout"},
    # both are accepted and have no effect: all nodes are looked at
    "DefaultPreemption": {"minCandidateNodesPercentage", "minCandidateNodesAbsolute"},
    # the timeout is accepted and has no effect: the scheduler does not wait for the volume controller
    "VolumeBinding": {"bindTimeoutSeconds", "shape"},
}
# our points, and the configuration's points that switch them
_POINTS = {
    "preEnqueue": ("pre_enqueue",),
    "filter": ("filter", "pre_filter"),
    "score": ("score", "pre_score"),
    "reserve": ("reserve",),
    "preBind": ("pre_bind",),
    "postFilter": ("post_filter",),
    "permit": ("permit",),
    "bind": ("bind",),
    "postBind": ("post_bind",),
}


def build_scheduler(
    config: SchedulerConfig,
    state: ClusterState,
    gates: FeatureGates,
    clock: Clock,
    rng: Rng,
    preempts: bool = True,
) -> Scheduler:
    """Return a scheduler for all profiles of ``config``. Raises ConfigError for a plugin or argument it cannot use."""
    waiting_pods = WaitingPods(clock)
    profiles = {p.scheduler_name: _build(p, config, state, gates, rng, clock, waiting_pods) for p in config.profiles}
    queue = QueueConfig(config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)
    return Scheduler(state, profiles, clock, rng.fork("tieBreak"), queue, preempts, waiting_pods)


def _make(profile: ProfileConfig, name: str, handle: Handle) -> Plugin:
    if name in IN_TREE:
        return IN_TREE[name][0](handle)
    factory = find_own(name)
    assert factory is not None  # the name was checked
    try:
        plugin: Plugin = factory(handle)
    except ConfigError:
        raise
    except Exception as fault:
        text = f"plugin {name} cannot be made: {type(fault).__name__}: {fault}"
        raise ConfigError(f"profile {profile.scheduler_name}: {text}") from fault
    if not isinstance(getattr(plugin, "name", None), str) or not plugin.name:
        raise ConfigError(f"profile {profile.scheduler_name}: plugin {name} has no name")
    return plugin


def _build(
    profile: ProfileConfig,
    config: SchedulerConfig,
    state: ClusterState,
    gates: FeatureGates,
    rng: Rng,
    clock: Clock,
    waiting_pods: WaitingPods,
) -> Profile:
    _check_args(profile)
    uses = []
    for name, weight, points in _resolve(profile):
        handle = Handle(state, gates, rng.fork(name), clock, profile.args_of(name), waiting_pods)
        uses.append(PluginUse(_make(profile, name, handle), weight, points))
    names = [u.plugin.name for u in uses]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f"profile {profile.scheduler_name}: two plugins are called {twice!r}")
    percentage = profile.percentage_of_nodes_to_score
    return build_profile(
        profile.scheduler_name,
        uses,
        config.percentage_of_nodes_to_score if percentage is None else percentage,
    )


def _check_args(profile: ProfileConfig) -> None:
    for i, entry in enumerate(profile.plugin_config):
        _check_name(profile, entry.name, disabling=True)
        if entry.name not in IN_TREE:
            continue  # the arguments of an own plugin are its own affair
        unknown = sorted(profile.args_of(entry.name).keys() - _ARGS.get(entry.name, set()))
        if unknown:
            where = f"profile {profile.scheduler_name}: pluginConfig[{i}].args.{unknown[0]}"
            raise ConfigError(f"{where}: {entry.name} has no such argument here")


def _check_name(profile: ProfileConfig, name: str, disabling: bool = False) -> None:
    if name in IN_TREE or (disabling and name == "*"):
        return
    if find_own(name) is not None:
        return
    known = ", ".join(IN_TREE)
    raise ConfigError(f"profile {profile.scheduler_name}: there is no plugin {name!r}; known are {known}")


def _sets(plugins: Plugins) -> list[PluginSet]:
    return [getattr(plugins, name) for name in plugins.__struct_fields__]


def _resolve(profile: ProfileConfig) -> list[tuple[str, int, frozenset[str]]]:
    """Return (plugin, weight, points) in order: a specific point beats multiPoint, enabled beats disabled."""
    plugins = profile.plugins
    for found in _sets(plugins):
        for ref in found.enabled:
            _check_name(profile, ref.name)
        for ref in found.disabled:
            _check_name(profile, ref.name, disabling=True)
    multi = plugins.multi_point
    off = {r.name for r in multi.disabled}
    on = {r.name: r.weight for r in multi.enabled}
    order = [n for n in IN_TREE if n in on or not (n in off or "*" in off)]
    order += [n for n in on if n not in IN_TREE]
    known = dict.fromkeys([*IN_TREE, *(r.name for found in _sets(plugins) for r in found.enabled)])
    resolved = []
    for name in [*order, *(n for n in known if n not in order and _enabled_somewhere(plugins, n))]:
        base = name in order
        points = frozenset(p for p, sets in _POINTS.items() if _takes(plugins, sets, name, base))
        default = IN_TREE[name][1] if name in IN_TREE else 1
        weight = next((r.weight for r in plugins.score.enabled if r.name == name and r.weight), None)
        resolved.append((name, weight or on.get(name) or default, points))
    return resolved


def _enabled_somewhere(plugins: Plugins, name: str) -> bool:
    return any(ref.name == name for found in _sets(plugins) for ref in found.enabled)


def _takes(plugins: Plugins, sets: tuple[str, ...], name: str, base: bool) -> bool:
    """Whether a plugin takes part in one of our points, given the switches of the configuration's points."""
    point: PluginSet = getattr(plugins, sets[0])
    if any(r.name == name for r in point.enabled):
        return True
    return base and not any(r.name in (name, "*") for r in point.disabled)

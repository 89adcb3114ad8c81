"""Builds a scheduler from a configuration: profiles, their plugins with arguments, the queue."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from apportion.api.feature_gates import FeatureGates
from apportion.base import Clock, ConfigError, Rng
from apportion.sched.cycle.extenders import EXTENDER, hint_any_event
from apportion.sched.cycle.records import Recorder
from apportion.sched.cycle.scheduler import Scheduler
from apportion.sched.framework import Plugin, Profile, WaitingPods, build_profile
from apportion.sched.framework.config import ProfileConfig, SchedulerConfig
from apportion.sched.framework.plugin_sets import resolve_plugins
from apportion.sched.plugins import GATED, IN_TREE, Handle, find_own
from apportion.sched.queue import WILDCARD, ActionType, ClusterEvent, QueueConfig, Registration
from apportion.sched.state import ClusterState

_log = logging.getLogger(__name__)


def build_scheduler(
    config: SchedulerConfig,
    state: ClusterState,
    gates: FeatureGates,
    clock: Clock,
    rng: Rng,
    preempts: bool = True,
    perf: Callable[[], float] | None = None,
) -> Scheduler:
    """Return a scheduler for all profiles of ``config``. Raises ConfigError for a plugin or argument it cannot use.

    ``perf`` tells how long things took; with it there are metrics, and decisions are logged.
    """
    waiting_pods = WaitingPods(clock)
    shared = Handle(state, gates, rng, clock, waiting_pods=waiting_pods)
    profiles = {p.name: _build(p, config, shared) for p in config.profiles}
    queue = QueueConfig(config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)
    if any(e.filter_verb for e in config.extenders):
        for profile in profiles.values():  # nobody knows which event makes an extender change its mind
            event = ClusterEvent(WILDCARD, ActionType.ALL)
            profile.registrations.append(Registration(EXTENDER, event, hint_any_event))
    rng = rng.fork("tieBreak")
    recorder = None if perf is None else Recorder(clock, perf, shared.claim_metrics)
    return Scheduler(state, profiles, clock, rng, queue, preempts, waiting_pods, config.extenders, recorder)


def _make(where: str, name: str, handle: Handle) -> Plugin:
    if name in IN_TREE:
        return IN_TREE[name][0](handle)
    factory = find_own(name)
    if factory is None:
        raise ConfigError(f"{where}: there is no plugin {name!r}; known are {', '.join(IN_TREE)}")
    try:
        plugin: Plugin = factory(handle)
    except ConfigError:
        raise
    except Exception as fault:
        text = f"plugin {name} cannot be made: {type(fault).__name__}: {fault}"
        raise ConfigError(f"{where}: {text}") from fault
    if not isinstance(getattr(plugin, "name", None), str) or not plugin.name:
        raise ConfigError(f"{where}: plugin {name} has no name")
    return plugin


def _build(profile: ProfileConfig, config: SchedulerConfig, shared: Handle) -> Profile:
    where = f"profile {profile.name}"
    try:
        sets = resolve_plugins(profile.plugins, {name: weight for name, (_, weight) in IN_TREE.items()})
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    plugins = {}
    for name in sets.names:
        if name in GATED and not shared.gates.enabled(GATED[name]):
            continue
        args = _args_of(profile, name, config)
        handle = replace(shared, rng=shared.rng.fork(name), args=args, profile=profile.name)
        plugins[name] = _make(where, name, handle)
    names = [plugin.name for plugin in plugins.values()]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f"{where}: two plugins are called {twice!r}")
    _warn_of_names_without_effect(where, profile, frozenset(sets.names))
    percentage = profile.percentage_of_nodes_to_score
    percentage = config.percentage_of_nodes_to_score if percentage is None else percentage
    return build_profile(profile.name, plugins, sets, percentage)


def _args_of(profile: ProfileConfig, name: str, config: SchedulerConfig) -> Mapping[str, object]:
    """Return a plugin's arguments; resources that only extenders shall look at are ignored by NodeResourcesFit."""
    args = profile.args_of(name)
    left = [r.name for e in config.extenders for r in e.managed_resources if r.ignored_by_scheduler]
    if name != "NodeResourcesFit" or not left:
        return args
    known = args.get("ignoredResources")
    return {**args, "ignoredResources": [*(known if isinstance(known, list) else ()), *left]}


def _warn_of_names_without_effect(where: str, profile: ProfileConfig, used: frozenset[str]) -> None:
    """Kubernetes accepts arguments of plugins that are not used; that may be a slip of the pen."""
    known = used | IN_TREE.keys() | GATED.keys()
    for i, entry in enumerate(profile.plugin_config):
        if entry.name not in known:
            _log.warning("%s: pluginConfig[%d]: %s is not used", where, i, entry.name)

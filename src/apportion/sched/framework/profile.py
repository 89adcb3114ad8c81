"""A profile: the plugins of one schedulerName, sorted into the extension points they take part in."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from apportion.base import ConfigError
from apportion.sched.framework.plugin import (
    BindPlugin,
    EventsPlugin,
    FilterPlugin,
    InterestsPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    ReservePlugin,
    ScorePlugin,
)
from apportion.sched.framework.status import Status, unresolvable
from apportion.sched.queue import Registration
from apportion.sched.state import PodInfo

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Profile:
    """Plugins in the order in which they run. ``scores`` carry their weights."""

    scheduler_name: str
    filters: list[FilterPlugin] = field(default_factory=list)
    scores: list[tuple[ScorePlugin, int]] = field(default_factory=list)
    pre_enqueues: list[PreEnqueuePlugin] = field(default_factory=list)
    reserves: list[ReservePlugin] = field(default_factory=list)
    pre_binds: list[PreBindPlugin] = field(default_factory=list)
    post_filters: list[PostFilterPlugin] = field(default_factory=list)
    permits: list[PermitPlugin] = field(default_factory=list)
    binds: list[BindPlugin] = field(default_factory=list)
    post_binds: list[PostBindPlugin] = field(default_factory=list)
    registrations: list[Registration] = field(default_factory=list)
    interested: list[InterestsPlugin] = field(default_factory=list)
    percentage_of_nodes_to_score: int | None = None

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Return why the pod must not enter the active queue, or None."""
        for plugin in self.pre_enqueues:
            try:
                status = plugin.pre_enqueue(pod)
            except Exception as fault:  # it waits, and is looked at again with the next event or flush
                _log.error("plugin %s failed for %s: %r", plugin.name, pod.key, fault)
                return unresolvable(plugin.name, f"plugin {plugin.name} failed: {type(fault).__name__}: {fault}")
            if status is not None:
                return status
        return None

    def all_plugins(self) -> list[Plugin]:
        """Return the plugins at every extension point, some of them more than once."""
        scorers = [plugin for plugin, _ in self.scores]
        before = (self.pre_enqueues, self.filters, scorers, self.post_filters)
        after = (self.reserves, self.permits, self.pre_binds, self.binds, self.post_binds)
        return [plugin for plugins in (*before, *after) for plugin in plugins]

    def interests(self, pod: PodInfo) -> tuple[str, ...]:
        """Return what a pod waits for by name."""
        return tuple(interest for plugin in self.interested for interest in plugin.interests(pod))


@dataclass(frozen=True, slots=True)
class PluginUse:
    """One plugin in a profile: where it takes part, and its score weight. ``points`` None means everywhere."""

    plugin: Plugin
    weight: int = 1
    points: frozenset[str] | None = None

    def takes(self, point: str) -> bool:
        """Return whether the profile uses the plugin at an extension point."""
        return self.points is None or point in self.points


# a method that shows that a plugin wants to take part in a point, and what it must have for that
_POINTS: Final[dict[str, Any]] = {
    "pre_filter": FilterPlugin,
    "pre_score": ScorePlugin,
    "reserve": ReservePlugin,
    "pre_bind": PreBindPlugin,
}


def _check_points(plugin: Plugin, scheduler_name: str) -> None:
    for method, protocol in _POINTS.items():
        if hasattr(plugin, method) and not isinstance(plugin, protocol):
            needed = sorted({*protocol.__annotations__, *(n for n in vars(protocol) if not n.startswith("_"))})
            missing = ", ".join(n for n in needed if not hasattr(plugin, n))
            raise ConfigError(f"profile {scheduler_name}: plugin {plugin.name} has {method} but lacks {missing}")


def build_profile(
    scheduler_name: str, uses: Sequence[PluginUse], percentage_of_nodes_to_score: int | None = None
) -> Profile:
    """Sort plugins into extension points by what they implement. Raises ConfigError for a weight below 1."""
    profile = Profile(scheduler_name, percentage_of_nodes_to_score=percentage_of_nodes_to_score)
    for use in uses:
        plugin = use.plugin
        _check_points(plugin, scheduler_name)
        if isinstance(plugin, PreEnqueuePlugin) and use.takes("preEnqueue"):
            profile.pre_enqueues.append(plugin)
        if isinstance(plugin, FilterPlugin) and use.takes("filter"):
            profile.filters.append(plugin)
        if isinstance(plugin, ScorePlugin) and use.takes("score"):
            if use.weight < 1:
                raise ConfigError(f"profile {scheduler_name}: the weight of {plugin.name} must be at least 1")
            profile.scores.append((plugin, use.weight))
        if isinstance(plugin, ReservePlugin) and use.takes("reserve"):
            profile.reserves.append(plugin)
        if isinstance(plugin, PreBindPlugin) and use.takes("preBind"):
            profile.pre_binds.append(plugin)
        if isinstance(plugin, PostFilterPlugin) and use.takes("postFilter"):
            profile.post_filters.append(plugin)
        if isinstance(plugin, PermitPlugin) and use.takes("permit"):
            profile.permits.append(plugin)
        if isinstance(plugin, BindPlugin) and use.takes("bind"):
            profile.binds.append(plugin)
        if isinstance(plugin, PostBindPlugin) and use.takes("postBind"):
            profile.post_binds.append(plugin)
        if isinstance(plugin, EventsPlugin):
            profile.registrations.extend(plugin.events_to_register())
        if isinstance(plugin, InterestsPlugin):
            profile.interested.append(plugin)
    return profile

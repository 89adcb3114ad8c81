"""A profile: the plugins of one schedulerName, sorted into the extension points they take part in."""

import logging
from collections.abc import Iterable, Mapping
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
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from apportion.sched.framework.plugin_sets import PluginSets
from apportion.sched.framework.status import Status, unresolvable
from apportion.sched.queue import Registration, SortFn
from apportion.sched.state import PodInfo

_log = logging.getLogger(__name__)
PRIORITY_SORT: Final = "PrioritySort"  # what the queue does without a plugin


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
    queue_sort: QueueSortPlugin | None = None
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
        found: tuple[str, ...] = ()
        for plugin in self.interested:
            found += plugin.interests(pod)
        return found


def find_sort(profiles: Iterable[Profile]) -> SortFn | None:
    """Return the order that the profiles' common QueueSort plugin wants; None for the order of the queue itself."""
    found = next((p.queue_sort for p in profiles if p.queue_sort is not None), None)
    return None if found is None or found.name == PRIORITY_SORT else found.sort_key


# a method that shows that a plugin wants to take part in a point, and what it must have for that
_NEEDED: Final[dict[str, Any]] = {
    "pre_filter": FilterPlugin,
    "pre_score": ScorePlugin,
    "reserve": ReservePlugin,
    "pre_bind": PreBindPlugin,
}
# our points, where the profile keeps their plugins, and what a plugin must have to take part
_POINTS: Final[dict[str, tuple[str, Any]]] = {
    "preEnqueue": ("pre_enqueues", PreEnqueuePlugin),
    "filter": ("filters", FilterPlugin),
    "reserve": ("reserves", ReservePlugin),
    "preBind": ("pre_binds", PreBindPlugin),
    "postFilter": ("post_filters", PostFilterPlugin),
    "permit": ("permits", PermitPlugin),
    "bind": ("binds", BindPlugin),
    "postBind": ("post_binds", PostBindPlugin),
}


def _check_points(plugin: Plugin, where: str) -> None:
    for method, protocol in _NEEDED.items():
        if hasattr(plugin, method) and not isinstance(plugin, protocol):
            needed = sorted({*protocol.__annotations__, *(n for n in vars(protocol) if not n.startswith("_"))})
            missing = ", ".join(n for n in needed if not hasattr(plugin, n))
            raise ConfigError(f"{where}: plugin {plugin.name} has {method} but lacks {missing}")


def build_profile(
    scheduler_name: str,
    plugins: Mapping[str, Plugin],
    sets: PluginSets,
    percentage_of_nodes_to_score: int | None = None,
) -> Profile:
    """Put plugins (by their names in the configuration) where they take part, in order.

    Raises ConfigError for a plugin that lacks a point that names it, and for a profile that could bind no pod.
    """
    profile = Profile(scheduler_name, percentage_of_nodes_to_score=percentage_of_nodes_to_score)
    where = f"profile {scheduler_name}"
    for plugin in plugins.values():
        _check_points(plugin, where)
        if isinstance(plugin, EventsPlugin):
            profile.registrations.extend(plugin.events_to_register())
        if isinstance(plugin, InterestsPlugin):
            profile.interested.append(plugin)
    for point, (field_name, protocol) in _POINTS.items():
        getattr(profile, field_name).extend(_pick(plugins, sets, point, protocol, where))
    scorers = _pick(plugins, sets, "score", ScorePlugin, where)
    weights = {id(plugins[name]): sets.weights[name] for name in sets.order["score"] if name in plugins}
    profile.scores.extend((plugin, weights[id(plugin)]) for plugin in scorers)
    if not profile.binds:
        raise ConfigError(f"{where}: at least one bind plugin is needed")
    profile.queue_sort = _pick_queue_sort(plugins, sets, where)
    return profile


def _pick(plugins: Mapping[str, Plugin], sets: PluginSets, point: str, protocol: Any, where: str) -> list[Any]:
    found = []
    for name in sets.order[point]:
        plugin = plugins.get(name)
        if isinstance(plugin, protocol):
            found.append(plugin)
        elif plugin is not None and name in sets.named[point]:
            raise ConfigError(f"{where}: plugins.{point}.enabled: plugin {name} does not take part in {point}")
    return found


def _pick_queue_sort(plugins: Mapping[str, Plugin], sets: PluginSets, where: str) -> QueueSortPlugin | None:
    """Return what orders the queue; none is the order of PrioritySort."""
    found = _pick(plugins, sets, "queueSort", QueueSortPlugin, where)
    if len(found) > 1:
        names = ", ".join(p.name for p in found)
        raise ConfigError(f"{where}: only one queue sort plugin is possible, found {names}; disable the others")
    return found[0] if found else None

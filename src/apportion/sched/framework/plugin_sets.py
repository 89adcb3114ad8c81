"""Which plugins a profile uses at which point and in which order.

Behaviour: mergePlugins of pkg/scheduler/apis/config/v1/default_plugins.go and expandMultiPointPlugins of
framework/runtime. At each point come first the plugins that the point itself names and that are on anyway, then the
others of multiPoint, then the rest of those that the point names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apportion.base import ConfigError
from apportion.sched.framework.config import Plugins, PluginSet

# our extension points, and what switches them in the configuration: PreFilter goes with Filter, PreScore with Score
POINTS: Final = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "queue_sort",
    "filter": "filter",
    "score": "score",
    "postFilter": "post_filter",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
}


@dataclass(frozen=True, slots=True)
class PluginSets:
    """``names`` are all plugins of a profile, ``order`` those at each point; whether one has the point is open.

    ``named`` are the plugins that a point itself names: those must have it.
    """

    names: tuple[str, ...]
    order: Mapping[str, tuple[str, ...]]
    named: Mapping[str, frozenset[str]]
    weights: Mapping[str, int]


def resolve_plugins(plugins: Plugins, defaults: Mapping[str, int]) -> PluginSets:
    """Return what the switches of a configuration make of the default plugins (name to score weight).

    Raises ConfigError when a plugin is enabled twice at one point.
    """
    multi = _merge(plugins.multi_point, defaults)
    order, named = {}, {}
    for point, field in POINTS.items():
        specific: PluginSet = getattr(plugins, field)
        names = [r.name for r in specific.enabled]
        _refuse_twice(point, names)
        order[point] = _order(names, {r.name for r in specific.disabled}, list(multi))
        named[point] = frozenset(names)
    every = dict.fromkeys([*multi, *(name for point in order.values() for name in point)])
    weights = {**dict.fromkeys(every, 1), **multi, **{r.name: r.weight or 1 for r in plugins.score.enabled}}
    return PluginSets(tuple(every), order, named, weights)


def _merge(custom: PluginSet, defaults: Mapping[str, int]) -> dict[str, int]:
    """Return the plugins of multiPoint with their weights: a default plugin that is named again keeps its place."""
    _refuse_twice("multiPoint", [r.name for r in custom.enabled])
    enabled = {r.name: r.weight or 1 for r in custom.enabled}
    off = {r.name for r in custom.disabled}
    kept = {} if "*" in off else {n: enabled.get(n, w) for n, w in defaults.items() if n not in off}
    return {**kept, **{n: w for n, w in enabled.items() if n not in kept}}


def _refuse_twice(point: str, names: Sequence[str]) -> None:
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise ConfigError(f"plugins.{point}.enabled: plugin {twice!r} is there twice")


def _order(names: Sequence[str], off: set[str], multi: Sequence[str]) -> tuple[str, ...]:
    if "*" in off:
        return tuple(names)
    on = [n for n in multi if n not in off]
    overriding = [n for n in names if n in on]
    return tuple(dict.fromkeys([*overriding, *on, *names]))

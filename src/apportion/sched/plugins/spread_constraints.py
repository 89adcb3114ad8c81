"""Topology spread constraints of a pod kind: its own, or the defaults with selectors from its controllers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from apportion.api.core import (
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    TopologySpreadConstraint,
)
from apportion.api.selectors import LabelMatcher, compile_label_selector
from apportion.api.view import LabelSelector
from apportion.base import ConfigError
from apportion.sched.state import Bools, Clause, ClusterState, NamespaceScope, PodKind

HARD: Final = "DoNotSchedule"
HOSTNAME: Final = "kubernetes.io/hostname"
SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(
        max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable="ScheduleAnyway"
    ),
)


@dataclass(frozen=True, slots=True)
class Spread:
    """One constraint, compiled. ``matches_self``: the pod itself counts once it is placed."""

    max_skew: int
    topology_key: str
    min_domains: int | None
    honors_affinity: bool
    honors_taints: bool
    clauses: tuple[Clause, ...]
    matches_self: bool

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for constraints that mean the same."""
        return (
            self.max_skew, self.topology_key, self.min_domains, self.honors_affinity, self.honors_taints,
            tuple((s.key, m.key) for s, m in self.clauses), self.matches_self,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpreadDefaults:
    """Constraints for pods that have none. ``is_system``: the built-in ones, which are lenient on missing keys."""

    constraints: tuple[TopologySpreadConstraint, ...]
    is_system: bool


def read_defaults(args: Mapping[str, object]) -> SpreadDefaults:
    """Return the defaults of PodTopologySpreadArgs. Raises ConfigError naming the field."""
    kind = args.get("defaultingType", "System")
    listed = args.get("defaultConstraints")
    if kind == "System":
        if listed:
            raise ConfigError("PodTopologySpreadArgs.defaultConstraints: only with defaultingType List")
        return SpreadDefaults(SYSTEM_DEFAULTS, True)
    if kind != "List":
        raise ConfigError(f"PodTopologySpreadArgs.defaultingType: {kind!r} is not System or List")
    try:
        found = msgspec.convert(listed or [], tuple[TopologySpreadConstraint, ...])
    except msgspec.ValidationError as e:
        raise ConfigError(f"PodTopologySpreadArgs.defaultConstraints: {e}") from e
    if any(c.label_selector is not None for c in found):
        raise ConfigError("PodTopologySpreadArgs.defaultConstraints: labelSelector must not be set")
    return SpreadDefaults(found, False)


def get_constraints(state: ClusterState, kind: PodKind, defaults: SpreadDefaults, hard: bool) -> tuple[Spread, ...]:
    """Return the constraints of a kind that filter (``hard``) or that score."""
    own = kind.template.spec.topology_spread_constraints
    if own:
        return tuple(_compile(kind, c, (compile_label_selector(c.label_selector),)) for c in own if is_hard(c) == hard)
    wanted = [c for c in defaults.constraints if is_hard(c) == hard]
    selectors = _controller_selectors(state, kind) if wanted else ()
    return tuple(_compile(kind, c, selectors) for c in wanted) if selectors else ()


def is_hard(constraint: TopologySpreadConstraint) -> bool:
    """Return whether a constraint filters; others score."""
    return constraint.when_unsatisfiable == HARD


def _compile(kind: PodKind, c: TopologySpreadConstraint, selectors: tuple[LabelMatcher, ...]) -> Spread:
    # an empty selector matches the pod itself but no pod is counted for it (countPodsMatchSelector)
    is_empty = c.label_selector == LabelSelector()
    scope = NamespaceScope(frozenset() if is_empty else frozenset((kind.namespace,)), None)
    return Spread(
        c.max_skew,
        c.topology_key,
        c.min_domains,
        c.node_affinity_policy != "Ignore",
        c.node_taints_policy == "Honor",
        tuple((scope, s) for s in selectors),
        all(s.matches(kind.group.labels) for s in selectors),
    )


def _controller_selectors(state: ClusterState, kind: PodKind) -> tuple[LabelMatcher, ...]:
    """Return the selectors of the services and the controller that a pod belongs to (helper.DefaultSelector)."""
    found: list[LabelMatcher] = []
    merged: dict[str, str] = {}
    for service in state.objects.get("Service", {}).values():
        assert isinstance(service, Service)
        selector = service.spec.selector
        if service.metadata.namespace == kind.namespace and selector and selector.items() <= kind.group.labels.items():
            merged.update(selector)
    owner_kind, owner_name = kind.owner
    owner = state.objects.get(owner_kind, {}).get(f"{kind.namespace}/{owner_name}")
    if isinstance(owner, ReplicationController):
        merged.update(owner.spec.selector)
    if merged:
        found.append(compile_label_selector(LabelSelector(match_labels=merged)))
    if isinstance(owner, ReplicaSet | StatefulSet) and owner.spec.selector is not None:
        found.append(compile_label_selector(owner.spec.selector))
    return tuple(found)


def eligible_nodes(state: ClusterState, kind: PodKind, spread: Spread, keys: tuple[str, ...]) -> Bools:
    """Return [row] bool: nodes that have all ``keys`` and pass the constraint's node inclusion policies."""
    nodes = state.nodes
    ok: Bools = nodes.valid.copy()
    for key in keys:
        ok &= nodes.label_column(key).has()
    spec = kind.template.spec
    if spread.honors_affinity:
        admitted = state.masks.admitted(spec)
        if admitted is not None:
            ok &= admitted.ok
    if spread.honors_taints:
        ok &= state.masks.tolerated(spec.tolerations).ok
    return ok

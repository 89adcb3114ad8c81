"""What a plugin is built from: the state it reads, feature gates, the clock, its arguments from the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from apportion.api.feature_gates import FeatureGates
from apportion.base import Clock, Rng
from apportion.sched.framework import WaitingPods
from apportion.sched.plugins.claim_metrics import ClaimMetrics
from apportion.sched.state import ClusterState


@dataclass(frozen=True, slots=True)
class Handle:
    """Given to every plugin at construction."""

    state: ClusterState
    gates: FeatureGates
    rng: Rng
    clock: Clock
    args: Mapping[str, object] = field(default_factory=dict)
    waiting_pods: WaitingPods | None = None  # those that Permit plugins hold
    profile: str = ""
    claim_metrics: ClaimMetrics = field(default_factory=ClaimMetrics)

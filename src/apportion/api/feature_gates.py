"""Feature gates under their upstream names, with the stage, default and lock that Kubernetes 1.37 gives them.

Source: the versioned gate table of Kubernetes (pkg/features/kube_features.go); only gates that the scheduler,
the claim controller or the API rules of the kinds we read look at.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

from apportion.base import ConfigError


class Gate(NamedTuple):
    """What upstream's table says of one gate; a locked gate cannot leave its default."""

    stage: str
    default: bool
    locked: bool = False


_ON_LOCKED: Final = Gate("GA", True, locked=True)
_GA: Final = Gate("GA", True)
_BETA: Final = Gate("Beta", True)
_BETA_OFF: Final = Gate("Beta", False)
_ALPHA: Final = Gate("Alpha", False)

GATES: Final[Mapping[str, Gate]] = {
    "CompositePodGroup": _ALPHA,
    "DRAAdminAccess": _ON_LOCKED,
    "DRAConsumableCapacity": _BETA,
    "DRADerivedAttributes": _ALPHA,
    "DRADeviceBindingConditions": _BETA,
    "DRADeviceCompatibilityGroups": _ALPHA,
    "DRADeviceTaintRules": _GA,
    "DRADeviceTaints": _GA,
    "DRAExtendedResource": _ON_LOCKED,
    "DRAFractionalCapacityRange": _BETA,  # on because the compatibility version is 1.37
    "DRAListTypeAttributes": _ALPHA,
    "DRANodeAllocatableResources": _ALPHA,
    "DRAOptionalNodeOperations": _ALPHA,
    "DRAPartitionableDevices": _BETA,
    "DRAPartitionableDevicesType": _ALPHA,
    "DRAPrioritizedList": _ON_LOCKED,
    "DRAResourceClaimDeviceStatus": _ON_LOCKED,
    "DRAResourceClaimGranularStatusAuthorization": _BETA,
    "DRAResourcePoolStatus": _ALPHA,
    "DRASchedulerFilterTimeout": _BETA,
    "DRAWorkloadResourceClaims": _BETA_OFF,
    "DynamicResourceAllocation": _ON_LOCKED,
    "GenericWorkload": _BETA_OFF,
    "InPlacePodLevelResourcesVerticalScaling": _BETA,
    "InPlacePodVerticalScaling": _ON_LOCKED,
    "InPlacePodVerticalScalingSchedulerPreemption": _ALPHA,
    "InterPodAffinityHostnameFastPath": _ALPHA,
    "MatchLabelKeysInPodAffinity": _ON_LOCKED,
    "MatchLabelKeysInPodTopologySpread": _BETA,
    "NodeDeclaredFeatures": _ON_LOCKED,
    "NodeInclusionPolicyInPodTopologySpread": _ON_LOCKED,
    "NominatedNodeNameForExpectation": _BETA,
    "OpportunisticBatching": _BETA,
    "PodGroupPreemptionPolicy": _ALPHA,
    "PodLevelResources": _BETA,
    "PodSchedulingReadiness": _ON_LOCKED,
    "ResourceHealthStatus": _BETA,
    "SchedulerAsyncAPICalls": _BETA_OFF,
    "SchedulerAsyncPreemption": _BETA,
    "SchedulerPopFromBackoffQ": _BETA,
    "SchedulerPreQueueingHints": _ALPHA,
    "SchedulerQueueingHints": _ON_LOCKED,
    "StorageCapacityScoring": _BETA,
    "TaintTolerationComparisonOperators": _ALPHA,
    "TopologyAwareWorkloadScheduling": _ALPHA,
    "VolumeAttributesClass": _ON_LOCKED,
    "VolumeLimitScaling": _BETA,
}

# Gates that later releases folded into another one; naming them sets that one.
ABSORBED: Final[Mapping[str, str]] = {
    "GangScheduling": "GenericWorkload",
    "WorkloadAwarePreemption": "GenericWorkload",
}

# A gate counts as off while one that it builds on is off.
REQUIRES: Final[Mapping[str, tuple[str, ...]]] = {
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    "DRADeviceBindingConditions": ("DRAResourceClaimDeviceStatus",),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRAWorkloadResourceClaims": ("GenericWorkload",),
    "TopologyAwareWorkloadScheduling": ("GenericWorkload",),
}

_GROUPS: Final = {"AllAlpha": "Alpha", "AllBeta": "Beta"}
_TRUTH: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


class FeatureGates:
    """Which gates are on; immutable."""

    __slots__ = ("_effective",)

    def __init__(self, settings: Mapping[str, bool] | None = None) -> None:
        """Apply ``settings`` to the defaults; single gates win over AllAlpha and AllBeta.

        Raises ConfigError for an unknown gate (naming near matches) and for a locked one set against its
        default.
        """
        chosen = {name: gate.default for name, gate in GATES.items()}
        settings = {} if settings is None else settings
        for group, stage in _GROUPS.items():
            if group in settings:
                chosen.update({name: settings[group] for name, g in GATES.items() if g.stage == stage})
        for name, value in settings.items():
            if name not in _GROUPS:
                chosen[_get_settable(name, value)] = value
        self._effective = {n: on and all(chosen[r] for r in REQUIRES.get(n, ())) for n, on in chosen.items()}

    @classmethod
    def parse(cls, text: str) -> "FeatureGates":
        """Read ``A=true,B=false`` as the ``--feature-gates`` flag of Kubernetes components takes it.

        Raises ConfigError when an entry is malformed, unknown or locked.
        """
        return cls(dict(_parse_entry(entry) for entry in text.split(",") if entry.strip()))

    def enabled(self, name: str) -> bool:
        """Return whether the gate is on, and all gates that it builds on; raises ConfigError when unknown."""
        try:
            return self._effective[name]
        except KeyError:
            raise _unknown_gate(name) from None

    def as_dict(self) -> dict[str, bool]:
        """Return every known gate with its effective value, sorted by name."""
        return dict(sorted(self._effective.items()))


def _parse_entry(entry: str) -> tuple[str, bool]:
    name, equals, value = (part.strip() for part in entry.partition("="))
    truth = _TRUTH.get(value.lower())
    if not equals or truth is None:
        raise ConfigError(f"feature gate {entry.strip()!r}: write Name=true or Name=false")
    return name, truth


def _get_settable(name: str, value: bool) -> str:
    known = ABSORBED.get(name, name)
    gate = GATES.get(known)
    if gate is None:
        raise _unknown_gate(name)
    if gate.locked and value != gate.default:
        raise ConfigError(
            f"feature gate {name} is locked to {str(gate.default).lower()} since it is {gate.stage}; remove the setting"
        )
    return known


def _unknown_gate(name: str) -> ConfigError:
    near = get_close_matches(name, [*GATES, *ABSORBED, *_GROUPS], n=3, cutoff=0.6)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; see the list of known gates in api/feature_gates.py"
    return ConfigError(f"unknown feature gate {name!r}{hint}")

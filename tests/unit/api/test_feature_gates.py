import pytest

from apportion.api.feature_gates import GATES, FeatureGates
from apportion.base import ConfigError


def test_defaults_are_those_of_1_37() -> None:
    gates = FeatureGates()
    assert gates.enabled("DRAAdminAccess")
    assert gates.enabled("DRAFractionalCapacityRange")
    assert not gates.enabled("DRAListTypeAttributes")
    assert not gates.enabled("GenericWorkload")
    assert set(gates.as_dict()) == set(GATES)


def test_parse_sets_single_gates() -> None:
    gates = FeatureGates.parse("DRAListTypeAttributes=true, DRAConsumableCapacity=false")
    assert gates.enabled("DRAListTypeAttributes")
    assert not gates.enabled("DRAConsumableCapacity")


def test_single_gate_wins_over_its_stage_whatever_the_order() -> None:
    gates = FeatureGates.parse("DRAListTypeAttributes=false,AllAlpha=true,AllBeta=false")
    assert not gates.enabled("DRAListTypeAttributes")
    assert gates.enabled("DRADerivedAttributes")
    assert not gates.enabled("OpportunisticBatching")
    assert gates.enabled("DRADeviceTaints"), "GA gates belong to neither group"


def test_gate_counts_as_off_while_one_it_needs_is_off() -> None:
    assert not FeatureGates.parse("CompositePodGroup=true").enabled("CompositePodGroup")
    on = FeatureGates.parse("CompositePodGroup=true,GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
    assert on.enabled("CompositePodGroup")


def test_absorbed_gate_sets_its_successor() -> None:
    assert FeatureGates.parse("GangScheduling=true").enabled("GenericWorkload")


def test_unknown_gate_is_named_with_near_matches() -> None:
    with pytest.raises(ConfigError, match="unknown feature gate 'DRAAdminAcces'; did you mean DRAAdminAccess"):
        FeatureGates.parse("DRAAdminAcces=true")
    with pytest.raises(ConfigError, match="unknown feature gate 'Zzz'"):
        FeatureGates().enabled("Zzz")


def test_locked_gate_may_be_set_to_its_default_only() -> None:
    assert FeatureGates.parse("DRAAdminAccess=true").enabled("DRAAdminAccess")
    with pytest.raises(ConfigError, match="DRAAdminAccess is locked to true"):
        FeatureGates.parse("DRAAdminAccess=false")


@pytest.mark.parametrize("text", ["DRAAdminAccess", "DRAAdminAccess=maybe", "DRAAdminAccess="])
def test_malformed_entry_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="write Name=true or Name=false"):
        FeatureGates.parse(text)

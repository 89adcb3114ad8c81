from typing import Any

import pytest
from builders import Bench

from apportion.base import ConfigError
from apportion.sched.framework.config import read_config

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def build(**more: Any) -> Bench:
    """Build a scheduler from a configuration."""
    return Bench(read_config({**HEAD, **more}, "config.yaml"))


def profile(**more: Any) -> list[dict[str, Any]]:
    """Return one profile."""
    return [{"schedulerName": "default-scheduler", **more}]


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({"kind": "Other"}, "apiVersion is None"),
        ({**HEAD, "profile": []}, "unknown field `profile`"),
        ({**HEAD, "profiles": [{"plugins": {"scores": {}}}]}, "profiles[0].plugins"),
        ({**HEAD, "profiles": [{}, {}]}, "profiles[0].schedulerName: Required value"),
        ({**HEAD, "profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]}, "Duplicate value"),
        ({**HEAD, "podMaxBackoffSeconds": 0.5}, "podMaxBackoffSeconds"),
        ({**HEAD, "profiles": [{"percentageOfNodesToScore": 101}]}, "not in valid range [0-100]"),
    ],
)
def test_mistakes_are_named_with_file_and_field(tree: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=r"^config\.yaml: ") as caught:
        read_config(tree, "config.yaml")
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"plugins": {"score": {"enabled": [{"name": "Nope"}]}}}, "there is no plugin 'Nope'"),
        (
            {"pluginConfig": [{"name": "NodeAffinity", "args": {"addedAffinities": {}}}]},
            "profiles[0].pluginConfig[0].args.addedAffinities: unknown field",
        ),
        (
            {"pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 101}}]},
            "hardPodAffinityWeight",
        ),
        (
            {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Best"}}}]},
            "scoringStrategy.type",
        ),
    ],
)
def test_plugins_and_arguments_are_checked(more: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(profiles=profile(**more))
    assert text in str(caught.value)


def test_a_specific_point_beats_multi_point_and_enabled_beats_disabled() -> None:
    plugins = {
        "multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 7}]},
        "bind": {"enabled": [{"name": "DefaultBinder"}]},
        "score": {"enabled": [{"name": "ImageLocality", "weight": 3}]},
        "filter": {"disabled": [{"name": "NodeResourcesFit"}], "enabled": [{"name": "NodeName"}]},
    }
    built = build(profiles=profile(plugins=plugins)).scheduler.profiles["default-scheduler"]
    assert [p.name for p in built.filters] == ["NodeName"]
    assert [(p.name, w) for p, w in built.scores] == [("NodeResourcesFit", 7), ("ImageLocality", 3)]


def test_the_default_profile_has_upstreams_order_and_weights() -> None:
    built = build().scheduler.profiles["default-scheduler"]
    weights = {p.name: w for p, w in built.scores}
    assert weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }
    order = [p.name for p in built.filters]
    wanted = ["NodeName", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"]
    assert [name for name in order if name in wanted] == wanted
    assert order.index("PodTopologySpread") < order.index("InterPodAffinity") < order.index("DynamicResources")
    assert order[-1] == "NodeDeclaredFeatures"


def test_two_profiles_share_one_queue() -> None:
    bench = build(profiles=[{"schedulerName": "a"}, {"schedulerName": "b"}])
    assert sorted(bench.scheduler.profiles) == ["a", "b"]

"""Conversion, defaults and admission return new trees, and a second pass finds nothing left to do."""

import copy
from typing import Any

import pytest

from apportion.api.admission import AdmissionContext, admit
from apportion.api.conversion import convert_to_preferred
from apportion.api.defaults import set_defaults
from apportion.api.identity import NameGenerator
from apportion.api.kinds import Tree, find_kind_of
from apportion.base import Rng


def make(api_version: str, kind: str, **parts: Any) -> Tree:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", "labels": {"a": "1"}}, **parts}


TERM = {"topologyKey": "z", "labelSelector": {"matchLabels": {"q": "r"}}, "matchLabelKeys": ["a"]}
REQUEST = {"name": "r", "deviceClassName": "c", "tolerations": [{"key": "k"}]}
TREES = [
    make(
        "v1",
        "Pod",
        spec={
            "hostNetwork": True,
            "containers": [
                {"name": "c", "ports": [{"containerPort": 1}], "resources": {"limits": {"cpu": 1}}},
            ],
            "resources": {"limits": {"memory": "1Gi"}},
            "tolerations": [{"key": "t"}],
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}},
            "topologySpreadConstraints": [{**TERM, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
        },
    ),
    make("v1", "Node", status={"capacity": {"cpu": 1}}),
    make("v1", "Namespace"),
    make("resource.k8s.io/v1beta1", "ResourceClaim", spec={"devices": {"requests": [REQUEST]}}),
    make("resource.k8s.io/v1beta1", "ResourceClaimTemplate", spec={"spec": {"devices": {"requests": [REQUEST]}}}),
    make("resource.k8s.io/v1beta1", "ResourceSlice", spec={"devices": [{"name": "d", "basic": {"capacity": {}}}]}),
]


def run_all(tree: Tree) -> Tree:
    kind = find_kind_of(tree)
    assert kind is not None
    context = AdmissionContext.from_trees([], NameGenerator(Rng(1)), "2026-01-01T00:00:00Z")
    return admit(set_defaults(convert_to_preferred(tree, kind), kind), kind, context)


@pytest.mark.parametrize("tree", TREES, ids=lambda t: t["kind"])
def test_argument_is_left_alone_and_second_pass_changes_nothing(tree: Tree) -> None:
    before = copy.deepcopy(tree)
    once = run_all(tree)
    assert tree == before
    assert once != before
    assert run_all(once) == once

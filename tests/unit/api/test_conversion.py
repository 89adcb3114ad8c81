import pytest

from apportion.api.conversion import convert_to_preferred
from apportion.api.kinds import Tree, find_kind_of
from apportion.base import ValidationError


def convert(tree: Tree) -> Tree:
    kind = find_kind_of(tree)
    assert kind is not None
    return convert_to_preferred(tree, kind)


def claim(version: str, *requests: Tree) -> Tree:
    spec = {"devices": {"requests": list(requests), "constraints": [{"matchAttribute": "d/x"}]}}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "spec": spec}


def test_inline_request_moves_below_exactly() -> None:
    tree = convert(claim("v1beta1", {"name": "r", "deviceClassName": "c", "count": 2, "tolerations": []}))
    assert tree["apiVersion"] == "resource.k8s.io/v1"
    devices = tree["spec"]["devices"]
    assert devices["requests"] == [{"name": "r", "exactly": {"deviceClassName": "c", "count": 2, "tolerations": []}}]
    assert devices["constraints"] == [{"matchAttribute": "d/x"}]


def test_alternatives_stay_where_they_are() -> None:
    request = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "c"}]}
    assert convert(claim("v1beta1", request))["spec"]["devices"]["requests"] == [request]


def test_request_without_anything_becomes_an_empty_exact_one() -> None:
    assert convert(claim("v1beta1", {"name": "r"}))["spec"]["devices"]["requests"] == [{"name": "r", "exactly": {}}]


def test_v1beta2_has_the_shape_of_v1() -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    assert convert(claim("v1beta2", request)) == claim("v1", request)


def test_template_is_converted_too() -> None:
    inner = claim("v1beta1", {"name": "r", "deviceClassName": "c"})["spec"]
    tree = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaimTemplate",
        "spec": {"spec": inner},
    }
    requests = convert(tree)["spec"]["spec"]["devices"]["requests"]
    assert requests == [{"name": "r", "exactly": {"deviceClassName": "c"}}]


def test_basic_device_is_flattened() -> None:
    device = {"name": "d", "basic": {"attributes": {"a": {"int": 1}}, "capacity": {"m": "1Gi", "n": {"value": 2}}}}
    tree = {"apiVersion": "resource.k8s.io/v1alpha3", "kind": "ResourceSlice", "spec": {"devices": [device]}}
    assert convert(tree)["spec"]["devices"] == [
        {
            "name": "d",
            "attributes": {"a": {"int": 1}},
            "capacity": {"m": {"value": "1Gi"}, "n": {"value": 2}},
        }
    ]


def test_taint_rule_loses_selectors_that_are_gone() -> None:
    selector = {"driver": "d", "deviceClassName": "c", "selectors": []}
    tree = {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "DeviceTaintRule",
        "spec": {"deviceSelector": selector},
    }
    assert convert(tree)["spec"] == {"deviceSelector": {"driver": "d"}}


def test_classic_dra_and_unknown_versions_are_named() -> None:
    with pytest.raises(ValidationError, match="v1alpha2 is classic DRA"):
        convert(claim("v1alpha2"))
    with pytest.raises(ValidationError, match="unknown version v7 of ResourceClaim; known are v1, v1beta2"):
        convert(claim("v7"))


def test_workloads_keep_their_version() -> None:
    tree = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob"}
    assert convert(tree) is tree


@pytest.mark.parametrize("spec", [None, 3, {"devices": []}, {"devices": {"requests": "x"}}])
def test_odd_shapes_pass_through_for_validation_to_name(spec: object) -> None:
    tree = {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "spec": spec}
    assert convert(tree)["spec"] == spec

"""Rules that the recorded answers of kube-apiserver do not reach; see
tests/conformance/test_validation_golden.py.
"""

from typing import Any

import pytest

from apportion.api.kinds import Tree
from apportion.api.validation import validate, validate_pod_template


def make(api_version: str, kind: str, name: str = "x", **parts: Any) -> Tree:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **parts}


def fields(tree: Tree) -> list[str]:
    return [e.field for e in validate(tree)]


def problems(tree: Tree) -> list[str]:
    return [str(e) for e in validate(tree)]


def pod(**spec: Any) -> Tree:
    return make("v1", "Pod", spec={"containers": [{"name": "c", "image": "i"}], **spec})


# ---- metadata ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "A"}, "metadata.name"),
        ({"name": "x" * 254}, "metadata.name"),
        ({}, "metadata.name"),
        ({"name": "x", "namespace": "a.b"}, "metadata.namespace"),
        ({"name": "x", "labels": {"a/b/c": "v"}}, "metadata.labels"),
        ({"name": "x", "labels": {"a": "-"}}, "metadata.labels"),
        ({"name": "x", "labels": {"a": 1}}, "metadata.labels[...]"),
        ({"name": "x", "annotations": {"a b": "v"}}, "metadata.annotations"),
        ({"name": "x", "finalizers": ["nodomain"]}, "metadata.finalizers[0]"),
        ({"name": "x", "ownerReferences": [{"kind": "Pod", "name": "p"}]}, "metadata.ownerReferences[0].apiVersion"),
    ],
)
def test_metadata(metadata: Tree, field: str) -> None:
    assert fields({**make("v1", "ConfigMap"), "metadata": metadata})[:1] == [field]


def test_generate_name_will_do() -> None:
    assert fields({**make("v1", "ConfigMap"), "metadata": {"generateName": "x-"}}) == []
    for wrong in ("X-", 5, ["x"]):
        assert fields({**make("v1", "ConfigMap"), "metadata": {"generateName": wrong}}) == ["metadata.generateName"]


def test_only_one_controller() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}
    tree = make("v1", "ConfigMap")
    tree["metadata"]["ownerReferences"] = [owner, {**owner, "name": "q"}]
    assert problems(tree) == [
        'metadata.ownerReferences: Invalid value: ["p","q"]: only one reference can have controller set to true'
    ]


def test_number_of_errors_is_bounded() -> None:
    tree = make("v1", "ConfigMap")
    tree["metadata"]["finalizers"] = [f"bad{i}" for i in range(500)]
    assert len(validate(tree)) == 100


# ---- pods -------------------------------------------------------------------------------------------------


def test_old_nesting_of_claim_sources_is_named() -> None:
    """Source: kubernetes/kubernetes#131877."""
    tree = pod(resourceClaims=[{"name": "g", "source": {"resourceClaimTemplateName": "t"}}])
    first, second = problems(tree)
    assert first == "spec.resourceClaims[0].source: unknown field; write its content one level up"
    assert "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`" in second


def test_type_error_is_the_only_error() -> None:
    assert problems(pod(nodeSelector=["a"])) == ["spec.nodeSelector: Expected object, got array"]


def test_container_claims_must_be_claims_of_the_pod() -> None:
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}}
    tree = make(
        "v1", "Pod", spec={"containers": [container], "resourceClaims": [{"name": "a", "resourceClaimName": "x"}]}
    )
    assert problems(tree) == [
        'spec.containers[0].resources.claims[1]: Not found: "b": '
        "must be one of the names in pod.spec.resourceClaims: a",
        'spec.containers[0].resources.claims[2]: Duplicate value: {"name":"a"}',
    ]


def test_init_containers_share_the_names_of_containers() -> None:
    tree = pod(initContainers=[{"name": "c", "image": "i"}])
    assert problems(tree) == ['spec.initContainers[0].name: Duplicate value: "c"']


def test_hugepages_and_extended_resources_cannot_be_overcommitted() -> None:
    resources = {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "4Mi"}}
    tree = make("v1", "Pod", spec={"containers": [{"name": "c", "image": "i", "resources": resources}]})
    assert problems(tree) == [
        'spec.containers[0].resources.requests: Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi'
    ]


def test_same_spread_constraint_twice() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
    assert fields(pod(topologySpreadConstraints=[constraint, constraint])) == ["spec.topologySpreadConstraints[1]"]


def test_label_keys_need_a_selector_beside_them() -> None:
    term = {"topologyKey": "z", "matchLabelKeys": ["a"]}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    path = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys"
    assert fields(pod(affinity=affinity)) == [path]


def test_pod_template_errors_have_paths_below_the_template() -> None:
    errors = validate_pod_template({"metadata": {"labels": {"a": "b c"}}, "spec": {}}, "spec.template")
    assert [e.field for e in errors] == ["spec.template.metadata.labels", "spec.template.spec.containers"]
    (wrong_type,) = validate_pod_template({"spec": {"containers": {}}}, "spec.template")
    assert wrong_type.field == "spec.template.spec.containers"


# ---- nodes and classes ------------------------------------------------------------------------------------


def test_node_taints_and_amounts() -> None:
    taint = {"key": "k", "effect": "NoSchedule"}
    tree = make(
        "v1",
        "Node",
        spec={"taints": [taint, taint, {"key": "k", "effect": "Sometimes"}]},
        status={"allocatable": {"cpu": "-1", "memory": "lots"}},
    )
    assert fields(tree) == [
        "spec.taints[1]",
        "spec.taints[2].effect",
        "status.allocatable[cpu]",
        "status.allocatable[memory]",
    ]


def test_priority_classes_have_a_ceiling() -> None:
    assert fields(make("scheduling.k8s.io/v1", "PriorityClass", value=1_000_000_001)) == ["value"]
    reserved = make("scheduling.k8s.io/v1", "PriorityClass", "system-mine", value=1)
    assert fields(reserved) == ["metadata.name"]
    critical = make("scheduling.k8s.io/v1", "PriorityClass", "system-cluster-critical", value=2_000_000_000)
    assert fields(critical) == []


def test_runtime_class_amounts_and_additions() -> None:
    tree = make(
        "node.k8s.io/v1",
        "RuntimeClass",
        overhead={"podFixed": {"cpu": "much"}},
        scheduling={"nodeSelector": {"a": "-"}, "tolerations": [{"operator": "Equal"}]},
    )
    assert fields(tree) == ["overhead.podFixed[cpu]", "scheduling.nodeSelector", "scheduling.tolerations[0].operator"]


# ---- claims -----------------------------------------------------------------------------------------------


def claim(status: Tree | None = None, **devices: Any) -> Tree:
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}], **devices}}
    return make("resource.k8s.io/v1", "ResourceClaim", spec=spec, **({"status": status} if status else {}))


RESULT = {"request": "r", "driver": "d.io", "pool": "n1/a", "device": "d0"}
CONSUMER = {"resource": "pods", "name": "p", "uid": "u"}


def allocated(*results: Tree, **status: Any) -> Tree:
    return claim({"allocation": {"devices": {"results": list(results)}}, **status})


def test_allocated_claim() -> None:
    tree = allocated(RESULT, reservedFor=[CONSUMER], devices=[{"driver": "d.io", "pool": "n1/a", "device": "d0"}])
    assert problems(tree) == []


def test_status_must_fit_the_spec_and_itself() -> None:
    wrong = {**RESULT, "request": "q", "pool": "", "shareID": "ABC", "consumedCapacity": {"m": "1"}}
    assert fields(allocated(wrong)) == [
        f"status.allocation.devices.results[0].{name}" for name in ("request", "pool", "shareID")
    ]
    unshared = {**RESULT, "consumedCapacity": {"m": "1"}}
    assert fields(allocated(unshared)) == ["status.allocation.devices.results[0].consumedCapacity"]
    assert fields(allocated(RESULT, reservedFor=[CONSUMER, CONSUMER])) == ["status.reservedFor[1]"]
    assert fields(claim({"reservedFor": [CONSUMER]})) == ["status.reservedFor"]
    assert fields(claim({"devices": [{"driver": "d", "pool": "p", "device": "x"}]})) == ["status.devices[0]"]


def test_consumers_whose_uid_is_still_to_be_filled_in_are_no_duplicates() -> None:
    consumers = [{"resource": "pods", "name": "p"}, {"resource": "pods", "name": "q"}]
    assert fields(allocated(RESULT, reservedFor=consumers)) == []


def test_unknown_fields_of_resource_kinds_are_named_with_their_path() -> None:
    tree = claim(requsts=[])
    tree["spec"]["devices"]["requests"][0]["exactly"]["selector"] = {}
    tree["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    assert fields(tree) == ["spec.devices.requests[0].exactly.selector", "spec.devices.requsts"]


def test_configuration_reaches_known_requests_only_once() -> None:
    opaque = {"driver": "d.io", "parameters": {"a": 1}}
    tree = claim(config=[{"requests": ["r", "r", "q"], "opaque": opaque}, {"opaque": {"driver": "d.io"}}])
    assert fields(tree) == [
        "spec.devices.config[0].requests[1]",
        "spec.devices.config[0].requests[2]",
        "spec.devices.config[1].opaque.parameters",
    ]


def test_cel_is_judged_by_whoever_knows_it() -> None:
    tree = claim()
    tree["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "x"}}]
    path = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    (error,) = validate(tree, lambda expression: f"no {expression}")
    assert str(error) == f'{path}: Invalid value: "x": no x'
    assert validate(tree) == []


# ---- slices -----------------------------------------------------------------------------------------------


def resource_slice(*devices: Tree, **spec: Any) -> Tree:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    whole = {"driver": "d.io", "pool": pool, "nodeName": "n", "devices": list(devices), **spec}
    return make("resource.k8s.io/v1", "ResourceSlice", spec=whole)


def capacity(policy: Tree, value: str = "10") -> Tree:
    return {"name": "d", "allowMultipleAllocations": True, "capacity": {"m": {"value": value, "requestPolicy": policy}}}


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        ({"default": "2", "validRange": {"min": "2", "step": "2", "max": "10"}}, ""),
        ({"default": "2", "validValues": ["1", "2"]}, ""),
        ({"validRange": {"min": "2"}}, "requestPolicy.default: Required value"),
        ({"default": "3", "validRange": {"min": "2", "step": "2"}}, "not a multiple of a given step (2) from 2"),
        ({"default": "2", "validRange": {"min": "2", "max": "11"}}, "max is larger than capacity value: 10"),
        ({"default": "2", "validValues": ["2", "1"]}, "values must be sorted in ascending order"),
        ({"default": "2", "validValues": ["2", "2"]}, 'validValues[1]: Duplicate value: "2"'),
        ({"default": "2", "validValues": ["2", "11"]}, "option is larger than capacity value: 10"),
        ({"default": "11"}, "default is more than capacity value: 10"),
        ({"default": "1", "validValues": ["1"], "validRange": {"min": "1"}}, "but multiple fields are set"),
    ],
)
def test_request_policy(policy: Tree, text: str) -> None:
    found = problems(resource_slice(capacity(policy)))
    assert (found == []) if not text else (len(found) == 1 and text in found[0])


def test_counters_and_extras() -> None:
    uses = {"counterSet": "s", "counters": {"k": {"value": "1"}}}
    assert fields(resource_slice({"name": "d", "consumesCounters": [uses, uses]})) == [
        "spec.devices[0].consumesCounters[1].counterSet"
    ]
    many = [{"name": f"d{i}", "consumesCounters": [uses]} for i in range(65)]
    assert problems(resource_slice(*many)) == ["spec.devices: Too many: 65: must have at most 64 items"]
    plain = [{"name": f"d{i}"} for i in range(65)]
    assert problems(resource_slice(*plain)) == []
    counters = resource_slice(devices=[], sharedCounters=[{"name": "s", "counters": {"k": {"value": "x"}}}])
    assert fields(counters) == ["spec.sharedCounters[0].counters[k].value"]


@pytest.mark.parametrize(("version", "valid"), [("1.2.3", True), ("550.127.08", False), ("1.2.3-rc.1+b", True)])
def test_version_attributes_are_semantic_versions(version: str, valid: bool) -> None:
    """Source: NVIDIA/k8s-nim-operator#638."""
    device = {"name": "d", "attributes": {"v": {"version": version}}}
    assert (fields(resource_slice(device)) == []) is valid


def test_taint_rule_and_class() -> None:
    rule = make(
        "resource.k8s.io/v1",
        "DeviceTaintRule",
        spec={"deviceSelector": {"driver": "D!", "pool": "a//b"}, "taint": {"key": "k", "effect": "None"}},
        status={"conditions": []},
    )
    assert fields(rule) == ["spec.deviceSelector.driver", "spec.deviceSelector.pool"]
    device_class = make("resource.k8s.io/v1", "DeviceClass", spec={"extendedResourceName": "kubernetes.io/x"})
    assert fields(device_class) == ["spec.extendedResourceName"]

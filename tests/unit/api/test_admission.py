from typing import Any

import pytest

from apportion.api.admission import AdmissionContext, admit
from apportion.api.identity import NameGenerator
from apportion.api.kinds import Tree, find_kind_of
from apportion.base import Rng, ValidationError

NOW = "2026-01-01T00:00:00Z"


def run(tree: Tree, *others: Tree) -> Tree:
    context = AdmissionContext.from_trees(others, NameGenerator(Rng(1)), NOW)
    kind = find_kind_of(tree)
    assert kind is not None
    return admit(tree, kind, context)


def pod(*, labels: dict[str, str] | None = None, uid: str = "", **spec: Any) -> Tree:
    metadata: Tree = {"name": "p", "namespace": "n", "labels": labels or {}}
    if uid:
        metadata["uid"] = uid
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [], **spec}}


def priority_class(name: str, value: int, **fields: Any) -> Tree:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


# ---- priority ---------------------------------------------------------------------------------------------


def test_without_classes_priority_is_zero() -> None:
    spec = run(pod())["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec


def test_class_gives_value_and_policy() -> None:
    high = priority_class("high", 1000, preemptionPolicy="Never")
    spec = run(pod(priorityClassName="high"), high)["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")


def test_system_classes_exist_without_input() -> None:
    assert run(pod(priorityClassName="system-node-critical"))["spec"]["priority"] == 2_000_001_000


def test_lowest_global_default_applies_to_pods_without_class() -> None:
    classes = (priority_class("b", 7, globalDefault=True), priority_class("a", 9, globalDefault=True))
    spec = run(pod(), *classes)["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("b", 7)


def test_unknown_class_and_contradicting_value_are_refused() -> None:
    with pytest.raises(ValidationError, match="no PriorityClass with name nosuch was found"):
        run(pod(priorityClassName="nosuch"))
    with pytest.raises(ValidationError, match=r"integer value of priority \(5\) must not be provided .* computed 0"):
        run(pod(priority=5))
    assert run(pod(priority=0))["spec"]["priority"] == 0


def test_pod_from_a_cluster_keeps_its_priority_without_its_class() -> None:
    assert run(pod(uid="u", priorityClassName="gone", priority=77))["spec"]["priority"] == 77


# ---- runtime class ----------------------------------------------------------------------------------------

RUNTIME = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "overhead": {"podFixed": {"cpu": "250m"}},
    "scheduling": {"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
}


def test_runtime_class_brings_overhead_selector_and_tolerations() -> None:
    spec = run(pod(runtimeClassName="kata", nodeSelector={"a": "b"}), RUNTIME)["spec"]
    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"a": "b", "kata": "yes"}
    assert {"key": "kata", "operator": "Exists"} in spec["tolerations"]


def test_overhead_must_be_that_of_the_class() -> None:
    assert run(pod(runtimeClassName="kata", overhead={"cpu": "0.25"}), RUNTIME)
    with pytest.raises(ValidationError, match="Overhead doesn't match"):
        run(pod(runtimeClassName="kata", overhead={"cpu": "1"}), RUNTIME)
    with pytest.raises(ValidationError, match="without corresponding RuntimeClass"):
        run(pod(overhead={"cpu": "1"}))
    with pytest.raises(ValidationError, match='RuntimeClass "nosuch" not found'):
        run(pod(runtimeClassName="nosuch"))
    with pytest.raises(ValidationError, match="conflict"):
        run(pod(runtimeClassName="kata", nodeSelector={"kata": "no"}), RUNTIME)


# ---- tolerations and label keys ---------------------------------------------------------------------------


def test_new_pod_tolerates_lost_nodes_for_five_minutes() -> None:
    tolerations = run(pod())["spec"]["tolerations"]
    assert [(t["key"], t["tolerationSeconds"]) for t in tolerations] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]


def test_own_tolerations_take_precedence() -> None:
    all_of_them = [{"operator": "Exists"}]
    assert run(pod(tolerations=all_of_them))["spec"]["tolerations"] == all_of_them
    other_effect = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}
    assert len(run(pod(tolerations=[other_effect]))["spec"]["tolerations"]) == 3
    assert "tolerations" not in run(pod(uid="u", priority=0))["spec"], "a live pod is as it is"


def spread(**fields: Any) -> Tree:
    return {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", **fields}


def test_match_label_keys_are_written_into_spread_selectors() -> None:
    constraint = spread(labelSelector={"matchLabels": {"app": "a"}}, matchLabelKeys=["hash", "absent"])
    tree = pod(labels={"app": "a", "hash": "h1"}, topologySpreadConstraints=[constraint])
    selector = run(tree)["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert selector == {
        "matchLabels": {"app": "a"},
        "matchExpressions": [{"key": "hash", "operator": "In", "values": ["h1"]}],
    }


def test_mismatch_label_keys_are_written_into_affinity_terms() -> None:
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["b"]}
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]},
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]
        },
    }
    merged = run(pod(labels={"a": "1", "b": "2"}, affinity=affinity))["spec"]["affinity"]
    expected = [
        {"key": "a", "operator": "In", "values": ["1"]},
        {"key": "b", "operator": "NotIn", "values": ["2"]},
    ]
    (required,) = merged["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (preferred,) = merged["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert required["labelSelector"]["matchExpressions"] == expected
    assert preferred["podAffinityTerm"]["labelSelector"]["matchExpressions"] == expected


def test_term_without_selector_stays_without() -> None:
    constraint = spread(matchLabelKeys=["a"])
    tree = run(pod(labels={"a": "1"}, topologySpreadConstraints=[constraint]))
    assert tree["spec"]["topologySpreadConstraints"] == [constraint]


# ---- claims and volumes -----------------------------------------------------------------------------------


def test_admin_access_needs_the_label_on_the_namespace() -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "n"},
        "spec": {"devices": {"requests": [request]}},
    }
    labels = {"resource.kubernetes.io/admin-access": "true"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": labels}}
    assert run(claim, namespace)["metadata"]["uid"]
    with pytest.raises(ValidationError) as caught:
        run(claim)
    assert caught.value.field == "spec.devices.requests[0].adminAccess"


def test_volume_claim_gets_the_newest_default_class() -> None:
    def storage_class(name: str, created: str, default: str) -> Tree:
        annotations = {"storageclass.kubernetes.io/is-default-class": default}
        metadata = {"name": name, "creationTimestamp": created, "annotations": annotations}
        return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata}

    classes = (
        storage_class("old", "2020-01-01T00:00:00Z", "true"),
        storage_class("new", "2024-01-01T00:00:00Z", "true"),
        storage_class("newest", "2025-01-01T00:00:00Z", "false"),
    )
    volume_claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "v", "namespace": "n"},
        "spec": {},
    }
    assert run(volume_claim, *classes)["spec"]["storageClassName"] == "new"
    assert run({**volume_claim, "spec": {"storageClassName": ""}}, *classes)["spec"]["storageClassName"] == ""

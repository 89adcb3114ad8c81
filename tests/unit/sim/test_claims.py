from typing import Any

from apportion.api.admission import AdmissionContext
from apportion.api.identity import NameGenerator, claim_name_prefix
from apportion.api.kinds import Tree
from apportion.base import Rng
from apportion.sim.claims import ClaimedInput, create_claims
from apportion.sim.manifests import SourcedObject

EXACTLY = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
SPEC: Tree = {"devices": {"requests": [{"name": "r", "exactly": EXACTLY}]}}


def run(*trees: Tree) -> ClaimedInput:
    entries = [SourcedObject(t, "f.yaml", i, 0) for i, t in enumerate(trees)]
    return create_claims(entries, AdmissionContext.from_trees(trees, NameGenerator(Rng(1)), "2026-01-01T00:00:00Z"))


def pod(name: str = "p", status: Tree | None = None, **spec: Any) -> Tree:
    claims = [{"name": "g", "resourceClaimTemplateName": "t"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "n", "uid": f"uid-{name}"},
        "spec": {"resourceClaims": claims, **spec},
        "status": status or {"phase": "Pending"},
    }


def template(spec: Tree = SPEC) -> Tree:
    metadata = {"labels": {"team": "x"}, "annotations": {"a": "b"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "n"},
        "spec": {"metadata": metadata, "spec": spec},
    }


def claim(name: str, owner_uid: str | None, annotation: str | None) -> Tree:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}
    if owner_uid is not None:
        owner["uid"] = owner_uid
    annotations = {"resource.kubernetes.io/pod-claim-name": annotation} if annotation else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "n", "annotations": annotations, "ownerReferences": [owner]},
        "spec": SPEC,
    }


def of_kind(result: ClaimedInput, kind: str) -> list[Tree]:
    return [o.tree for o in result.objects if o.tree["kind"] == kind]


def statuses(result: ClaimedInput) -> list[Any]:
    return [p["status"].get("resourceClaimStatuses") for p in of_kind(result, "Pod")]


def test_claim_is_made_like_the_controller_makes_it() -> None:
    result = run(template(), pod())
    (made,) = of_kind(result, "ResourceClaim")
    meta = made["metadata"]
    assert meta["generateName"] == "p-g-"
    assert meta["name"].startswith("p-g-")
    assert meta["labels"] == {"team": "x"}
    assert meta["annotations"] == {"a": "b", "resource.kubernetes.io/pod-claim-name": "g"}
    assert meta["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    ]
    assert meta["uid"]
    assert made["spec"] == SPEC
    assert statuses(result) == [[{"name": "g", "resourceClaimName": meta["name"]}]]


def test_prefix_is_shortened_evenly() -> None:
    assert claim_name_prefix("pod", "gpu") == "pod-gpu-"
    prefix = claim_name_prefix("a" * 80, "b" * 20)
    assert prefix == "a" * 45 + "-" + "b" * 11 + "-"
    assert len(prefix) + 5 <= 63


def test_missing_template_is_left_for_the_scheduler_to_report() -> None:
    result = run(pod())
    assert (of_kind(result, "ResourceClaim"), statuses(result)) == ([], [None])


def test_named_claims_and_finished_pods_need_nothing() -> None:
    named = pod("q", resourceClaims=[{"name": "g", "resourceClaimName": "t"}])
    result = run(template(), named, pod(status={"phase": "Succeeded"}))
    assert (of_kind(result, "ResourceClaim"), statuses(result)) == ([], [None, None])


def test_claim_of_the_dump_is_adopted_by_annotation_or_old_name() -> None:
    assert statuses(run(template(), pod(), claim("x", "uid-p", "g"))) == [[{"name": "g", "resourceClaimName": "x"}]]
    assert statuses(run(template(), pod(), claim("x", None, "g"))) == [[{"name": "g", "resourceClaimName": "x"}]]
    assert statuses(run(template(), pod(), claim("p-g", "uid-p", None))) == [
        [{"name": "g", "resourceClaimName": "p-g"}]
    ]


def test_claim_of_an_earlier_pod_or_another_entry_is_not_adopted() -> None:
    for other in (claim("x", "uid-of-an-earlier-p", "g"), claim("x", "uid-p", "other")):
        ((status,),) = statuses(run(template(), pod(), other))
        assert status["resourceClaimName"] != "x"


def test_recorded_claim_stands_and_a_lost_one_is_made_anew() -> None:
    recorded = {"phase": "Pending", "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "x"}]}
    assert statuses(run(template(), pod(status=recorded), claim("x", "uid-p", "g"))) == [
        [{"name": "g", "resourceClaimName": "x"}]
    ]
    ((status,),) = statuses(run(template(), pod(status=recorded)))
    assert status["resourceClaimName"].startswith("p-g-")
    nothing_needed = {"resourceClaimStatuses": [{"name": "g"}]}
    assert statuses(run(template(), pod(status=nothing_needed))) == [[{"name": "g"}]]


def test_pod_on_a_node_without_its_claim_is_warned_about() -> None:
    recorded = {"phase": "Running", "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "x"}]}
    result = run(template(), pod(status=recorded, nodeName="n1"))
    assert of_kind(result, "ResourceClaim") == []
    assert result.warnings == ["Pod n/p: its claim x is not in the input; the devices it holds are unknown"]


def test_claim_that_admission_refuses_is_listed() -> None:
    spec = {"devices": {"requests": [{"name": "r", "exactly": {**EXACTLY, "adminAccess": True}}]}}
    result = run(template(spec), pod())
    (rejected,) = result.rejected
    assert rejected.object == "ResourceClaim for Pod n/p"
    assert "admin access" in rejected.reason
    assert statuses(result) == [None]

"""resource.k8s.io/v1 from the outside: every verb and every kind of patch for its kinds."""

from typing import Any

import pytest
from api_driver import JSON_PATCH, MERGE, STRATEGIC, Api, Tree, read_watch

from apportion.base import Rng
from apportion.cel import find_expression_problem
from apportion.server import Server

ROOT = "/apis/resource.k8s.io/v1"
REQUESTS = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "any"}}]}}
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
KINDS: dict[str, tuple[str, str, Tree]] = {
    "DeviceClass": (f"{ROOT}/deviceclasses", "spec", {"selectors": [{"cel": {"expression": "true"}}]}),
    "ResourceClaim": (f"{ROOT}/namespaces/default/resourceclaims", "spec", REQUESTS),
    "ResourceClaimTemplate": (f"{ROOT}/namespaces/default/resourceclaimtemplates", "spec", {"spec": REQUESTS}),
    "ResourceSlice": (f"{ROOT}/resourceslices", "spec", {"driver": "d.example.com", "pool": POOL, "allNodes": True}),
}
RESULT = {"request": "r", "driver": "d.example.com", "pool": "p", "device": "d0"}
CLAIM = f"{ROOT}/namespaces/default/resourceclaims/x"


def tree(kind: str, name: str = "x") -> Tree:
    spec = KINDS[kind][2]
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def labels(api: Api, path: str) -> Any:
    return api.get(path)["metadata"].get("labels")


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_made_read_listed_and_deleted(kind: str) -> None:
    api, path = Api(), KINDS[kind][0]
    watch = api.watch(path)
    made = api.create(path, tree(kind))
    assert made["metadata"]["uid"] and api.get(f"{path}/x") == made
    assert [i["metadata"]["name"] for i in api.get(path)["items"]] == ["x"]
    everywhere = path.replace("/namespaces/default", "")
    assert [i["metadata"]["name"] for i in api.get(everywhere)["items"]] == ["x"]
    assert api.call("POST", path, tree(kind))[0] == 409
    assert api.call("DELETE", f"{path}/x")[0] == 200 and api.call("GET", f"{path}/x")[0] == 404
    assert read_watch(watch) == [("ADDED", "x"), ("DELETED", "x")]


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_a_label_are_deleted_at_once(kind: str) -> None:
    api, path = Api(), KINDS[kind][0]
    for name in ("a", "b", "c"):
        made = tree(kind, name)
        made["metadata"]["labels"] = {"go": "no" if name == "b" else "yes"}
        api.create(path, made)
    assert api.call("DELETE", f"{path}?labelSelector=go%3Dyes")[0] == 200
    assert [i["metadata"]["name"] for i in api.get(path)["items"]] == ["b"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        (MERGE, {"metadata": {"labels": {"a": "b"}}}),
        (STRATEGIC, {"metadata": {"labels": {"a": "b"}}}),
        (JSON_PATCH, [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]),
    ],
)
def test_it_is_patched_in_every_way(kind: str, content_type: str, patch: Any) -> None:
    api, path = Api(), KINDS[kind][0]
    made = api.create(path, tree(kind))
    code, answer = api.call("PATCH", f"{path}/x", patch, content_type)
    assert code == 200, answer
    assert labels(api, f"{path}/x") == {"a": "b"} and answer["spec"] == made["spec"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_update_needs_the_version_that_was_read(kind: str) -> None:
    api, path = Api(), KINDS[kind][0]
    made = api.create(path, tree(kind))
    newer = {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}}
    assert api.call("PUT", f"{path}/x", newer)[0] == 200 and labels(api, f"{path}/x") == {"a": "b"}
    assert api.call("PUT", f"{path}/x", newer)[0] == 409


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_what_is_asked_for_stays(kind: str) -> None:
    api, path = Api(), KINDS[kind][0]
    made = api.create(path, tree(kind))
    asked = {"devices": {"requests": [{"name": "other", "exactly": {"deviceClassName": "any"}}]}}
    changed = {**made, "spec": asked if kind == "ResourceClaim" else {"spec": asked}}
    code, answer = api.call("PUT", f"{path}/x", changed)
    assert code == 422 and "immutable" in answer["message"]


@pytest.mark.parametrize("allocation", [{}, {"devices": {"results": [RESULT]}}])
def test_a_claim_is_allocated_and_freed_through_its_status(allocation: Tree) -> None:
    api = Api()
    api.create(KINDS["ResourceClaim"][0], tree("ResourceClaim"))
    status = {"status": {"allocation": allocation}}
    code, answer = api.call("PATCH", f"{CLAIM}/status", status, MERGE)
    assert code == 200 and answer["status"]["allocation"] == allocation
    assert api.get(f"{CLAIM}/status")["status"]["allocation"] == allocation
    code, answer = api.call("PATCH", CLAIM, {"status": {"allocation": None}}, MERGE)
    assert code == 200 and answer["status"]["allocation"] == allocation  # another door
    code, answer = api.call("PATCH", f"{CLAIM}/status", {"status": {"allocation": None}}, MERGE)
    assert code == 200 and not answer.get("status", {}).get("allocation")


def test_consumers_come_and_go_one_by_one() -> None:
    api = Api()
    api.create(KINDS["ResourceClaim"][0], tree("ResourceClaim"))
    users = [{"resource": "pods", "name": n, "uid": f"u-{n}"} for n in "abc"]
    api.call("PATCH", f"{CLAIM}/status", {"status": {"allocation": {}, "reservedFor": users[:1]}}, MERGE)
    for user in users[1:]:
        assert api.call("PATCH", f"{CLAIM}/status", {"status": {"reservedFor": [user]}}, STRATEGIC)[0] == 200
    gone = {"status": {"reservedFor": [{"$patch": "delete", "uid": "u-b"}]}}
    code, answer = api.call("PATCH", f"{CLAIM}/status", gone, STRATEGIC)
    left = sorted(answer["status"]["reservedFor"], key=lambda u: str(u["name"]))
    assert code == 200 and left == [users[0], users[2]]


def test_a_class_may_change_and_a_selector_that_is_wrong_is_refused() -> None:
    api, path = Api(), KINDS["DeviceClass"][0]
    api.server = Server(api.store, api.clock, Rng(1), find_expression_problem)
    api.create(path, tree("DeviceClass"))
    wrong = {"spec": {"selectors": [{"cel": {"expression": "nonsense("}}]}}
    assert api.call("PATCH", f"{path}/x", wrong, MERGE)[0] == 422
    right = {"spec": {"selectors": [{"cel": {"expression": "1 == 1"}}]}}
    assert api.call("PATCH", f"{path}/x", right, MERGE)[0] == 200


def test_old_versions_show_the_same_objects() -> None:
    api = Api()
    for kind, (path, _, _) in KINDS.items():
        api.create(path, tree(kind))
        for version in ("v1beta1", "v1beta2"):
            seen = api.get(f"{path}/x".replace("/v1/", f"/{version}/"))
            assert seen["apiVersion"] == f"resource.k8s.io/{version}" and seen["metadata"]["name"] == "x"

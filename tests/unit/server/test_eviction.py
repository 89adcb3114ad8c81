"""Evictions: a deletion, unless a budget says no; and the doors that only a kubelet could open."""

from typing import Any

import pytest

from unit.server.api_driver import MERGE, PODS, Api, pod

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def run(api: Api, name: str, ready: bool = True) -> None:
    """Make a pod that runs."""
    tree = pod(name)
    tree["metadata"]["labels"] = {"app": "web"}
    tree["spec"]["nodeName"] = "n1"
    api.create(PODS, tree)
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    status = {"status": {"phase": "Running", "conditions": [condition]}}
    assert api.call("PATCH", f"{PODS}/{name}/status", status, MERGE)[0] == 200


def protect(api: Api, name: str = "b", observed: int = 1, **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    api.create(
        BUDGETS, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
    )
    given = {"status": {"observedGeneration": observed, **status}}
    assert api.call("PATCH", f"{BUDGETS}/{name}/status", given, MERGE)[0] == 200


def evict(api: Api, name: str, **options: Any) -> tuple[int, Any]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options}
    return api.call("POST", f"{PODS}/{name}/eviction", body)


def test_without_a_budget_an_eviction_is_a_deletion_with_a_reason() -> None:
    api = Api()
    run(api, "p")
    assert evict(api, "p") == (
        201,
        {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201},
    )
    left = api.get(f"{PODS}/p")
    assert left["metadata"]["deletionTimestamp"]
    assert [c["reason"] for c in left["status"]["conditions"] if c["type"] == "DisruptionTarget"] == [
        "EvictionByEvictionAPI"
    ]
    assert evict(api, "missing")[0] == 404


def test_a_budget_is_used_up() -> None:
    api = Api()
    for name in ("p", "q"):
        run(api, name)
    protect(api, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1)
    assert evict(api, "p", dryRun=["All"])[0] == 201
    assert api.get(f"{BUDGETS}/b")["status"]["disruptionsAllowed"] == 1
    assert evict(api, "p")[0] == 201
    status = api.get(f"{BUDGETS}/b")["status"]
    assert status["disruptionsAllowed"] == 0 and list(status["disruptedPods"]) == ["p"]
    code, answer = evict(api, "q")
    assert (code, answer["reason"]) == (429, "TooManyRequests")
    assert (
        answer["details"]["causes"][0]["message"] == "The disruption budget b needs 1 healthy pods and has 2 currently"
    )
    assert "deletionTimestamp" not in api.get(f"{PODS}/q")["metadata"]


def test_a_budget_that_nobody_has_looked_at_yet_makes_the_client_wait() -> None:
    api = Api()
    run(api, "p")
    protect(api, observed=0)
    code, answer = evict(api, "p")
    assert (code, answer["details"]["retryAfterSeconds"]) == (429, 10)


def test_a_budget_does_not_hold_pods_that_serve_nobody() -> None:
    api = Api()
    run(api, "unready", ready=False)
    waiting = pod("waiting")
    waiting["metadata"]["labels"] = {"app": "web"}
    api.create(PODS, waiting)
    protect(api, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    assert evict(api, "unready")[0] == 201
    assert evict(api, "waiting")[0] == 201


def test_two_budgets_are_one_too_many() -> None:
    api = Api()
    run(api, "p")
    protect(api, "a", disruptionsAllowed=1)
    protect(api, "b", disruptionsAllowed=1)
    code, answer = evict(api, "p")
    assert code == 500 and "more than one PodDisruptionBudget" in answer["message"]


def test_the_preconditions_of_an_eviction_count() -> None:
    api = Api()
    run(api, "p")
    before = api.get(f"{PODS}/p")
    assert evict(api, "p", preconditions={"uid": "other"})[0] == 409
    assert api.get(f"{PODS}/p") == before
    version = before["metadata"]["resourceVersion"]
    assert evict(api, "p", preconditions={"resourceVersion": version})[0] == 201
    body = {"metadata": {"name": "q"}}
    assert api.call("POST", f"{PODS}/p/eviction", body)[0] == 400


@pytest.mark.parametrize("door", ["log", "exec", "attach", "portforward", "proxy"])
def test_what_only_a_kubelet_can_answer_is_refused_with_the_reason(door: str) -> None:
    api = Api()
    api.create(PODS, pod("unbound"))
    run(api, "bound")
    code, answer = api.call("GET", f"{PODS}/unbound/{door}")
    assert (code, answer["message"]) == (400, "pod unbound does not have a host assigned")
    code, answer = api.call("GET", f"{PODS}/bound/{door}")
    assert code == 501 and 'there is no kubelet on node "n1"' in answer["message"]
    assert api.call("GET", f"{PODS}/missing/{door}")[0] == 404

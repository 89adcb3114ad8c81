from typing import Any

import orjson
import pytest

from apportion.server import ApiRequest
from unit.controllers.workload_rig import APPS, PODS, Rig

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
Tree = dict[str, Any]


def make_budget(rig: Rig, **spec: Any) -> None:
    spec = {"selector": {"matchLabels": {"app": "a"}}, **spec}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    rig.call("POST", BUDGETS, {**head, "spec": spec})


def make_deployment(rig: Rig, replicas: int) -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "a"}}, "template": template}
    rig.call(
        "POST",
        f"{APPS}/deployments",
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec},
    )


def evict(rig: Rig, name: str) -> int:
    body = orjson.dumps({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
    return rig.server.handle(ApiRequest("POST", f"{PODS}/{name}/eviction", body=body)).code


def read(rig: Rig) -> tuple[int, int, int, int]:
    rig.settle()
    status = rig.get(f"{BUDGETS}/b")["status"]
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    expected, wanted, healthy, allowed = (status[n] for n in names)
    return expected, wanted, healthy, allowed


@pytest.mark.parametrize(
    ("spec", "counts"),
    [
        ({"minAvailable": 2}, (4, 2, 4, 2)),
        ({"minAvailable": "60%"}, (4, 3, 4, 1)),
        ({"maxUnavailable": 1}, (4, 3, 4, 1)),
        ({"maxUnavailable": "30%"}, (4, 2, 4, 2)),
        ({"minAvailable": 5}, (4, 5, 4, 0)),
        ({"maxUnavailable": "100%"}, (4, 0, 4, 4)),
    ],
)
def test_a_budget_counts_the_healthy_pods_of_a_deployment(spec: Tree, counts: tuple[int, ...]) -> None:
    rig = Rig()
    rig.run_pods()
    make_deployment(rig, 4)
    make_budget(rig, **spec)
    assert read(rig) == counts
    status = rig.get(f"{BUDGETS}/b")["status"]
    assert status["observedGeneration"] == 1
    assert status["conditions"][0]["reason"] == ("SufficientPods" if counts[3] else "InsufficientPods")


def test_an_eviction_uses_a_budget_up_and_a_new_pod_fills_it() -> None:
    rig = Rig()
    rig.run_pods()
    make_deployment(rig, 2)
    make_budget(rig, maxUnavailable=1)
    assert read(rig) == (2, 1, 2, 1)
    first, second = (p["metadata"]["name"] for p in rig.items(PODS))
    assert evict(rig, first) == 201
    assert evict(rig, second) == 429
    assert read(rig) == (2, 1, 2, 1)
    assert "disruptedPods" not in rig.get(f"{BUDGETS}/b")["status"]


def test_pods_without_a_known_controller_cannot_be_counted_in_shares() -> None:
    rig = Rig()
    rig.run_pods()
    owner = {"apiVersion": "x.io/v1", "kind": "X", "name": "x", "uid": "u", "controller": True}
    rig.call(
        "POST",
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "labels": {"app": "a"}, "ownerReferences": [owner]},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )
    make_budget(rig, minAvailable="50%")
    assert read(rig)[3] == 0
    condition = rig.get(f"{BUDGETS}/b")["status"]["conditions"][0]
    assert (condition["reason"], condition["message"]) == ("SyncFailed", 'found no controllers for pod "p"')


def test_a_pod_that_was_evicted_and_stays_counts_again_after_a_while() -> None:
    rig = Rig()
    rig.run_pods()
    make_deployment(rig, 2)
    make_budget(rig, minAvailable=1)
    assert read(rig) == (2, 1, 2, 1)
    name = rig.items(PODS)[0]["metadata"]["name"]
    now = rig.get(f"{PODS}/{name}")["metadata"]["creationTimestamp"]
    rig.patch(f"{BUDGETS}/b/status", {"status": {"disruptedPods": {name: now}}})
    assert read(rig) == (2, 1, 1, 0)
    rig.run(121)
    assert read(rig) == (2, 1, 2, 1)

"""Resizing a pod in place: what the door lets through, and what it refuses."""

from typing import Any

import pytest

from unit.server.api_driver import PODS, STRATEGIC, Api, Tree, pod

DOOR = f"{PODS}/p/resize"


def resources(cpu: str = "100m", memory: str = "64Mi", limits: Any = None) -> Tree:
    return {"requests": {"cpu": cpu, "memory": memory}, **({"limits": limits} if limits else {})}


def make(api: Api, status: Tree | None = None, **spec: Any) -> Tree:
    container = {"name": "c", "image": "img", "resources": resources()}
    made = api.create(PODS, pod("p", **{"containers": [container], **spec}))
    if status is not None:
        assert api.call("PATCH", f"{PODS}/p/status", {"status": status}, STRATEGIC)[0] == 200
    return made


def resize(api: Api, **container: Any) -> tuple[int, Any]:
    return api.call("PATCH", DOOR, {"spec": {"containers": [{"name": "c", **container}]}}, STRATEGIC)


def test_amounts_change_and_nothing_else_does() -> None:
    api = Api()
    before = make(api)
    code, after = resize(api, image="another", resources=resources("200m", "32Mi"))
    assert code == 200
    assert after["spec"]["containers"][0]["resources"] == resources("200m", "32Mi")
    assert after["spec"]["containers"][0]["image"] == "img"
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert api.get(DOOR) == after == api.get(f"{PODS}/p")


def test_a_whole_pod_may_be_put() -> None:
    api = Api()
    tree = make(api)
    tree["spec"]["containers"][0]["resources"] = resources("1", "64Mi")
    tree["metadata"]["labels"] = {"a": "b"}
    code, after = api.call("PUT", DOOR, tree)
    assert (code, after["spec"]["containers"][0]["resources"]["requests"]["cpu"]) == (200, "1")
    assert "labels" not in after["metadata"]


def test_the_front_door_stays_shut() -> None:
    api = Api()
    tree = make(api)
    tree["spec"]["containers"][0]["resources"] = resources("200m")
    code, answer = api.call("PUT", f"{PODS}/p", tree)
    assert (code, answer["reason"]) == (422, "Invalid")


@pytest.mark.parametrize(
    ("change", "field", "why"),
    [
        (resources(limits={"cpu": "100m", "memory": "64Mi"}), "spec", "Pod QOS Class may not change"),
        ({"requests": {"cpu": "1", "memory": None}}, "spec.containers[0].resources.requests", "cannot be removed"),
        ({"requests": {"example.com/gpu": "1"}}, "spec", "only cpu and memory resources are mutable"),
    ],
)
def test_what_is_refused(change: Tree, field: str, why: str) -> None:
    api = Api()
    make(api)
    code, answer = resize(api, resources=change)
    assert code == 422
    causes = answer["details"]["causes"]
    assert [c for c in causes if c["field"] == field and why in c["message"]], causes


def test_containers_keep_their_names_and_their_number() -> None:
    api = Api()
    tree = make(api)
    tree["spec"]["containers"][0]["name"] = "d"
    code, answer = api.call("PUT", DOOR, tree)
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "spec.containers[0].name")
    tree["spec"]["containers"].append(tree["spec"]["containers"][0])
    code, answer = api.call("PUT", DOOR, tree)
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "spec.containers")


def test_an_init_container_that_ends_keeps_what_it_has() -> None:
    api = Api()
    make(api, initContainers=[{"name": "i", "image": "img", "resources": resources()}])
    patch = {"spec": {"initContainers": [{"name": "i", "resources": resources("200m")}]}}
    code, answer = api.call("PATCH", DOOR, patch, STRATEGIC)
    assert code == 422
    assert "non-sidecar init containers are immutable" in answer["message"]


@pytest.mark.parametrize(("says", "code"), [({}, 422), ({"resources": resources()}, 200)])
def test_a_running_container_can_be_resized_where_the_kubelet_says_what_it_has(says: Tree, code: int) -> None:
    api = Api()
    state = {"name": "c", "image": "img", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
    make(api, {"phase": "Running", "containerStatuses": [{**state, **says}]}, nodeName="n1")
    assert resize(api, resources=resources("200m"))[0] == code


def test_mirrors_and_windows_pods_stay_as_they_are() -> None:
    api = Api()
    make(api, os={"name": "windows"})
    code, answer = resize(api, resources=resources("200m"))
    assert (code, "windows pods cannot be resized" in answer["message"]) == (422, True)
    api = Api()
    tree = pod("p", containers=[{"name": "c", "image": "img", "resources": resources()}])
    tree["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    api.create(PODS, tree)
    code, answer = resize(api, resources=resources("200m"))
    assert (code, "static pods cannot be resized" in answer["message"]) == (422, True)

"""What the server decides about objects, whatever the client wrote."""

from typing import Any

import orjson
import pytest

from apportion.server import ApiRequest
from unit.server.api_driver import MERGE, PODS, Api, pod

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
Tree = dict[str, Any]


def device_slice(**device: Any) -> Tree:
    spec = {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "d", **device}],
    }
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def pod_group(**spec: Any) -> Tree:
    given = {"schedulingPolicy": {"gang": {"minCount": 2}}, **spec}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": given}


def warnings(api: Api, method: str, path: str, body: Any = None) -> list[str]:
    path, _, query = path.partition("?")
    raw = b"" if body is None else orjson.dumps(body)
    response = api.server.handle(ApiRequest(method, path, query, raw, "application/json", "application/json"))
    return [value for name, value in response.headers if name == "Warning"]


def test_a_version_that_will_go_says_so_in_every_answer() -> None:
    api = Api()
    text = '299 - "scheduling.k8s.io/v1beta1 PodGroup is deprecated in v1.40+, unavailable in v1.43+"'
    assert warnings(api, "POST", GROUPS, pod_group()) == [text]
    assert warnings(api, "GET", GROUPS) == [text]
    assert warnings(api, "GET", f"{GROUPS}/missing") == [text]
    assert api.watch(GROUPS).headers == (("Warning", text),)
    assert warnings(api, "GET", SLICES) == [] == warnings(api, "GET", PODS)


def test_an_error_still_tells_the_warnings_before_it() -> None:
    api = Api()
    tree = {**pod("p"), "nonsense": 1}
    assert (
        warnings(api, "POST", PODS, tree)
        == warnings(api, "POST", PODS, tree)
        == ['299 - "unknown field \\"nonsense\\""']
    )


def test_a_device_taint_keeps_the_time_it_was_added() -> None:
    api = Api()
    taint = {"key": "k", "effect": "NoSchedule"}
    made = api.create(SLICES, device_slice(taints=[taint]))
    added = made["spec"]["devices"][0]["taints"][0]["timeAdded"]
    api.clock.advance_to(api.clock.now() + 60)
    api.call("PATCH", f"{SLICES}/s", {"metadata": {"labels": {"a": "b"}}}, MERGE)
    kept = api.get(f"{SLICES}/s")["spec"]["devices"][0]["taints"][0]
    assert kept == {**taint, "timeAdded": added}


def test_a_pod_is_completed_to_the_last_corner() -> None:
    tree = pod("p")
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    amount = {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "c"}}
    tree["spec"]["containers"] = [
        {
            "name": "c",
            "image": "i",
            "env": [{"name": "A", "valueFrom": field}, {"name": "B", "valueFrom": amount}],
            "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
            "readinessProbe": {"grpc": {"port": 1}},
        }
    ]
    token = {"serviceAccountToken": {"path": "t"}}
    items = [{"path": "n", **field}]
    tree["spec"]["volumes"] = [
        {"name": "v", "projected": {"sources": [token, {"downwardAPI": {"items": items}}]}},
        {"name": "w", "downwardAPI": {"items": items}},
        {"name": "x"},
    ]
    tree["spec"]["serviceAccount"] = "robot"
    spec = Api().create(PODS, tree)["spec"]
    (container,) = spec["containers"]
    full = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    assert container["env"][0]["valueFrom"] == full
    assert container["env"][1]["valueFrom"]["resourceFieldRef"]["divisor"] == "0"
    assert container["lifecycle"]["preStop"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}
    assert container["readinessProbe"]["grpc"] == {"port": 1, "service": ""}
    projected, downward, empty = spec["volumes"]
    sources = projected["projected"]["sources"]
    assert sources[0]["serviceAccountToken"] == {"path": "t", "expirationSeconds": 3600}
    assert sources[1]["downwardAPI"]["items"] == downward["downwardAPI"]["items"] == [{"path": "n", **full}]
    assert empty["emptyDir"] == {}
    assert spec["serviceAccountName"] == "robot"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"driver": "other.example.com"}, "spec.driver"),
        ({"nodeName": "m"}, "spec.nodeName"),
        ({"pool": {"name": "q"}}, "spec.pool.name"),
    ],
)
def test_a_slice_stays_where_it_is(change: Tree, field: str) -> None:
    api = Api()
    api.create(SLICES, device_slice())
    code, answer = api.call("PATCH", f"{SLICES}/s", {"spec": change}, MERGE)
    assert code == 422 and [c["field"] for c in answer["details"]["causes"]] == [field]
    assert api.call("PATCH", f"{SLICES}/s", {"spec": {"pool": {"generation": 2}}}, MERGE)[0] == 200


def test_a_pod_group_has_the_priority_of_its_class() -> None:
    api = Api()
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}}
    api.create(classes, {**head, "value": 7})
    made = api.create(GROUPS, pod_group(priorityClassName="high"))
    assert (made["spec"]["priority"], made["spec"]["disruptionMode"]) == (7, {"single": {}})
    code, answer = api.call("POST", GROUPS, pod_group(priorityClassName="missing"))
    assert code == 403 and "no PriorityClass with name missing was found" in answer["message"]

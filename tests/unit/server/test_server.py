"""What clients rely on beyond the recorded conversations."""

import orjson
import pytest

from apportion.server import ApiRequest
from apportion.server.bootstrap import create_system_objects
from apportion.store import MemoryStore
from unit.server.api_driver import JSON_PATCH, MAPS, MERGE, PODS, STRATEGIC, Api, config_map, pod


def test_a_new_cluster_has_its_namespaces_and_priority_classes() -> None:
    api = Api()
    names = [o["metadata"]["name"] for o in api.get("/api/v1/namespaces")["items"]]
    assert {"default", "kube-system"} <= set(names)
    classes = api.get("/apis/scheduling.k8s.io/v1/priorityclasses")["items"]
    assert {c["metadata"]["name"]: c["value"] for c in classes} == {
        "system-cluster-critical": 2000000000,
        "system-node-critical": 2000001000,
    }


def test_a_restart_keeps_the_system_objects_as_they_are() -> None:
    store = MemoryStore()
    api = Api(store)
    before = store.revision
    create_system_objects(api.server._objects)
    assert (store.revision, Api(store).store.revision) == (before, before)


def test_the_answer_says_which_revision_it_waits_for() -> None:
    api = Api()
    response = api.server.handle(ApiRequest("POST", MAPS, "", orjson.dumps(config_map("a")), "application/json"))
    assert response.revision == api.store.revision == int(orjson.loads(response.body)["metadata"]["resourceVersion"])


def test_an_object_that_comes_again_has_another_uid() -> None:
    api = Api()
    first = api.create(MAPS, config_map("a"))["metadata"]["uid"]
    assert api.call("DELETE", f"{MAPS}/a")[0] == 200
    assert api.create(MAPS, config_map("a"))["metadata"]["uid"] != first


def test_generated_names_differ_and_depend_on_the_seed() -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "g-"}}

    def names(seed: int) -> list[str]:
        api = Api(seed=seed)
        return [api.create(MAPS, tree)["metadata"]["name"] for _ in range(5)]

    assert len(set(names(1))) == 5
    assert names(1) == names(1) != names(2)


def test_only_one_of_two_writers_with_the_same_version_wins() -> None:
    api = Api()
    version = api.create(MAPS, config_map("a"))["metadata"]["resourceVersion"]
    tree = config_map("a", k="1")
    tree["metadata"]["resourceVersion"] = version
    assert api.call("PUT", f"{MAPS}/a", tree)[0] == 200
    before = api.get(f"{MAPS}/a")
    code, status = api.call("PUT", f"{MAPS}/a", {**tree, "data": {"k": "2"}})
    assert (code, status["reason"]) == (409, "Conflict")
    assert api.get(f"{MAPS}/a") == before


def test_status_and_spec_are_separate_doors() -> None:
    api = Api()
    api.create(PODS, pod("p"))
    code, answer = api.call(
        "PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}, "spec": {"activeDeadlineSeconds": 5}}, MERGE
    )
    assert (code, answer["status"]["phase"]) == (200, "Running")
    assert "activeDeadlineSeconds" not in answer["spec"]
    code, answer = api.call("PATCH", f"{PODS}/p", {"status": {"phase": "Failed"}}, MERGE)
    assert (code, answer["status"]["phase"]) == (200, "Running")


def test_a_new_node_is_not_ready_whatever_it_says() -> None:
    api = Api()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": {"cpu": "1"}}}
    made = api.create("/api/v1/nodes", node)
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    assert made["status"]["allocatable"] == {"cpu": "1"}
    code, patched = api.call("PATCH", "/api/v1/nodes/n", {"spec": {"taints": None}}, MERGE)
    assert (code, patched["spec"]) == (200, {})


def test_a_pod_with_finalizers_goes_with_the_last_of_them() -> None:
    api = Api()
    tree = pod("p")
    tree["metadata"]["finalizers"] = ["a.io/x"]
    api.create(PODS, tree)
    code, answer = api.call("DELETE", f"{PODS}/p")
    assert (code, answer["metadata"]["deletionGracePeriodSeconds"]) == (200, 0)
    assert api.call("PATCH", f"{PODS}/p", {"metadata": {"finalizers": None}}, MERGE)[0] == 200
    assert api.call("GET", f"{PODS}/p")[0] == 404


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_propagation_is_left_to_whoever_collects(policy: str, finalizer: str) -> None:
    api = Api()
    api.create(MAPS, config_map("a"))
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}
    code, answer = api.call("DELETE", f"{MAPS}/a", body)
    assert (code, answer["metadata"]["finalizers"]) == (200, [finalizer])
    assert api.get(f"{MAPS}/a")["metadata"]["deletionTimestamp"]


@pytest.mark.parametrize("precondition", [{"uid": "other"}, {"resourceVersion": "1"}])
def test_a_delete_precondition_that_fails_changes_nothing(precondition: dict[str, str]) -> None:
    api = Api()
    api.create(MAPS, config_map("a"))
    before = api.store.revision
    assert api.call("DELETE", f"{MAPS}/a", {"preconditions": precondition})[0] == 409
    assert api.store.revision == before


def test_a_namespace_goes_when_its_finalizer_was_taken() -> None:
    api = Api()
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})
    api.call("DELETE", "/api/v1/namespaces/n")
    tree = api.get("/api/v1/namespaces/n")
    assert (tree["status"]["phase"], tree["spec"]) == ("Terminating", {"finalizers": ["kubernetes"]})
    assert api.call("PUT", "/api/v1/namespaces/n/finalize", {**tree, "spec": {}})[0] == 200
    assert api.call("GET", "/api/v1/namespaces/n")[0] == 404


def test_a_binding_must_mean_this_pod_in_this_state() -> None:
    api = Api()
    made = api.create(PODS, pod("p", schedulingGates=[{"name": "g"}]))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n"},
    }
    assert "schedulingGates" in api.call("POST", f"{PODS}/p/binding", binding)[1]["message"]
    assert api.call("PATCH", f"{PODS}/p", {"spec": {"schedulingGates": None}}, MERGE)[0] == 200
    stale = {**binding, "metadata": {"name": "p", "resourceVersion": made["metadata"]["resourceVersion"]}}
    assert api.call("POST", f"{PODS}/p/binding", stale)[0] == 409
    assert api.call("POST", f"{PODS}/p/binding", binding)[0] == 201
    assert api.get(f"{PODS}/p")["spec"]["nodeName"] == "n"


def test_a_dry_run_changes_nothing() -> None:
    api = Api()
    api.create(MAPS, config_map("a"))
    before = api.store.revision
    assert api.call("POST", f"{MAPS}?dryRun=All", config_map("b"))[0] == 201
    assert api.call("POST", f"{MAPS}?dryRun=All", config_map("a"))[0] == 409
    assert api.call("PATCH", f"{MAPS}/a?dryRun=All", {"data": {"k": "v"}}, MERGE)[1]["data"] == {"k": "v"}
    assert api.call("DELETE", f"{MAPS}/a?dryRun=All")[0] == 200
    assert api.store.revision == before


def test_what_no_client_should_send_is_answered_and_changes_nothing() -> None:
    api = Api()
    before = api.store.revision
    deep: object = {}
    for _ in range(150):
        deep = {"a": deep}
    bomb = b"a: &a [x]\nb: [*a, *a]\n"
    huge = b'{"data": "' + b"x" * (3 * 1024 * 1024) + b'"}'
    assert api.call("POST", MAPS, {**config_map("a"), "data": deep})[0] == 400
    assert api.call("POST", MAPS, bomb, "application/yaml")[0] == 400
    assert api.call("POST", MAPS, huge)[0] == 413
    assert api.call("GET", "/api/v1/namespaces/default%2F..%2Fkube-system/configmaps/x")[0] == 400
    assert api.call("GET", "/api/v1/namespaces/n/nodes")[0] == 404
    assert api.call("PATCH", f"{MAPS}/a", [{"op": "add", "path": "/x", "value": 1}] * 10_001, JSON_PATCH)[0] == 404
    assert api.call("GET", f"{MAPS}?limit=1&labelSelector={'a,' * 200}a")[0] == 400
    assert api.store.revision == before


def test_old_versions_of_a_claim_are_converted_both_ways() -> None:
    api = Api()
    old, new = (f"/apis/resource.k8s.io/{v}/namespaces/default/resourceclaims" for v in ("v1beta1", "v1"))
    claim = {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}},
    }
    request = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    assert api.create(old, claim)["spec"]["devices"]["requests"] == [{"name": "r", **request}]
    assert api.get(f"{new}/c")["spec"]["devices"]["requests"] == [{"name": "r", "exactly": request}]
    assert api.get(f"{old}/c")["apiVersion"] == "resource.k8s.io/v1beta1"


def test_ports_are_merged_by_number_alone() -> None:
    api = Api()
    path = "/api/v1/namespaces/default/services"
    ports = [{"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"}]
    api.create(path, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dns"}, "spec": {"ports": ports}})
    _, answer = api.call("PATCH", f"{path}/dns", {"spec": {"ports": [{"port": 53, "targetPort": 5}]}}, STRATEGIC)
    assert [(p["name"], p["targetPort"]) for p in answer["spec"]["ports"]] == [("t", 5), ("u", 53)]


def test_services_get_different_addresses() -> None:
    ports = [{"port": 80}]
    api = Api()
    path = "/api/v1/namespaces/default/services"
    made = [
        api.create(path, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": n}, "spec": s})["spec"]
        for n, s in (("a", {"ports": ports}), ("b", {"ports": ports}), ("headless", {"clusterIP": "None"}))
    ]
    assert made[0]["clusterIP"].startswith("10.96.")
    assert made[0]["clusterIP"] != made[1]["clusterIP"]
    assert made[2]["clusterIPs"] == ["None"]


def test_a_fault_of_ours_is_an_answer_too(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()

    def fail(*args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(api.server._verbs, "answer", fail)
    code, status = api.call("GET", MAPS)
    assert (code, status["reason"]) == (500, "InternalError")


def test_openapi_v2_is_the_protobuf_that_kubectl_reads() -> None:
    code, raw = Api().call("GET", "/openapi/v2")
    assert (code, raw[:5]) == (200, b"\x0a\x032.0")
    at = raw.index(b"/api/v1/namespaces/{name}")
    assert raw[at - 2 : at] == bytes([1 << 3 | 2, len(b"/api/v1/namespaces/{name}")])
    assert b'group: ""\nkind: Namespace\nversion: v1\n' in raw[at : at + 400]


def test_openapi_names_the_kinds_and_their_fields() -> None:
    api = Api()
    paths = api.get("/openapi/v3")["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/resource.k8s.io/v1"} <= paths.keys()
    document = api.get("/openapi/v3/apis/apps/v1")
    item = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert "fieldValidation" in [p["name"] for p in item["patch"]["parameters"]]
    assert "replicas" in document["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]

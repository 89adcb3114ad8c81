"""What updates may change, kind by kind, and what they keep."""

from typing import Any

import pytest

from unit.server.api_driver import MERGE, PODS, Api, pod

Tree = dict[str, Any]
DEFAULT = "namespaces/default"
DEPLOYMENTS = f"/apis/apps/v1/{DEFAULT}/deployments"
SETS = f"/apis/apps/v1/{DEFAULT}/statefulsets"
JOBS = f"/apis/batch/v1/{DEFAULT}/jobs"
SERVICES = f"/api/v1/{DEFAULT}/services"
CLAIMS = f"/api/v1/{DEFAULT}/persistentvolumeclaims"


def make(version: str, kind: str, spec: Tree, **more: Any) -> Tree:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec, **more}


def template(**spec: Any) -> Tree:
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def workload(kind: str, **spec: Any) -> Tree:
    return make("apps/v1", kind, {"selector": {"matchLabels": {"app": "a"}}, "template": template(), **spec})


def job(**spec: Any) -> Tree:
    return make("batch/v1", "Job", {"template": template(restartPolicy="Never"), **spec})


def fields(answer: Tree) -> list[str]:
    return [c["field"] for c in answer["details"]["causes"]]


def change(api: Api, path: str, spec: Tree) -> tuple[int, Any]:
    return api.call("PATCH", path, {"spec": spec}, MERGE)


# ---- pods -----------------------------------------------------------------------------------------------------------


def gated(**spec: Any) -> Tree:
    tree = pod("p")
    tree["spec"].update({"schedulingGates": [{"name": "wait"}], **spec})
    return tree


def affinity(*terms: Tree, **more: Any) -> Tree:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"affinity": {"nodeAffinity": required, **more}}


def term(*keys: str) -> Tree:
    return {"matchExpressions": [{"key": k, "operator": "Exists"} for k in keys]}


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({}, {"containers": [{"name": "c", "image": "other"}]}, None),
        ({}, {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]}, "spec.containers"),
        ({}, {"containers": [{"name": "c", "image": "i", "command": ["x"]}]}, "spec"),
        ({}, {"nodeName": "n"}, "spec"),
        ({}, {"activeDeadlineSeconds": 9}, None),
        ({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": 8}, None),
        ({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": 10}, "spec.activeDeadlineSeconds"),
        ({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": None}, "spec.activeDeadlineSeconds"),
        ({}, {"tolerations": [{"key": "a", "operator": "Exists"}]}, None),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]}, {"tolerations": []}, "spec.tolerations"),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]},
            {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}]},
            None,
        ),
        ({}, {"nodeSelector": {"a": "b"}}, "spec"),
        ({}, {"schedulingGates": [{"name": "late"}]}, "spec.schedulingGates"),
        ({}, {"terminationGracePeriodSeconds": 1}, "spec"),
    ],
)
def test_a_pod_changes_in_few_places(before: Tree, after: Tree, field: str | None) -> None:
    api = Api()
    tree = pod("p")
    tree["spec"]["containers"] = [{"name": "c", "image": "i"}]
    tree["spec"].update(before)
    made = api.create(PODS, tree)
    code, answer = change(api, f"{PODS}/p", after)
    if field is None:
        assert (code, answer["metadata"]["generation"]) == (200, made["metadata"]["generation"] + 1)
    else:
        assert code == 422 and field in fields(answer)


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({}, {"nodeSelector": {"a": "b"}}, None),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "b", "c": "d"}}, None),
        ({"nodeSelector": {"a": "b"}}, {"nodeSelector": {"a": "z"}}, "only additions to spec.nodeSelector"),
        ({}, affinity(term("a")), None),
        (affinity(term("a")), affinity(term("a", "b")), None),
        (affinity(term("a")), affinity(term("b")), "only additions are allowed"),
        (affinity(term("a")), affinity(term("a"), term("b")), "no additions/deletions to non-empty"),
        ({}, {"affinity": {"podAffinity": {}}}, "pod updates may not change fields"),
        ({}, {"schedulingGates": []}, None),
    ],
)
def test_a_pod_that_is_held_can_be_narrowed_down(before: Tree, after: Tree, text: str | None) -> None:
    api = Api()
    api.create(PODS, gated(**before))
    code, answer = change(api, f"{PODS}/p", after)
    if text is None:
        assert code == 200, answer
    else:
        assert code == 422 and text in answer["message"]


def test_a_pod_whose_manifest_is_sent_again_keeps_its_priority() -> None:
    api = Api()
    manifest = pod("p")
    api.call("POST", PODS, manifest)
    code, answer = api.call("PUT", f"{PODS}/p", {**manifest, "metadata": {"name": "p", "labels": {"a": "b"}}})
    assert code == 200, answer
    assert (answer["spec"]["priority"], answer["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")


def test_a_status_update_of_a_pod_keeps_its_owners_and_its_class_of_service() -> None:
    api = Api()
    tree = pod("p")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
    tree["metadata"]["ownerReferences"] = [owner]
    made = api.create(PODS, tree)
    body = {
        "metadata": {"ownerReferences": None, "labels": {"a": "b"}},
        "status": {"qosClass": None, "phase": "Running"},
    }
    code, answer = api.call("PATCH", f"{PODS}/p/status", body, MERGE)
    assert (code, answer["status"]["qosClass"]) == (200, "BestEffort")
    assert (answer["metadata"]["ownerReferences"], answer["metadata"]["labels"]) == ([owner], {"a": "b"})
    assert answer["metadata"]["generation"] == made["metadata"]["generation"]


# ---- workloads ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_a_selector_stays(kind: str) -> None:
    api = Api()
    path = f"/apis/apps/v1/{DEFAULT}/{kind.lower()}s"
    api.create(path, workload(kind))
    code, answer = api.call("PUT", f"{path}/x", workload(kind, selector={"matchExpressions": [
        {"key": "app", "operator": "Exists"}]}))  # fmt: skip
    assert code == 422 and fields(answer) == ["spec.selector"]


def test_a_deployment_counts_annotations_but_not_through_the_status_door() -> None:
    api = Api()
    api.create(DEPLOYMENTS, workload("Deployment"))
    body = {"metadata": {"annotations": {"a": "1"}, "labels": {"l": "1"}}}
    code, answer = api.call("PATCH", f"{DEPLOYMENTS}/x/status", body, MERGE)
    assert (code, answer["metadata"]["generation"], answer["metadata"]["annotations"]) == (200, 1, {"a": "1"})
    assert "labels" not in answer["metadata"]
    code, answer = api.call("PATCH", f"{DEPLOYMENTS}/x", {"metadata": {"labels": {"l": "1"}}}, MERGE)
    assert answer["metadata"]["generation"] == 1
    code, answer = api.call("PATCH", f"{DEPLOYMENTS}/x", {"metadata": {"annotations": {"a": "2"}}}, MERGE)
    assert answer["metadata"]["generation"] == 2


def test_a_stateful_set_keeps_what_names_and_stores_its_pods() -> None:
    api = Api()
    api.create(SETS, workload("StatefulSet", serviceName="s"))
    for spec in ({"replicas": 3}, {"minReadySeconds": 5}, {"template": {"metadata": {"annotations": {"a": "b"}}}}):
        assert change(api, f"{SETS}/x", spec)[0] == 200
    for spec in ({"serviceName": "t"}, {"podManagementPolicy": "Parallel"}, {"selector": {"matchLabels": {"b": "c"}}}):
        code, answer = change(api, f"{SETS}/x", spec)
        assert (
            code == 422
            and "updates to statefulset spec for fields other than 'replicas', 'ordinals'" in answer["message"]
        )


def test_a_job_keeps_what_is_to_be_done() -> None:
    api = Api()
    api.create(JOBS, job(completions=2))
    assert change(api, f"{JOBS}/x", {"parallelism": 5, "suspend": True, "backoffLimit": 1})[0] == 200
    for spec, field in (
        ({"completions": 3}, "spec.completions"),
        ({"completionMode": "Indexed"}, "spec.completionMode"),
        ({"template": {"metadata": {"annotations": {"a": "b"}}}}, None),  # suspended, and never started
        ({"template": {"spec": {"nodeSelector": {"a": "b"}}}}, None),
        ({"template": {"spec": {"terminationGracePeriodSeconds": 5}}}, "spec.template"),
    ):
        code, answer = change(api, f"{JOBS}/x", spec)
        assert (code, field) == (200, None) or fields(answer) == [field]
    api.call("PATCH", f"{JOBS}/x/status", {"status": {"startTime": "2026-01-01T00:00:00Z"}}, MERGE)
    code, answer = change(api, f"{JOBS}/x", {"template": {"spec": {"nodeSelector": {"c": "d"}}}})
    assert code == 422 and fields(answer) == ["spec.template"]


def test_an_indexed_job_grows_and_shrinks_as_a_whole() -> None:
    api = Api()
    api.create(JOBS, job(completions=2, parallelism=2, completionMode="Indexed"))
    assert change(api, f"{JOBS}/x", {"completions": 3, "parallelism": 3})[0] == 200
    code, answer = change(api, f"{JOBS}/x", {"completions": 4})
    assert code == 422 and "can only be modified in tandem with `parallelism`" in answer["message"]


# ---- services, volumes and others ---------------------------------------------------------------------------------


def test_a_service_keeps_its_addresses() -> None:
    api = Api()
    made = api.create(SERVICES, make("v1", "Service", {"type": "NodePort", "ports": [{"port": 80}]}))
    port = made["spec"]["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    code, answer = api.call(
        "PUT", f"{SERVICES}/x", make("v1", "Service", {"type": "NodePort", "ports": [{"port": 80}]})
    )
    assert (code, answer["spec"]["clusterIP"]) == (200, made["spec"]["clusterIP"])
    assert answer["spec"]["ports"][0]["nodePort"] == port
    code, answer = change(api, f"{SERVICES}/x", {"clusterIP": "10.96.9.9", "clusterIPs": ["10.96.9.9"]})
    assert code == 422 and fields(answer) == ["spec.clusterIPs[0]"]
    code, answer = change(api, f"{SERVICES}/x", {"type": "ClusterIP"})
    assert code == 200 and "nodePort" not in answer["spec"]["ports"][0]


def test_a_service_that_is_a_name_has_no_addresses() -> None:
    api = Api()
    made = api.create(SERVICES, make("v1", "Service", {"type": "ExternalName", "externalName": "example.com"}))
    assert made["spec"] == {"type": "ExternalName", "externalName": "example.com", "sessionAffinity": "None"}
    code, answer = change(api, f"{SERVICES}/x", {"type": "ClusterIP", "externalName": None, "ports": [{"port": 1}]})
    assert code == 200 and answer["spec"]["clusterIP"].startswith("10.96.")


def test_a_volume_claim_only_grows() -> None:
    api = Api()
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, "storageClassName": "s"}
    api.create(CLAIMS, make("v1", "PersistentVolumeClaim", spec))
    assert change(api, f"{CLAIMS}/x", {"resources": {"requests": {"storage": "3Gi"}}})[0] == 422  # not bound yet
    assert change(api, f"{CLAIMS}/x", {"volumeName": "v"})[0] == 200
    status = {"status": {"phase": "Bound", "capacity": {"storage": "2Gi"}}}
    assert api.call("PATCH", f"{CLAIMS}/x/status", status, MERGE)[0] == 200
    assert change(api, f"{CLAIMS}/x", {"resources": {"requests": {"storage": "3Gi"}}})[0] == 200
    assert change(api, f"{CLAIMS}/x", {"resources": {"requests": {"storage": "1Gi"}}})[0] == 422
    for spec in ({"volumeName": "w"}, {"storageClassName": "t"}, {"accessModes": ["ReadWriteMany"]}):
        code, answer = change(api, f"{CLAIMS}/x", spec)
        assert code == 422 and fields(answer) == ["spec"]


@pytest.mark.parametrize(
    ("path", "tree", "patch", "field"),
    [
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p"},
            {"provisioner": "q"},
            "provisioner",
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1},
            {"preemptionPolicy": "Never"},
            "preemptionPolicy",
        ),
        (
            "/apis/node.k8s.io/v1/runtimeclasses",
            {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "h"},
            {"handler": "i"},
            "handler",
        ),
        (f"/api/v1/{DEFAULT}/secrets", {"apiVersion": "v1", "kind": "Secret"}, {"type": "other"}, "type"),
        (
            f"/apis/rbac.authorization.k8s.io/v1/{DEFAULT}/rolebindings",
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "roleRef": {"kind": "Role", "name": "r"},
            },
            {"roleRef": {"name": "s"}},
            "roleRef",
        ),
    ],
)
def test_some_fields_never_change(path: str, tree: Tree, patch: Tree, field: str) -> None:
    api = Api()
    api.create(path, {**tree, "metadata": {"name": "x"}})
    code, answer = api.call("PATCH", f"{path}/x", patch, MERGE)
    assert code == 422 and fields(answer) == [field]

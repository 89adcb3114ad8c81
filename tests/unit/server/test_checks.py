"""What is refused when it is created, with the words of Kubernetes."""

from typing import Any

import pytest

from unit.server.api_driver import Api

Tree = dict[str, Any]
DEFAULT = "namespaces/default"
SELECTOR = {"matchLabels": {"app": "a"}}


def template(**spec: Any) -> Tree:
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


def container(**more: Any) -> Tree:
    return {"containers": [{"name": "c", "image": "i", **more}]}


APPS, BATCH, CORE = "/apis/apps/v1", "/apis/batch/v1", "/api/v1"


@pytest.mark.parametrize(
    ("root", "kind", "spec", "text"),
    [
        (BATCH, "Job", {"template": template()}, 'restartPolicy: Required value: valid values: "OnFailure", "Never"'),
        (
            BATCH,
            "Job",
            {"template": template(restartPolicy="Never"), "backoffLimit": -1},
            "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            BATCH,
            "Job",
            {"template": template(restartPolicy="Never"), "completionMode": "Indexed", "parallelism": 2},
            "spec.completions: Required value: when completion mode is Indexed",
        ),
        (
            APPS,
            "Deployment",
            {"template": template(restartPolicy="Never"), "selector": SELECTOR},
            'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        ),
        (
            APPS,
            "Deployment",
            {"template": template(), "selector": SELECTOR, "replicas": -1},
            "spec.replicas: Invalid value",
        ),
        (APPS, "DaemonSet", {"template": template(), "selector": {}}, "empty selector is invalid for daemonset"),
        (APPS, "StatefulSet", {"template": template()}, "spec.selector: Required value"),
        (
            APPS,
            "ReplicaSet",
            {"template": template(activeDeadlineSeconds=5), "selector": SELECTOR},
            "activeDeadlineSeconds in ReplicaSet is not Supported",
        ),
        (
            APPS,
            "Deployment",
            {"template": template(**container(volumeMounts=[{"name": "v", "mountPath": "/"}])), "selector": SELECTOR},
            'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
        (
            BATCH,
            "CronJob",
            {"schedule": "* *", "jobTemplate": {"spec": {"template": template(restartPolicy="Never")}}},
            'spec.schedule: Invalid value: "* *": expected exactly 5 fields, found 2: [* *]',
        ),
        (CORE, "Service", {}, "spec.ports: Required value"),
        (
            CORE,
            "Service",
            {"ports": [{"port": 70000}]},
            "spec.ports[0].port: Invalid value: 70000: must be between 1 and",
        ),
        (CORE, "Service", {"ports": [{"port": 1}, {"port": 2, "name": "b"}]}, "spec.ports[0].name: Required value"),
        (CORE, "Service", {"type": "No", "ports": [{"port": 1}]}, 'spec.type: Unsupported value: "No"'),
        (CORE, "Service", {"type": "ExternalName"}, "spec.externalName: Required value"),
        (CORE, "PersistentVolumeClaim", {}, "spec.accessModes: Required value: at least 1 access mode is required"),
        (CORE, "Pod", container(imagePullPolicy="X"), 'spec.containers[0].imagePullPolicy: Unsupported value: "X"'),
        (CORE, "Pod", container(env=[{"value": "v"}]), "spec.containers[0].env[0].name: Required value"),
        ("/apis/policy/v1", "PodDisruptionBudget", {"minAvailable": "x"}, "a valid percent string must be"),
        ("/apis/policy/v1", "PodDisruptionBudget", {"maxUnavailable": "101%"}, "must not be greater than 100%"),
        (
            "/apis/autoscaling/v2",
            "HorizontalPodAutoscaler",
            {"maxReplicas": 0, "scaleTargetRef": {"kind": "Deployment", "name": "d"}},
            "spec.maxReplicas: Invalid value: 0: must be greater than 0",
        ),
    ],
)
def test_a_wrong_spec_is_refused(root: str, kind: str, spec: Tree, text: str) -> None:
    version = root.removeprefix("/apis/").removeprefix("/api/")
    tree = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    code, answer = Api().call("POST", f"{root}/{DEFAULT}/{kind.lower()}s", tree)
    assert code == 422 and text in answer["message"]


@pytest.mark.parametrize(
    ("plural", "kind", "more", "text"),
    [
        ("configmaps", "ConfigMap", {"data": {"a b": "c"}}, 'data[a b]: Invalid value: "a b": a valid config key'),
        ("configmaps", "ConfigMap", {"data": {"a": "x" * (1 << 20)}}, "Too long: may not be more than 1048576 bytes"),
        ("secrets", "Secret", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, "data[tls.key]: Required value"),
    ],
)
def test_wrong_data_is_refused(plural: str, kind: str, more: Tree, text: str) -> None:
    tree = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, **more}
    code, answer = Api().call("POST", f"/api/v1/{DEFAULT}/{plural}", tree)
    assert code == 422 and text in answer["message"]


@pytest.mark.parametrize(("text", "position"), [("abc!", 0), ("YWJj!", 4), ("YQ", 0), ("YWJjZA==YQ==", 8)])
def test_what_is_not_base64_cannot_be_a_secret(text: str, position: int) -> None:
    tree = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"a": text}}
    code, answer = Api().call("POST", f"/api/v1/{DEFAULT}/secrets", tree)
    assert code == 400 and f"illegal base64 data at input byte {position}" in answer["message"]
    good = {**tree, "data": {"a": "YW\nJj", "b": ""}}
    assert Api().call("POST", f"/api/v1/{DEFAULT}/secrets", good)[0] == 201


def test_roles_say_what_they_allow() -> None:
    path = f"/apis/rbac.authorization.k8s.io/v1/{DEFAULT}/roles"
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "x"}}
    code, answer = Api().call("POST", path, {**head, "rules": [{"verbs": []}]})
    assert code == 422 and [c["field"] for c in answer["details"]["causes"]] == [
        "rules[0].verbs",
        "rules[0].apiGroups",
        "rules[0].resources",
    ]
    rule = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
    assert Api().call("POST", path, {**head, "rules": [rule]})[0] == 201

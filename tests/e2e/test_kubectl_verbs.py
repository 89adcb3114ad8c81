"""What people do with kubectl beyond the recorded session, against ``apportion up``."""

import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from e2e.kubectl_cluster import Cluster

# One for each message that kubectl sends as protobuf.
_CREATIONS = (
    "namespace team",
    "configmap c --from-literal=a=b --from-literal=empty=",
    "secret generic s --from-literal=a=b",
    "secret docker-registry r --docker-username=u --docker-password=p --docker-server=registry.example.com",
    "deployment d --image=i:1 --replicas=0 --port=80 -- sh -c true",
    "job j --image=i:1 -- sh",
    "cronjob j --image=i:1 --schedule=@hourly",
    "service clusterip a --tcp=80:8080",
    "service nodeport b --tcp=80",
    "service externalname c --external-name=example.com",
    "serviceaccount robot",
    "quota q --hard=pods=3,requests.cpu=500m --scopes=BestEffort",
    "poddisruptionbudget p --selector=app=web --min-available=50%",
    "priorityclass high --value=100 --description=Important --preemption-policy=Never",
    "role r --verb=get,list --resource=pods,deployments.apps --resource-name=x",
    "rolebinding b --role=r --serviceaccount=default:robot --user=alice",
    "clusterrole cr --verb=get --non-resource-url=/healthz",
    "clusterrolebinding crb --clusterrole=cr --group=devs",
    "ingress i --rule=example.com/path=svc:80,tls=cert --class=nginx",
)
_RANDOM = ("uid", "resourceVersion", "creationTimestamp")


def strip(tree: Any) -> Any:
    """Leave out what the server draws and what controllers add."""
    if isinstance(tree, list):
        return [strip(v) for v in tree]
    if not isinstance(tree, dict):
        return tree
    drawn = {"clusterIP", "clusterIPs", "nodePort", "status", "annotations", "generation", *_RANDOM}
    return {k: strip(v) for k, v in tree.items() if k not in drawn and "controller-uid" not in k}


def show(cluster: Cluster, *args: str) -> Any:
    return json.loads(cluster.run("get", *args, "-o", "json").stdout)


@pytest.mark.slow
def test_what_comes_as_protobuf_is_what_comes_as_json(start_cluster: Callable[..., Cluster]) -> None:
    """kubectl create sends protobuf, kubectl create -f the same object as JSON."""
    cluster = start_cluster("--kubelets", "none")
    for command in _CREATIONS:
        args = ["create", *command.split(" ")]
        made = cluster.run(*args)
        assert made.rc == 0, (command, made)
        name = made.stdout.split(" ")[0]
        first = show(cluster, name)
        assert cluster.run("delete", name, "--wait=false").rc == 0
        if "namespace" in name:
            continue
        wait_until_gone(cluster, name)
        end = args.index("--") if "--" in args else len(args)
        written = cluster.run(*args[:end], "--dry-run=client", "-o", "json", *args[end:]).stdout
        assert cluster.run("create", "-f", "-", stdin=written).rc == 0, written
        assert strip(show(cluster, name)) == strip(first), command


def wait_until_gone(cluster: Cluster, name: str) -> None:
    assert cluster.run("wait", "--for=delete", name, "--timeout=10s").rc == 0


@pytest.mark.slow
def test_a_watch_shows_what_comes_changes_and_goes(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--kubelets", "none")
    command = ["get", "configmaps", "-w", "--output-watch-events", "--no-headers"]
    watch = subprocess.Popen(
        [cluster.kubectl, *command], stdout=subprocess.PIPE, text=True, env=cluster.environment, bufsize=1
    )
    assert watch.stdout is not None
    try:
        cluster.run("create", "configmap", "c", "--from-literal=a=b")
        assert watch.stdout.readline().split()[:3] == ["ADDED", "c", "1"]
        cluster.run("patch", "configmap", "c", "-p", '{"data":{"x":"y"}}')
        assert watch.stdout.readline().split()[:3] == ["MODIFIED", "c", "2"]
        cluster.run("delete", "configmap", "c")
        assert watch.stdout.readline().split()[:2] == ["DELETED", "c"]
    finally:
        watch.kill()
        watch.communicate()


@pytest.mark.slow
def test_apply_merges_three_ways(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--kubelets", "none")
    one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: '1', b: '2'}}"
    assert cluster.run("apply", "-f", "-", stdin=one).stdout == "configmap/c created\n"
    cluster.run("patch", "configmap", "c", "-p", '{"data":{"mine":"kept"}}')
    two = one.replace("b: '2'", "c: '3'")
    assert cluster.run("apply", "-f", "-", stdin=two).stdout == "configmap/c configured\n"
    assert show(cluster, "configmap", "c")["data"] == {"a": "1", "c": "3", "mine": "kept"}
    assert cluster.run("apply", "-f", "-", stdin=two).stdout == "configmap/c unchanged\n"


@pytest.mark.slow
def test_a_pod_is_run_waited_for_described_and_deleted(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--nodes", "1")
    assert cluster.run("run", "web", "--image=nginx", "--port=80").stdout == "pod/web created\n"
    done = cluster.run("wait", "--for=condition=Ready", "pod/web", "--timeout=10s")
    assert done.stdout == "pod/web condition met\n"
    described = cluster.run("describe", "pod", "web").stdout
    assert "Node:" in described and "node-0" in described and "Scheduled" in described
    logs = cluster.run("logs", "web")
    assert logs.rc == 1 and "no kubelet" in logs.stderr
    assert cluster.run("exec", "web", "--", "true").rc == 1
    assert "web" in cluster.run("drain", "node-0", "--force", "--timeout=20s").stdout
    wait_until_gone(cluster, "pod/web")


@pytest.mark.slow
def test_a_drain_waits_for_a_disruption_budget(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--nodes", "2")
    cluster.run("create", "deployment", "d", "--image=i", "--replicas=4")
    assert cluster.run("rollout", "status", "deployment/d", "--timeout=20s").rc == 0
    cluster.run("create", "pdb", "d", "--selector=app=d", "--min-available=4")
    assert cluster.run("wait", "--for=jsonpath={.status.currentHealthy}=4", "pdb/d", "--timeout=10s").rc == 0
    refused = cluster.run("drain", "node-0", "--timeout=3s")
    assert refused.rc == 1
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused.stderr
    cluster.run("patch", "pdb", "d", "-p", '{"spec":{"minAvailable":3}}')
    assert cluster.run("drain", "node-0", "--timeout=40s").stdout.endswith("node/node-0 drained\n")
    nodes = {p["spec"].get("nodeName") for p in show(cluster, "pods")["items"]}
    assert "node-0" not in nodes


@pytest.mark.slow
def test_scaling_and_asking_who_what_and_which_version(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--kubelets", "none")
    cluster.run("create", "deployment", "d", "--image=i")
    assert cluster.run("scale", "deployment", "d", "--replicas=3").stdout == "deployment.apps/d scaled\n"
    assert show(cluster, "deployment", "d")["spec"]["replicas"] == 3
    refused = cluster.run("scale", "deployment", "d", "--current-replicas=7", "--replicas=1")
    assert refused.rc == 1 and "Expected replicas to be 7, was 3" in refused.stderr
    assert "Server Version: v1.37" in cluster.run("version").stdout
    for path in ("/livez", "/readyz", "/healthz"):
        assert cluster.run("get", "--raw", path).stdout == "ok"
    assert cluster.run("get", "--raw", "/readyz?verbose").stdout.endswith("readyz check passed\n")
    refused = cluster.run("get", "pods", "--as=somebody")
    assert refused.rc == 1 and "users cannot be impersonated" in refused.stderr
    assert "FIELD: containers <[]Container>" in cluster.run("explain", "pod.spec.containers").stdout


@pytest.mark.slow
def test_every_kind_can_be_listed(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--nodes", "1")
    names = cluster.run("api-resources", "--verbs=list", "-o", "name").stdout.split()
    assert len(names) > 40
    done = cluster.run("get", ",".join(names), "-A")
    assert done.rc == 0, done.stderr
    deadline_s = time.monotonic() + 10
    while "node-0" not in cluster.run("get", "nodes", "-o", "wide").stdout and time.monotonic() < deadline_s:
        time.sleep(0.1)


@pytest.mark.slow
def test_a_rollout_is_followed_to_its_end_and_undone(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster("--nodes", "2")
    cluster.run("create", "deployment", "d", "--image=i:1", "--replicas=2")
    done = cluster.run("rollout", "status", "deployment/d", "--timeout=20s")
    assert done.stdout.endswith('deployment "d" successfully rolled out\n')
    cluster.run("set", "image", "deployment/d", "i=i:2")
    done = cluster.run("rollout", "status", "deployment/d", "--timeout=20s")
    assert done.stdout.endswith('deployment "d" successfully rolled out\n')
    assert cluster.run("rollout", "undo", "deployment/d").stdout == "deployment.apps/d rolled back\n"
    done = cluster.run("wait", "--for=jsonpath={.status.updatedReplicas}=2", "deployment/d", "--timeout=20s")
    assert done.rc == 0
    assert show(cluster, "deployment", "d")["spec"]["template"]["spec"]["containers"][0]["image"] == "i:1"

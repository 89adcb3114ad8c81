from collections import Counter
from typing import Any

import pytest

from apportion.api.identity import NameGenerator
from apportion.api.kinds import Tree
from apportion.base import LimitError, Rng
from apportion.sim.manifests import SourcedObject
from apportion.sim.workloads import Expansion, expand_workloads

NOW = "2026-01-01T00:00:00Z"
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
NEVER = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"app": "a"}}


def make(api_version: str, kind: str, name: str = "w", *, status: Tree | None = None, **spec: Any) -> Tree:
    tree = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "n"}, "spec": spec}
    return {**tree, "status": status} if status else tree


def run(*trees: Tree, pods_max: int = 1000) -> Expansion:
    entries = [SourcedObject(t, "f.yaml", i, 0) for i, t in enumerate(trees)]
    return expand_workloads(entries, NameGenerator(Rng(1)), NOW, pods_max)


def pods(expansion: Expansion) -> list[Tree]:
    return [o.tree for o in expansion.objects if o.tree["kind"] == "Pod"]


def names(expansion: Expansion, kind: str = "Pod") -> list[str]:
    return [o.tree["metadata"]["name"] for o in expansion.objects if o.tree["kind"] == kind]


def owned_pod(name: str, owner_kind: str, owner: str, phase: str = "Running", **spec: Any) -> Tree:
    tree = make("v1", "Pod", name, status={"phase": phase}, containers=[], **spec)
    tree["metadata"]["ownerReferences"] = [{"kind": owner_kind, "name": owner, "controller": True}]
    return tree


# ---- apps -------------------------------------------------------------------------------------------------


def test_deployment_makes_a_replica_set_and_that_its_pods() -> None:
    result = run(make("apps/v1", "Deployment", replicas=3, selector=SELECTOR, template=TEMPLATE))
    (replica_set,) = [o.tree for o in result.objects if o.tree["kind"] == "ReplicaSet"]
    template_hash = replica_set["spec"]["selector"]["matchLabels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"w-{template_hash}"
    assert len(pods(result)) == 3
    for pod in pods(result):
        assert pod["metadata"]["name"].startswith(f"w-{template_hash}-")
        assert pod["metadata"]["labels"] == {"app": "a", "pod-template-hash": template_hash}
        assert pod["metadata"]["ownerReferences"][0]["uid"] == replica_set["metadata"]["uid"]
        assert pod["spec"]["schedulerName"] == "default-scheduler"
        assert "uid" not in pod["metadata"], "admission must see a new pod"


def test_hash_follows_the_template() -> None:
    other = {**TEMPLATE, "spec": {"containers": [{"name": "c", "image": "other"}]}}
    trees = [
        make("apps/v1", "Deployment", n, replicas=0, selector=SELECTOR, template=t)
        for n, t in (("a", TEMPLATE), ("b", TEMPLATE), ("c", other))
    ]
    a, b, c = (n.split("-")[1] for n in names(run(*trees), "ReplicaSet"))
    assert a == b != c


def test_running_pods_count_towards_replicas_even_without_their_replica_set() -> None:
    deployment = make("apps/v1", "Deployment", replicas=3, selector=SELECTOR, template=TEMPLATE)
    existing = [
        owned_pod("w-abc-1", "ReplicaSet", "w-abc"),
        owned_pod("w-abc-2", "ReplicaSet", "w-abc", phase="Failed"),
    ]
    result = run(deployment, *existing)
    assert names(result, "ReplicaSet") == ["w-abc"]
    assert len(names(result)) == 4, "one runs, the failed one does not count"


def test_deployment_with_its_replica_set_in_the_input_makes_no_other() -> None:
    deployment = make("apps/v1", "Deployment", replicas=2, selector=SELECTOR, template=TEMPLATE)
    replica_set = make("apps/v1", "ReplicaSet", "w-777", replicas=2, selector=SELECTOR, template=TEMPLATE)
    replica_set["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "w", "controller": True}]
    old = make("apps/v1", "ReplicaSet", "w-666", replicas=0, selector=SELECTOR, template=TEMPLATE)
    result = run(deployment, replica_set, old, owned_pod("w-777-a", "ReplicaSet", "w-777"))
    assert names(result, "ReplicaSet") == ["w-777", "w-666"]
    assert len(names(result)) == 2


def test_stateful_set_has_ordinals_labels_and_volume_claims() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    tree = make(
        "apps/v1",
        "StatefulSet",
        replicas=2,
        ordinals={"start": 5},
        selector=SELECTOR,
        template=TEMPLATE,
        volumeClaimTemplates=[claim],
    )
    result = run(tree, owned_pod("w-5", "StatefulSet", "w"))
    assert names(result) == ["w-6", "w-5"]
    assert names(result, "PersistentVolumeClaim") == ["data-w-5", "data-w-6"]
    pod = pods(result)[0]
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "6"
    assert pod["metadata"]["labels"]["controller-revision-hash"].startswith("w-")
    assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-w-6"}}]


def node(name: str, **spec: Any) -> Tree:
    tree = make("v1", "Node", name, **spec)
    tree["metadata"] = {"name": name, "labels": {"disk": "ssd" if name != "n2" else "hdd"}}
    return tree


def test_daemon_set_has_a_pod_on_each_node_that_fits_and_has_none() -> None:
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "nodeSelector": {"disk": "ssd"}, "hostNetwork": True}}
    tree = make("apps/v1", "DaemonSet", selector=SELECTOR, template=template)
    tainted = node("n3", taints=[{"key": "k", "effect": "NoSchedule"}])
    cordoned = node("n4", taints=[{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}])
    existing = owned_pod("w-old", "DaemonSet", "w", nodeName="n5")
    result = run(tree, node("n1"), node("n2"), tainted, cordoned, node("n5"), existing)
    made = [p for p in pods(result) if p["metadata"]["name"] != "w-old"]
    targets = [
        p["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        for p in made
    ]
    assert [t[0]["matchFields"][0]["values"] for t in targets] == [["n1"], ["n4"]]
    keys = {t["key"] for t in made[0]["spec"]["tolerations"]}
    assert "node.kubernetes.io/network-unavailable" in keys
    assert len(keys) == 7


# ---- batch ------------------------------------------------------------------------------------------------


def test_job_runs_its_parallelism_less_what_is_done() -> None:
    job = make("batch/v1", "Job", parallelism=4, completions=5, template=NEVER, status={"succeeded": 3})
    result = run(job)
    assert len(pods(result)) == 2
    labels = pods(result)[0]["metadata"]["labels"]
    assert labels["job-name"] == labels["batch.kubernetes.io/job-name"] == "w"
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert pods(run(make("batch/v1", "Job", template=NEVER, status=done))) == []


def test_indexed_job_names_the_index() -> None:
    job = make("batch/v1", "Job", parallelism=2, completions=2, completionMode="Indexed", template=NEVER)
    result = run(job)
    assert [n[:4] for n in names(result)] == ["w-0-", "w-1-"]
    index = "batch.kubernetes.io/job-completion-index"
    assert [p["metadata"]["annotations"][index] for p in pods(result)] == ["0", "1"]


def test_suspended_job_has_no_pods_and_a_warning() -> None:
    result = run(make("batch/v1", "Job", suspend=True, template=NEVER))
    assert (pods(result), result.warnings) == ([], ["Job n/w is suspended; it has no pods"])


def test_cron_job_stands_for_one_job() -> None:
    cron = make("batch/v1", "CronJob", jobTemplate={"spec": {"parallelism": 2, "template": NEVER}})
    result = run(cron)
    assert names(result, "Job") == ["w-29453760"]
    assert len(pods(result)) == 2


# ---- other groups -----------------------------------------------------------------------------------------


def replica_spec(replicas: int) -> Tree:
    return {"replicas": replicas, "template": TEMPLATE}


def test_mpi_job_v2_has_workers_and_a_launcher_job() -> None:
    specs = {"Launcher": replica_spec(1), "Worker": replica_spec(2)}
    result = run(make("kubeflow.org/v2beta1", "MPIJob", mpiReplicaSpecs=specs))
    assert names(result, "Job") == ["w-launcher"]
    assert names(result)[:2] == ["w-worker-0", "w-worker-1"]
    assert names(result)[2].startswith("w-launcher-")
    assert pods(result)[1]["metadata"]["labels"] == {
        "app": "a",
        "training.kubeflow.org/job-name": "w",
        "training.kubeflow.org/job-role": "worker",
        "training.kubeflow.org/operator-name": "mpi-operator",
        "training.kubeflow.org/replica-index": "1",
    }


def test_mpi_job_v1_has_a_launcher_pod() -> None:
    specs = {"Launcher": replica_spec(1), "Worker": replica_spec(1)}
    result = run(make("kubeflow.org/v1", "MPIJob", mpiReplicaSpecs=specs))
    assert names(result) == ["w-worker-0", "w-launcher"]
    assert pods(result)[0]["metadata"]["labels"]["training.kubeflow.org/replica-type"] == "worker"


def test_pytorch_job() -> None:
    specs = {"Master": replica_spec(1), "Worker": replica_spec(2)}
    result = run(make("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=specs))
    assert names(result) == ["w-master-0", "w-worker-0", "w-worker-1"]
    assert pods(result)[0]["spec"]["restartPolicy"] == "Never"


def test_job_set_makes_indexed_jobs() -> None:
    jobs = [
        {"name": "driver", "template": {"spec": {"template": TEMPLATE}}},
        {"name": "work", "replicas": 2, "template": {"spec": {"parallelism": 2, "completions": 2, "template": NEVER}}},
    ]
    result = run(make("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=jobs))
    assert names(result, "Job") == ["w-driver-0", "w-work-0", "w-work-1"]
    assert len(pods(result)) == 5
    labels = pods(result)[-1]["metadata"]["labels"]
    assert labels["jobset.sigs.k8s.io/job-index"] == "1"
    assert labels["jobset.sigs.k8s.io/job-global-index"] == "2"
    assert names(result)[-1].startswith("w-work-1-1-")


def test_ray_job_makes_a_cluster_and_a_submitter() -> None:
    group = {"groupName": "gpu", "replicas": 2, "numOfHosts": 2, "template": TEMPLATE}
    cluster = {"headGroupSpec": {"template": TEMPLATE}, "workerGroupSpecs": [group]}
    result = run(make("ray.io/v1", "RayJob", rayClusterSpec=cluster))
    (ray_cluster,) = names(result, "RayCluster")
    assert ray_cluster.startswith("w-raycluster-")
    roles = Counter(p["metadata"]["labels"].get("ray.io/node-type", "submitter") for p in pods(result))
    assert roles == {"head": 1, "worker": 4, "submitter": 1}
    submitter = pods(result)[-1] if "job-name" in pods(result)[-1]["metadata"]["labels"] else pods(result)[0]
    assert submitter["spec"]["containers"][0]["image"] == "i", "of the head"


def test_leader_worker_set() -> None:
    groups = {"size": 3, "workerTemplate": TEMPLATE}
    result = run(make("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", replicas=2, leaderWorkerTemplate=groups))
    assert names(result) == ["w-0", "w-0-1", "w-0-2", "w-1", "w-1-1", "w-1-2"]
    worker = pods(result)[2]["metadata"]
    assert worker["labels"]["leaderworkerset.sigs.k8s.io/worker-index"] == "2"
    assert worker["annotations"]["leaderworkerset.sigs.k8s.io/leader-name"] == "w-0"


# ---- what is wrong ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tree", "field"),
    [
        (make("apps/v1", "ReplicaSet", selector=SELECTOR), "spec.template"),
        (make("apps/v1", "ReplicaSet", selector=SELECTOR, replicas=-1, template=TEMPLATE), "spec.replicas"),
        (make("apps/v1", "ReplicaSet", selector=SELECTOR, replicas="3", template=TEMPLATE), "spec.replicas"),
        (
            make("apps/v1", "Deployment", selector={"matchLabels": {"app": "b"}}, template=TEMPLATE),
            "spec.template.metadata.labels",
        ),
        (make("batch/v1", "Job", template=TEMPLATE), "spec.template.spec.restartPolicy"),
        (make("batch/v1", "Job", template={"spec": {"containers": []}}), "spec.template.spec.containers"),
        (
            make("kubeflow.org/v2beta1", "MPIJob", mpiReplicaSpecs={"Worker": {"template": 1}}),
            "spec.mpiReplicaSpecs.Worker.template",
        ),
        (make("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=[{}]), "spec.replicatedJobs"),
        (
            make(
                "apps/v1",
                "ReplicaSet",
                template={
                    "spec": {
                        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "much"}}}],
                        "resources": {"limits": {"cpu": "1"}},
                    }
                },
            ),
            "spec.template",
        ),
        (make("ray.io/v1", "RayCluster", workerGroupSpecs=7), "spec.headGroupSpec.template"),
        ({**make("apps/v1", "StatefulSet"), "spec": "x"}, "spec"),
    ],
)
def test_workload_that_cannot_be_expanded_is_rejected_with_its_field(tree: Tree, field: str) -> None:
    result = run(tree)
    assert pods(result) == []
    assert [(r.file, r.field) for r in result.rejected] == [("f.yaml", field)]


def test_number_of_pods_is_bounded_before_they_are_made() -> None:
    huge = make("apps/v1", "ReplicaSet", replicas=2_000_000_000, selector=SELECTOR, template=TEMPLATE)
    with pytest.raises(LimitError, match="more than 1000 pods with ReplicaSet n/w"):
        run(huge)


def test_same_input_same_output() -> None:
    tree = make("apps/v1", "Deployment", replicas=5, selector=SELECTOR, template=TEMPLATE)
    noise = make("apps/v1", "ReplicaSet", "z", replicas=3, selector=SELECTOR, template=TEMPLATE)
    alone = set(names(run(tree)))
    assert alone < set(names(run(noise, tree)))

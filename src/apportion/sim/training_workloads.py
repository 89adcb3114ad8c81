"""Workloads of other groups, made into children with the names and labels that their operators give.

Sources: kubeflow/mpi-operator (pkg/controller/mpi_job_controller.go), kubeflow/training-operator,
kubernetes-sigs/jobset (pkg/controllers/jobset_controller.go), kubernetes-sigs/lws (pkg/controllers).
"""

import hashlib
from collections.abc import Iterator
from typing import Final

from apportion.api.kinds import Tree, split_api_version
from apportion.base import ValidationError
from apportion.sim.pod_templates import (
    Child,
    hash_template,
    label_template,
    make_pod,
    make_workload,
    read_count,
    read_list,
    read_object,
    read_template,
)

_TRAINING: Final = "training.kubeflow.org/"
_JOBSET: Final = "jobset.sigs.k8s.io/"
_LWS: Final = "leaderworkerset.sigs.k8s.io/"


def expand_mpi_job(tree: Tree) -> Iterator[Child]:
    """Yield the workers of an MPIJob, and its launcher: a Job since v2beta1, a pod before."""
    name = tree["metadata"]["name"]
    is_v1 = split_api_version(tree["apiVersion"])[1] == "v1"
    for role in ("Worker", "Launcher"):
        path = f"spec.mpiReplicaSpecs.{role}"
        replica_spec = read_object(tree, "spec", "mpiReplicaSpecs", role)
        if not replica_spec:
            continue
        template = _read_replica_template(tree, replica_spec, path)
        labels = _training_labels(name, "mpijob-controller" if is_v1 else "mpi-operator")
        labels[f"{_TRAINING}job-role"] = role.lower()
        if is_v1:
            labels[f"{_TRAINING}replica-type"] = role.lower()
        if role == "Launcher":
            yield _make_launcher(tree, template, labels, is_v1)
            continue
        for i in range(read_count(replica_spec, "replicas", 1 if is_v1 else 0, path)):
            index = {f"{_TRAINING}replica-index": str(i)}
            yield Child(make_pod(tree, template, {**labels, **index}), f"{name}-worker-{i}")


def _make_launcher(tree: Tree, template: Tree, labels: dict[str, str], is_v1: bool) -> Child:
    name = f"{tree['metadata']['name']}-launcher"
    if is_v1:
        return Child(make_pod(tree, template, {**labels, f"{_TRAINING}replica-index": "0"}), name)
    spec = {"template": label_template(template, labels)}
    job = make_workload(tree, "batch/v1", "Job", spec, {"app": tree["metadata"]["name"]})
    return Child(job, name)


def _read_replica_template(tree: Tree, replica_spec: Tree, path: str) -> Tree:
    """Return the template with the restart policy of its replica spec, which wins over the template's own."""
    template = read_template(tree, replica_spec.get("template"), f"{path}.template")
    policy = replica_spec.get("restartPolicy") or "Never"
    if policy == "ExitCode":
        policy = "Never"
    return {**template, "spec": {**template["spec"], "restartPolicy": policy}}


def _training_labels(job: str, operator: str) -> dict[str, str]:
    return {f"{_TRAINING}job-name": job, f"{_TRAINING}operator-name": operator}


def expand_pytorch_job(tree: Tree) -> Iterator[Child]:
    """Yield ``<job>-master-0`` and ``<job>-worker-<i>`` of a PyTorchJob."""
    name = tree["metadata"]["name"]
    for role in ("Master", "Worker"):
        path = f"spec.pytorchReplicaSpecs.{role}"
        replica_spec = read_object(tree, "spec", "pytorchReplicaSpecs", role)
        if not replica_spec:
            continue
        template = _read_replica_template(tree, replica_spec, path)
        labels = _training_labels(name, "pytorchjob-controller")
        labels[f"{_TRAINING}replica-type"] = role.lower()
        if role == "Master":
            labels[f"{_TRAINING}job-role"] = "master"
        for i in range(read_count(replica_spec, "replicas", 1, path)):
            index = {f"{_TRAINING}replica-index": str(i)}
            yield Child(make_pod(tree, template, {**labels, **index}), f"{name}-{role.lower()}-{i}")


# ---- JobSet -----------------------------------------------------------------------------------------------


def expand_job_set(tree: Tree) -> Iterator[Child]:
    """Yield the Jobs ``<jobset>-<replicatedJob>-<i>`` of a JobSet."""
    meta = tree["metadata"]
    global_index = 0
    replicated_jobs = read_list(tree, "spec", "replicatedJobs")
    replicas = [read_count(r, "replicas", 1, "spec.replicatedJobs") for r in replicated_jobs]
    for replicated, count in zip(replicated_jobs, replicas, strict=True):
        if not replicated.get("name"):
            raise ValidationError("spec.replicatedJobs", "Required value: each needs a name")
        spec = {"completionMode": "Indexed", **read_object(replicated, "template", "spec")}
        template = read_template(tree, spec.get("template"), f"spec.replicatedJobs[{replicated['name']}].template")
        for i in range(count):
            name = f"{meta['name']}-{replicated['name']}-{i}"
            labels = {
                f"{_JOBSET}jobset-name": meta["name"],
                f"{_JOBSET}replicatedjob-name": replicated["name"],
                f"{_JOBSET}replicatedjob-replicas": str(count),
                f"{_JOBSET}global-replicas": str(sum(replicas)),
                f"{_JOBSET}job-index": str(i),
                f"{_JOBSET}job-global-index": str(global_index),
                f"{_JOBSET}job-key": _sha1(f"{meta['namespace']}/{name}"),
                f"{_JOBSET}restart-attempt": "0",
            }
            policy = template["spec"]["restartPolicy"]
            pod_spec = {**template["spec"], "restartPolicy": "OnFailure" if policy == "Always" else policy}
            pods = label_template({**template, "spec": pod_spec}, labels, labels)
            yield Child(make_workload(tree, "batch/v1", "Job", {**spec, "template": pods}, labels), name)
            global_index += 1


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


# ---- LeaderWorkerSet --------------------------------------------------------------------------------------


def expand_leader_worker_set(tree: Tree) -> Iterator[Child]:
    """Yield leaders ``<lws>-<group>`` and workers ``<lws>-<group>-<i>`` of a LeaderWorkerSet."""
    spec = read_object(tree, "spec")
    group_spec = read_object(spec, "leaderWorkerTemplate")
    path = "spec.leaderWorkerTemplate"
    worker = read_template(tree, group_spec.get("workerTemplate"), f"{path}.workerTemplate")
    leader = worker
    if group_spec.get("leaderTemplate") is not None:
        leader = read_template(tree, group_spec["leaderTemplate"], f"{path}.leaderTemplate")
    size = read_count(group_spec, "size", 1, path)
    revision = hash_template(group_spec)
    meta = tree["metadata"]
    for group in range(read_count(spec, "replicas", 1)):
        leader_name = f"{meta['name']}-{group}"
        labels = {
            f"{_LWS}name": meta["name"],
            f"{_LWS}group-index": str(group),
            f"{_LWS}group-key": _sha1(f"{meta['namespace']}/{leader_name}"),
            f"{_LWS}template-revision-hash": revision,
        }
        annotations = {f"{_LWS}size": str(size)}
        for i in range(max(size, 1)):
            index = {f"{_LWS}worker-index": str(i)}
            if i == 0:
                yield Child(make_pod(tree, leader, {**labels, **index}, annotations), leader_name)
            else:
                extra = {**annotations, f"{_LWS}leader-name": leader_name}
                yield Child(make_pod(tree, worker, {**labels, **index}, extra), f"{leader_name}-{i}")

"""The workloads of Kubernetes itself, made into children the way kube-controller-manager does."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

from apportion.api.kinds import Tree
from apportion.base import ValidationError
from apportion.sim.pod_templates import (
    Child,
    check_selector,
    hash_template,
    label_template,
    make_pod,
    make_workload,
    read_count,
    read_list,
    read_object,
    read_template,
)

_JOB_LABELS: Final = ("batch.kubernetes.io/job-name", "job-name")
_UID_LABELS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
_FINISHED: Final = ("Complete", "Failed")
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"


def expand_replication_controller(tree: Tree) -> Iterator[Child]:
    """Yield the pods of a ReplicationController or ReplicaSet."""
    spec = read_object(tree, "spec")
    replicas = read_count(spec, "replicas", 1)
    if replicas == 0:
        return  # old ReplicaSets of a Deployment
    template = read_template(tree, spec.get("template"), "spec.template")
    if tree["kind"] == "ReplicaSet":
        check_selector(spec, template)
    yield Child(make_pod(tree, template), f"{tree['metadata']['name']}-", replicas)


def expand_deployment(tree: Tree, known_hash: str | None = None) -> Iterator[Child]:
    """Yield the ReplicaSet of a Deployment; ``known_hash`` is the pod-template-hash of pods that it has
    already.
    """
    spec = read_object(tree, "spec")
    template = read_template(tree, spec.get("template"), "spec.template")
    check_selector(spec, template)
    template_hash = known_hash or hash_template(template)
    labels = {"pod-template-hash": template_hash}
    selector = read_object(spec, "selector")
    replica_set = make_workload(
        tree,
        "apps/v1",
        "ReplicaSet",
        {
            "replicas": read_count(spec, "replicas", 1),
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), **labels}},
            "template": label_template(template, labels),
        },
        {**read_object(template, "metadata", "labels"), **labels},
    )
    yield Child(replica_set, f"{tree['metadata']['name']}-{template_hash}")


def expand_stateful_set(tree: Tree) -> Iterator[Child]:
    """Yield the pods of a StatefulSet by ordinal, and the claims of its volumeClaimTemplates."""
    spec = read_object(tree, "spec")
    name = tree["metadata"]["name"]
    template = read_template(tree, spec.get("template"), "spec.template")
    check_selector(spec, template)
    revision = f"{name}-{hash_template(template)}"
    start = read_count(read_object(spec, "ordinals"), "start", 0, "spec.ordinals")
    claims = read_list(spec, "volumeClaimTemplates")
    for i in range(start, start + read_count(spec, "replicas", 1)):
        pod_name = f"{name}-{i}"
        labels = {
            "apps.kubernetes.io/pod-index": str(i),
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": pod_name,
        }
        for claim in claims:
            yield _make_volume_claim(tree, claim, pod_name)
        volumes = _mount_claims(template["spec"], claims, pod_name)
        yield Child(make_pod(tree, template, labels, spec=volumes), pod_name)


def _make_volume_claim(tree: Tree, claim: Tree, pod_name: str) -> Child:
    meta = read_object(claim, "metadata")
    if not meta.get("name"):
        raise ValidationError("spec.volumeClaimTemplates", "Required value: each needs a name")
    kept: Tree = {k: meta[k] for k in ("labels", "annotations") if k in meta}
    volume_claim: Tree = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**kept, "namespace": tree["metadata"]["namespace"]},
        "spec": {"volumeMode": "Filesystem", **read_object(claim, "spec")},
        "status": {"phase": "Pending"},
    }
    return Child(volume_claim, f"{meta['name']}-{pod_name}")


def _mount_claims(spec: Tree, claims: list[Tree], pod_name: str) -> dict[str, Any] | None:
    if not claims:
        return None
    names = [c["metadata"]["name"] for c in claims]
    others = [v for v in spec.get("volumes") or () if v.get("name") not in names]
    mounted = [{"name": n, "persistentVolumeClaim": {"claimName": f"{n}-{pod_name}"}} for n in names]
    return {"volumes": mounted + others}


def expand_job(tree: Tree) -> Iterator[Child]:
    """Yield the pods of a Job that may run at once: its parallelism, less what has succeeded."""
    spec = read_object(tree, "spec")
    meta = tree["metadata"]
    template = read_template(tree, spec.get("template"), "spec.template")
    if read_object(spec, "template", "spec").get("restartPolicy") not in ("OnFailure", "Never"):
        supported = '"OnFailure", "Never"'
        why = f"Required value: valid values: {supported}"
        raise ValidationError("spec.template.spec.restartPolicy", why)
    labels: dict[str, str] = dict.fromkeys(_JOB_LABELS, meta["name"])
    labels |= dict.fromkeys(_UID_LABELS, meta["uid"])
    left = _count_wanted(tree, spec)
    if spec.get("completionMode") != "Indexed":
        yield Child(make_pod(tree, template, labels), f"{meta['name']}-", left)
        return
    for i in range(left):
        index = {INDEX_LABEL: str(i)}
        yield Child(make_pod(tree, template, {**labels, **index}, index), f"{meta['name']}-{i}-")


def _count_wanted(tree: Tree, spec: Tree) -> int:
    if any(c.get("type") in _FINISHED and c.get("status") == "True" for c in read_list(tree, "status", "conditions")):
        return 0
    parallelism = read_count(spec, "parallelism", 1)
    if spec.get("completions") is None:
        return parallelism
    done = read_count(read_object(tree, "status"), "succeeded", 0, "status")
    return min(parallelism, max(read_count(spec, "completions", 1) - done, 0))


def make_cron_job_expander(now: str) -> Callable[[Tree], Iterator[Child]]:
    """Return the expander of CronJobs: one Job, as if its schedule came due at ``now`` (RFC 3339)."""
    minutes = int(datetime.fromisoformat(now).timestamp()) // 60

    def expand_cron_job(tree: Tree) -> Iterator[Child]:
        spec = read_object(tree, "spec")
        template = read_object(spec, "jobTemplate")
        labels = read_object(template, "metadata", "labels")
        job = make_workload(tree, "batch/v1", "Job", read_object(template, "spec"), labels)
        yield Child(job, f"{tree['metadata']['name']}-{minutes}")

    return expand_cron_job

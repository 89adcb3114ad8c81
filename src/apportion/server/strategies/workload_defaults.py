"""Defaults of the kinds that controllers turn into pods. Source: pkg/apis/{apps,batch}/v1/defaults.go."""

from collections.abc import Callable
from typing import Final

from apportion.api import Tree
from apportion.api.defaults import set_template_defaults
from apportion.server.strategies.pod_defaults import complete_pod_spec

_QUARTER: Final = "25%"
_INT32_MAX: Final = 2147483647
_KEEP: Final = {"whenDeleted": "Retain", "whenScaled": "Retain"}


def complete_template(template: Tree) -> Tree:
    """Return a pod template with the defaults of its pods."""
    if not isinstance(template.get("spec"), dict):
        return template
    done = set_template_defaults({**template, "spec": complete_pod_spec(template["spec"])})
    return {"metadata": {}, **done}


def _complete_spec(tree: Tree, defaults: Tree) -> Tree:
    spec = {**defaults, **(tree.get("spec") or {})}
    if isinstance(spec.get("template"), dict):
        spec["template"] = complete_template(spec["template"])
    return {**tree, "spec": spec}


def _roll(spec: Tree, name: str, amounts: Tree) -> Tree:
    """Return the spec with an update strategy, and its amounts when it is the rolling one."""
    strategy = {"type": "RollingUpdate", **(spec.get(name) or {})}
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {**amounts, **(strategy.get("rollingUpdate") or {})}
    return {**spec, name: strategy}


def _complete_deployment(tree: Tree) -> Tree:
    tree = _complete_spec(tree, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    return {**tree, "spec": _roll(tree["spec"], "strategy", {"maxUnavailable": _QUARTER, "maxSurge": _QUARTER})}


def _complete_replica_set(tree: Tree) -> Tree:
    tree = _complete_spec(tree, {"replicas": 1})
    return _take_template_labels(tree)


def _take_template_labels(tree: Tree) -> Tree:
    """An object without labels takes those of its template."""
    labels = ((tree["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if not labels or tree["metadata"].get("labels"):
        return tree
    return {**tree, "metadata": {**tree["metadata"], "labels": dict(labels)}}


def _complete_replication_controller(tree: Tree) -> Tree:
    tree = _take_template_labels(_complete_spec(tree, {"replicas": 1}))
    labels = ((tree["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    return {**tree, "spec": {"selector": labels, **tree["spec"]}} if labels else tree


def _complete_stateful_set(tree: Tree) -> Tree:
    defaults = {
        "replicas": 1,
        "serviceName": "",
        "podManagementPolicy": "OrderedReady",
        "revisionHistoryLimit": 10,
        "persistentVolumeClaimRetentionPolicy": _KEEP,
    }
    tree = _complete_spec(tree, defaults)
    spec = _roll(tree["spec"], "updateStrategy", {"partition": 0, "maxUnavailable": 1})
    spec["persistentVolumeClaimRetentionPolicy"] = {**_KEEP, **spec["persistentVolumeClaimRetentionPolicy"]}
    return {**tree, "spec": spec}


def _complete_daemon_set(tree: Tree) -> Tree:
    tree = _complete_spec(tree, {"revisionHistoryLimit": 10})
    return {**tree, "spec": _roll(tree["spec"], "updateStrategy", {"maxUnavailable": 1, "maxSurge": 0})}


def complete_job_spec(spec: Tree) -> Tree:
    """Return the spec of a job; without completions and parallelism, one pod has to succeed."""
    defaults: Tree = {
        "backoffLimit": 6 if spec.get("backoffLimitPerIndex") is None else _INT32_MAX,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed",
    }
    if spec.get("completions") is None and spec.get("parallelism") is None:
        defaults["completions"] = 1
    done: Tree = _complete_spec({"spec": spec}, {"parallelism": 1, **defaults})["spec"]
    return done


def _complete_job(tree: Tree) -> Tree:
    return _take_template_labels({**tree, "spec": complete_job_spec(tree.get("spec") or {})})


def _complete_cron_job(tree: Tree) -> Tree:
    spec = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        **(tree.get("spec") or {}),
    }
    return {**tree, "spec": spec}


WORKLOAD_DEFAULTS: Final[dict[tuple[str, str], Callable[[Tree], Tree]]] = {
    ("apps", "Deployment"): _complete_deployment,
    ("apps", "ReplicaSet"): _complete_replica_set,
    ("apps", "StatefulSet"): _complete_stateful_set,
    ("apps", "DaemonSet"): _complete_daemon_set,
    ("", "ReplicationController"): _complete_replication_controller,
    ("batch", "Job"): _complete_job,
    ("batch", "CronJob"): _complete_cron_job,
}

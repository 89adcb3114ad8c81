"""RayCluster and RayJob, made into pods the way KubeRay does (ray-project/kuberay,
ray-operator/controllers/ray).
"""

from collections.abc import Iterator
from typing import Final

from apportion.api.kinds import Tree
from apportion.sim.pod_templates import (
    Child,
    make_pod,
    make_workload,
    read_count,
    read_list,
    read_object,
    read_template,
)

# What KubeRay's own submitter asks for when the RayJob brings no template of its own.
_SUBMITTER_RESOURCES: Final = {
    "requests": {"cpu": "500m", "memory": "200Mi"},
    "limits": {"cpu": "1", "memory": "1Gi"},
}


def expand_ray_cluster(tree: Tree) -> Iterator[Child]:
    """Yield ``<cluster>-head-…`` and ``<cluster>-<group>-worker-…`` of a RayCluster."""
    name = tree["metadata"]["name"]
    head_path = "spec.headGroupSpec.template"
    head = read_template(tree, read_object(tree, "spec", "headGroupSpec").get("template"), head_path)
    yield Child(make_pod(tree, head, _labels(name, "head", "headgroup")), f"{name}-head-")
    for i, group in enumerate(read_list(tree, "spec", "workerGroupSpecs")):
        path = f"spec.workerGroupSpecs[{i}]"
        if group.get("suspend"):
            continue
        template = read_template(tree, group.get("template"), f"{path}.template")
        group_name = str(group.get("groupName") or f"group{i}")
        replicas = max(read_count(group, "replicas", 0, path), read_count(group, "minReplicas", 0, path))
        count = replicas * read_count(group, "numOfHosts", 1, path)
        pod = make_pod(tree, template, _labels(name, "worker", group_name))
        yield Child(pod, f"{name}-{group_name}-worker-", count)


def _labels(cluster: str, node_type: str, group: str) -> dict[str, str]:
    return {
        "ray.io/cluster": cluster,
        "ray.io/group": group,
        "ray.io/identifier": f"{cluster}-{node_type}",
        "ray.io/is-ray-node": "yes",
        "ray.io/node-type": node_type,
    }


def expand_ray_job(tree: Tree) -> Iterator[Child]:
    """Yield the RayCluster of a RayJob, and the Job that submits to it."""
    spec = read_object(tree, "spec")
    name = tree["metadata"]["name"]
    cluster_spec = read_object(spec, "rayClusterSpec")
    if cluster_spec:
        yield Child(make_workload(tree, tree["apiVersion"], "RayCluster", cluster_spec), f"{name}-raycluster-")
    if spec.get("submissionMode", "K8sJobMode") == "K8sJobMode":
        template = spec.get("submitterPodTemplate") or _default_submitter(cluster_spec)
        job_spec = {"template": template}
        yield Child(make_workload(tree, "batch/v1", "Job", job_spec), name)


def _default_submitter(cluster_spec: Tree) -> Tree:
    containers = read_list(cluster_spec, "headGroupSpec", "template", "spec", "containers")
    image = containers[0].get("image") if containers else None
    container = {
        "name": "ray-job-submitter",
        "image": image or "rayproject/ray",
        "resources": _SUBMITTER_RESOURCES,
    }
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}

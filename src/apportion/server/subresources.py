"""The doors beside an object: binding a pod, scaling a workload, letting go of a namespace."""

from typing import Any

import orjson

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server import errors
from apportion.server.bodies import parse_body
from apportion.server.cells import print_selector
from apportion.server.objects import Objects, Stored
from apportion.server.request import ApiRequest, Target
from apportion.server.timestamps import format_time


def bind_pod(objects: Objects, target: Target, request: ApiRequest, dry_run: bool) -> None:
    """Give a pod its node, once and for all. Source: pkg/registry/core/pod/storage/storage.go.

    Raises ApiError 400, 404 and 409; a uid or resourceVersion in the binding must be the pod's.
    """
    binding, _ = parse_body(request.body, request.content_type, "Binding")
    node = _check_binding(binding, target)
    old = objects.get(target)
    metadata = binding.get("metadata") or {}
    uid = metadata.get("uid")
    if uid and uid != old["metadata"]["uid"]:
        raise errors.wrong_uid("", "pods", target.namespace, target.name, uid, old["metadata"]["uid"])
    spec, status = old.get("spec") or {}, old.get("status") or {}
    why = ""
    if metadata.get("resourceVersion") not in (None, "", old["metadata"]["resourceVersion"]):
        why = errors.MODIFIED_TEXT
    elif old["metadata"].get("deletionTimestamp"):
        why = f"pod {target.name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {target.name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {target.name} has non-empty .spec.schedulingGates"
    if why:
        raise errors.conflict("", "pods/binding", target.name, why)
    now = format_time(objects.clock.now())
    condition = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    others = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    status = {k: v for k, v in status.items() if k != "nominatedNodeName"}  # it has been made true
    new = {**old, "spec": {**spec, "nodeName": node}, "status": {**status, "conditions": [*others, condition]}}
    annotations = metadata.get("annotations")
    if annotations:
        merged = {**(old["metadata"].get("annotations") or {}), **annotations}
        new["metadata"] = {**old["metadata"], "annotations": merged}
    objects.replace(target, new, old, dry_run)


def _check_binding(binding: Tree, target: Target) -> str:
    """Return the node that a binding names."""
    given = (binding.get("metadata") or {}).get("name")
    if given not in (None, "", target.name):
        text = f"the name of the object ({given}) does not match the name on the URL ({target.name})"
        raise errors.bad_request(text)
    destination = binding.get("target")
    destination = destination if isinstance(destination, dict) else {}
    kind, node = destination.get("kind"), destination.get("name")
    if kind not in (None, "", "Node"):
        raise errors.bad_request(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
    if not node or not isinstance(node, str):
        raise errors.bad_request("target.name: Required value")
    return node


def refuse_container(objects: Objects, target: Target) -> errors.ApiError:
    """Return why nobody speaks for the containers of a pod here; raises ApiError 404 for a pod that does not exist."""
    node = (objects.get(target).get("spec") or {}).get("nodeName")
    if not node:
        return errors.bad_request(f"pod {target.name} does not have a host assigned")
    text = f'no container runs behind pod "{target.name}": there is no kubelet on node "{node}" that "{{}}" could ask'
    return errors.ApiError(501, "NotImplemented", text.format(target.subresource), {})


def finalize_namespace(objects: Objects, target: Target, request: ApiRequest, dry_run: bool) -> Stored:
    """Take over the finalizers of a namespace; one that is being deleted goes with its last one."""
    given, _ = parse_body(request.body, request.content_type, "Namespace")
    old = objects.get(target)
    finalizers = (given.get("spec") or {}).get("finalizers") or []
    spec = {k: v for k, v in (old.get("spec") or {}).items() if k != "finalizers"}
    new = {**old, "spec": {**spec, "finalizers": finalizers} if finalizers else spec}
    return objects.replace(target, new, old, dry_run)


# ---- scale ------------------------------------------------------------------------------------------------


def get_scale(tree: Tree) -> Tree:
    """Return the Scale of a workload. Source: pkg/registry/apps/*/storage."""
    metadata = tree["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {n: metadata[n] for n in names if n in metadata},
        "spec": {"replicas": spec.get("replicas", 0)},
        "status": {"replicas": status.get("replicas", 0), "selector": print_selector(spec.get("selector"))},
    }


def update_scale(objects: Objects, target: Target, scale: Any, old: Tree, dry_run: bool) -> Tree:
    """Give a workload the replicas of a Scale; returns the new Scale. Raises ApiError 400, 409 and 422."""
    spec = scale.get("spec") if isinstance(scale, dict) else None
    replicas = (spec or {}).get("replicas", 0)
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise errors.bad_request('Scale in version "v1" cannot be handled as a Scale: spec.replicas must be an integer')
    if replicas < 0:
        why = f"Invalid value: {replicas}: must be greater than or equal to 0"
        raise errors.invalid("autoscaling", "Scale", target.name, [ValidationError("spec.replicas", why)])
    version = (scale.get("metadata") or {}).get("resourceVersion")
    metadata = {**old["metadata"], "resourceVersion": version or old["metadata"]["resourceVersion"]}
    new = {**old, "metadata": metadata, "spec": {**old["spec"], "replicas": replicas}}
    main = Target(target.resource, target.namespace, target.name, "")
    return get_scale(objects.update(main, new, old, dry_run).tree)


def encode_scale(scale: Tree) -> bytes:
    return orjson.dumps(scale)

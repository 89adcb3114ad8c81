"""Who a pod of a StatefulSet is: its ordinal, its name and labels, its volume claims.

Source: pkg/controller/statefulset/stateful_set_utils.go.
"""

import re
from typing import Any, Final

import orjson

from apportion.api import Tree
from apportion.controllers.revisions import REVISION_HASH
from apportion.controllers.workload_objects import Pod, Workload, make_owner_reference

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
_NAME: Final = re.compile(r"(.*)-([0-9]+)", re.DOTALL)
ORDINAL_MAX: Final = 2**31 - 1


def find_ordinal(owner: Workload, pod: Pod) -> int | None:
    """Return the ordinal of a pod, None when its name is not one of the owner's pods."""
    match = _NAME.fullmatch(pod.name)
    if match is None or match[1] != owner.name or int(match[2]) > ORDINAL_MAX:
        return None
    return int(match[2])


def get_range(owner: Workload) -> range:
    """Return the ordinals that should have a pod."""
    start = int((owner.spec.get("ordinals") or {}).get("start", 0))
    return range(start, start + owner.replicas)


def get_pod_name(owner: Workload, ordinal: int) -> str:
    """Return the name of the pod with an ordinal."""
    return f"{owner.name}-{ordinal}"


def get_claim_names(owner: Workload, ordinal: int) -> dict[str, str]:
    """Return the names of a pod's volume claims, by the name of their template."""
    templates = owner.spec.get("volumeClaimTemplates") or ()
    return {t["metadata"]["name"]: f"{t['metadata']['name']}-{owner.name}-{ordinal}" for t in templates}


def make_stateful_pod(owner: Workload, template: Tree, ordinal: int, revision: str) -> Tree:
    """Return the pod with an ordinal, of the template of a revision."""
    name = get_pod_name(owner, ordinal)
    meta = template.get("metadata") or {}
    kept: dict[str, Any] = {n: meta[n] for n in ("annotations", "finalizers") if meta.get(n)}
    labels = {**(meta.get("labels") or {}), **get_identity(name, ordinal), REVISION_HASH: revision}
    metadata = {
        **kept,
        "name": name,
        "namespace": owner.namespace,
        "labels": labels,
        "ownerReferences": [make_owner_reference(owner)],
    }
    spec = {**template["spec"], "hostname": name, "subdomain": owner.spec.get("serviceName") or ""}
    claims = get_claim_names(owner, ordinal)
    if claims:
        volumes = [{"name": n, "persistentVolumeClaim": {"claimName": c}} for n, c in claims.items()]
        spec["volumes"] = volumes + [v for v in spec.get("volumes") or () if v["name"] not in claims]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def get_identity(name: str, ordinal: int) -> dict[str, str]:
    """Return the labels by which a pod can be selected on its own."""
    return {POD_NAME: name, POD_INDEX: str(ordinal)}


def make_claim(owner: Workload, template: Tree, name: str) -> Tree:
    """Return a volume claim of a template; it outlives its pods, and as a rule its set."""
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), **((owner.spec["selector"] or {}).get("matchLabels") or {})}
    metadata: Tree = {"name": name, "namespace": owner.namespace, "labels": labels}
    if meta.get("annotations"):
        metadata["annotations"] = meta["annotations"]
    if get_retention(owner)[0]:
        metadata["ownerReferences"] = [make_owner_reference(owner)]
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}
    done: Tree = orjson.loads(orjson.dumps(body))
    return done


def get_retention(owner: Workload) -> tuple[bool, bool]:
    """Return whether claims go with the set, and whether they go with a pod that scaling down removes."""
    policy = owner.spec.get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenDeleted") == "Delete", policy.get("whenScaled") == "Delete"


def choose_owners(owner: Workload, pod: Pod, is_condemned: bool, known: list[Tree]) -> list[Tree]:
    """Return the owner references that the retention policy wants on the claims of a pod."""
    with_set, with_pod = get_retention(owner)
    others = [r for r in known if r.get("uid") not in (owner.uid, pod.uid)]
    if any(r.get("controller") for r in others):
        return known  # somebody else looks after this claim
    if with_pod and is_condemned:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
        return [*others, {**reference, "controller": True, "blockOwnerDeletion": True}]
    return [*others, make_owner_reference(owner)] if with_set else others


def is_stale(claim: Workload, pod_name: str) -> bool:
    """Return whether a claim goes with a pod that is gone, by the name of the pod that is to be made."""
    references = claim.tree["metadata"].get("ownerReferences") or ()
    return any(r["kind"] == "Pod" and r["name"] == pod_name for r in references)

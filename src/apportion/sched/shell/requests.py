"""Commands as API requests. A patch carries the preconditions of the decision it stems from."""

from typing import Any, Final

import msgspec
import orjson
from msgspec import Raw

from apportion.api.extended_resources import EXTENDED_CLAIM
from apportion.api.storage import BOUND_BY_CONTROLLER, SELECTED_NODE
from apportion.client import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Request
from apportion.sched.framework import (
    AddClaimFinalizer,
    AllocateClaim,
    BindPod,
    BindVolume,
    ClearNomination,
    Command,
    CreateClaim,
    DeallocateClaim,
    DeleteClaim,
    DeletePod,
    GetClaim,
    GetPod,
    MarkDisrupted,
    NominatePod,
    PatchPodCondition,
    RecordExtendedClaim,
    RecordFootprint,
    ReleaseClaim,
    ReserveClaim,
    SelectNode,
    UnreserveClaim,
)

CLAIMS: Final = "resourceclaims"


def _seconds(now: str) -> str:
    """Return a time in the precision of objects; events alone have microseconds."""
    return f"{now[:19]}Z"


def _bind(c: BindPod, now: str) -> Request:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": c.namespace, "name": c.name, "uid": c.uid},
        "target": {"kind": "Node", "name": c.node_name},
    }
    return Request("create", "pods", c.namespace, c.name, orjson.dumps(body), "binding")


def _add_finalizer(c: AddClaimFinalizer, now: str) -> Request:
    meta = {"uid": c.uid, "resourceVersion": c.resource_version, "finalizers": c.finalizers}
    body = orjson.dumps({"metadata": meta})
    return Request("patch", CLAIMS, c.namespace, c.name, body, content_type=MERGE_PATCH)


def _allocate(c: AllocateClaim, now: str) -> Request:
    allocation = c.allocation
    if c.is_timed:
        allocation = msgspec.structs.replace(allocation, allocation_timestamp=_seconds(now))
    body = {
        "metadata": {"uid": c.uid, "resourceVersion": c.resource_version},
        "status": {"allocation": allocation, "reservedFor": [c.consumer]},
    }
    return Request("patch", CLAIMS, c.namespace, c.name, msgspec.json.encode(body), "status", MERGE_PATCH)


def _reserve(c: ReserveClaim, now: str) -> Request:
    if c.is_first:
        meta = {"uid": c.uid, "resourceVersion": c.resource_version}
        first = {"metadata": meta, "status": {"reservedFor": [c.consumer]}}
        return Request("patch", CLAIMS, c.namespace, c.name, msgspec.json.encode(first), "status", MERGE_PATCH)
    tests: list[tuple[str, Any]] = [("/metadata/uid", c.uid)]
    tests += [(path, Raw(value)) for path, value in c.stored] or [("/metadata/resourceVersion", c.resource_version)]
    body = [{"op": "test", "path": path, "value": value} for path, value in tests]
    body.append({"op": "add", "path": "/status/reservedFor/-", "value": c.consumer})
    return Request("patch", CLAIMS, c.namespace, c.name, msgspec.json.encode(body), "status", JSON_PATCH)


def _unreserve(c: UnreserveClaim, now: str) -> Request:
    body = {
        "metadata": {"uid": c.uid},
        "status": {"reservedFor": [{"$patch": "delete", "uid": c.consumer_uid}]},
    }
    return Request("patch", CLAIMS, c.namespace, c.name, orjson.dumps(body), "status", STRATEGIC_MERGE_PATCH)


def _deallocate(c: DeallocateClaim, now: str) -> Request:
    body = {
        "metadata": {"uid": c.uid, "resourceVersion": c.resource_version},
        "status": {"allocation": None, "reservedFor": None, "devices": None},
    }
    return Request("patch", CLAIMS, c.namespace, c.name, orjson.dumps(body), "status", MERGE_PATCH)


def _create_claim(c: CreateClaim, now: str) -> Request:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": c.pod_name, "uid": c.pod_uid, "controller": True}
    meta = {
        "name": c.name,
        "generateName": c.generate_name,
        "namespace": c.namespace,
        "annotations": {EXTENDED_CLAIM: "true"},
        "ownerReferences": [owner],
    }
    body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta, "spec": c.spec}
    return Request("create", CLAIMS, c.namespace, c.name, msgspec.json.encode(body))


def _release_claim(c: ReleaseClaim, now: str) -> Request:
    body = orjson.dumps({"metadata": {"uid": c.uid, "$deleteFromPrimitiveList/finalizers": [c.finalizer]}})
    return Request("patch", CLAIMS, c.namespace, c.name, body, content_type=STRATEGIC_MERGE_PATCH)


def _delete_claim(c: DeleteClaim, now: str) -> Request:
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": c.uid}}
    return Request("delete", CLAIMS, c.namespace, c.name, orjson.dumps(body))


def _record_extended(c: RecordExtendedClaim, now: str) -> Request:
    mappings = [{"containerName": m[0], "resourceName": m[1], "requestName": m[2]} for m in c.mappings]
    status = {"extendedResourceClaimStatus": {"requestMappings": mappings, "resourceClaimName": c.claim_name}}
    body = orjson.dumps({"metadata": {"uid": c.uid}, "status": status})
    return Request("patch", "pods", c.namespace, c.name, body, "status", MERGE_PATCH)


def _record_footprint(c: RecordFootprint, now: str) -> Request:
    status = {"nodeAllocatableResourceClaimStatuses": c.claims or None}
    body = msgspec.json.encode({"metadata": {"uid": c.uid}, "status": status})
    return Request("patch", "pods", c.namespace, c.name, body, "status", MERGE_PATCH)


def _bind_volume(c: BindVolume, now: str) -> Request:
    meta: dict[str, Any] = {"uid": c.uid, "resourceVersion": c.resource_version}
    if c.mark:
        meta["annotations"] = {BOUND_BY_CONTROLLER: "yes"}
    body = msgspec.json.encode({"metadata": meta, "spec": {"claimRef": c.claim}})
    return Request("patch", "persistentvolumes", "", c.name, body, content_type=MERGE_PATCH)


def _select_node(c: SelectNode, now: str) -> Request:
    meta = {"uid": c.uid, "resourceVersion": c.resource_version, "annotations": {SELECTED_NODE: c.node_name}}
    body = orjson.dumps({"metadata": meta})
    return Request("patch", "persistentvolumeclaims", c.namespace, c.name, body, content_type=MERGE_PATCH)


def _patch_condition(c: PatchPodCondition, now: str) -> Request:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": c.reason,
        "message": c.message,
        "lastProbeTime": None,
        "lastTransitionTime": _seconds(now),
        **({"observedGeneration": c.generation} if c.generation else {}),
    }
    status: dict[str, Any] = {"conditions": [condition]}
    if c.nominated_node_name is not None:
        status["nominatedNodeName"] = c.nominated_node_name or None
    meta = {"uid": c.uid, "resourceVersion": c.resource_version}
    body = {"metadata": meta, "status": status}
    return Request("patch", "pods", c.namespace, c.name, orjson.dumps(body), "status", STRATEGIC_MERGE_PATCH)


def _mark_disrupted(c: MarkDisrupted, now: str) -> Request:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": c.message,
        "lastTransitionTime": _seconds(now),
    }
    body = {"metadata": {"uid": c.uid}, "status": {"conditions": [condition]}}
    return Request("patch", "pods", c.namespace, c.name, orjson.dumps(body), "status", STRATEGIC_MERGE_PATCH)


def _delete_pod(c: DeletePod, now: str) -> Request:
    body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": c.uid}}
    return Request("delete", "pods", c.namespace, c.name, orjson.dumps(body))


def _clear_nomination(c: ClearNomination, now: str) -> Request:
    body = {"metadata": {"uid": c.uid}, "status": {"nominatedNodeName": None}}
    return Request("patch", "pods", c.namespace, c.name, orjson.dumps(body), "status", STRATEGIC_MERGE_PATCH)


def _nominate(c: NominatePod, now: str) -> Request:
    body = {"metadata": {"uid": c.uid}, "status": {"nominatedNodeName": c.node_name}}
    return Request("patch", "pods", c.namespace, c.name, orjson.dumps(body), "status", STRATEGIC_MERGE_PATCH)


def _get_pod(c: GetPod, now: str) -> Request:
    return Request("get", "pods", c.namespace, c.name)


def _get_claim(c: GetClaim, now: str) -> Request:
    return Request("get", CLAIMS, c.namespace, c.name)


_BUILDERS: Final[dict[type, Any]] = {
    BindPod: _bind,
    AddClaimFinalizer: _add_finalizer,
    AllocateClaim: _allocate,
    ReserveClaim: _reserve,
    UnreserveClaim: _unreserve,
    DeallocateClaim: _deallocate,
    CreateClaim: _create_claim,
    ReleaseClaim: _release_claim,
    DeleteClaim: _delete_claim,
    RecordExtendedClaim: _record_extended,
    RecordFootprint: _record_footprint,
    BindVolume: _bind_volume,
    SelectNode: _select_node,
    PatchPodCondition: _patch_condition,
    MarkDisrupted: _mark_disrupted,
    DeletePod: _delete_pod,
    ClearNomination: _clear_nomination,
    NominatePod: _nominate,
    GetPod: _get_pod,
    GetClaim: _get_claim,
}


def request_of(command: Command, now: str) -> Request:
    """Return the API request that carries out ``command``; ``now`` is the time in RFC 3339 with microseconds."""
    request: Request = _BUILDERS[type(command)](command, now)
    return request

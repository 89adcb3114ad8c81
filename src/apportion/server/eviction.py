"""Evicting a pod: a deletion that disruption budgets may refuse. Source: pkg/registry/core/pod/storage/eviction.go."""

from collections.abc import Sequence
from typing import Any, Final

import orjson
from msgspec.structs import replace

from apportion.api import Tree, compile_label_selector, decode_as
from apportion.api.view import LabelSelector
from apportion.server import errors
from apportion.server.bodies import parse_body
from apportion.server.deletion import DeleteOptions, check_preconditions, delete_object
from apportion.server.objects import Objects
from apportion.server.request import ApiRequest, Parameters, Target
from apportion.server.resources import get_resource
from apportion.server.timestamps import format_time

_OVER: Final = ("Succeeded", "Failed")
_TEXT: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_MANY: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_RETRY_AFTER_S: Final = 10
_CONDITION: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


def evict_pod(objects: Objects, target: Target, request: ApiRequest, parameters: Parameters) -> None:
    """Delete a pod unless its budget forbids it. Raises ApiError 400, 404, 409, 429 and 500."""
    eviction, _ = parse_body(request.body, request.content_type, "Eviction")
    given = (eviction.get("metadata") or {}).get("name")
    if given not in (None, "", target.name):
        text = f"name in URL does not match name in Eviction object: {target.name} != {given}"
        raise errors.bad_request(text)
    options = DeleteOptions.from_tree(eviction.get("deleteOptions") or {}, parameters)
    pod = Target(target.resource, target.namespace, target.name, "")
    tree = objects.get(pod)
    check_preconditions(tree, pod, options)
    if not _is_free(tree):
        _ask_budgets(objects, target.namespace, tree, options.dry_run)
        _mark(objects, target, tree, options.dry_run)
    delete_object(objects, pod, replace(options, version=None))  # the mark has made another version of it


def _is_free(pod: Tree) -> bool:
    """Return whether no budget counts a pod: it has not run yet, or does so no more."""
    return pod["metadata"].get("deletionTimestamp") is not None or pod["status"].get("phase") in (*_OVER, "Pending")


def _ask_budgets(objects: Objects, namespace: str, pod: Tree, dry_run: bool) -> None:
    budgets = _find_budgets(objects, namespace, pod)
    if len(budgets) > 1:
        raise errors.ApiError(500, "InternalError", f"Internal error occurred: {_MANY}", {})
    for budget in budgets:
        if not _may_go_unready(budget, pod):
            _take(objects, budget, pod, dry_run)


def _find_budgets(objects: Objects, namespace: str, pod: Tree) -> list[Tree]:
    entries = objects.store.list_entries(get_resource("poddisruptionbudgets").storage, namespace)
    labels = pod["metadata"].get("labels") or {}
    budgets: Sequence[Tree] = [orjson.loads(e.value) for e in entries]
    return [b for b in budgets if _selects(b["spec"].get("selector"), labels)]


def _selects(selector: Any, labels: dict[str, str]) -> bool:
    """Return whether a budget is about a pod: one without a selector is about none, an empty one about all."""
    if selector is None:
        return False
    return compile_label_selector(decode_as(LabelSelector, orjson.dumps(selector)), "spec.selector").matches(labels)


def _may_go_unready(budget: Tree, pod: Tree) -> bool:
    """Return whether the budget does not protect the pod since it is not ready. Source: KEP-3017."""
    conditions = pod["status"].get("conditions") or ()
    if any(c.get("type") == "Ready" and c.get("status") == "True" for c in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted = status.get("desiredHealthy", 0)
    return bool(wanted > 0 and status.get("currentHealthy", 0) >= wanted)


def _take(objects: Objects, budget: Tree, pod: Tree, dry_run: bool) -> None:
    """Use up one disruption of a budget; raises ApiError 429 when there is none."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name = metadata["name"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        raise _refuse(f"The disruption budget {name} is still being processed by the server.", _RETRY_AFTER_S)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        raise _refuse(f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently")
    gone = {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: format_time(objects.clock.now())}
    new = {**budget, "status": {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": gone}}
    target = Target(get_resource("poddisruptionbudgets"), metadata["namespace"], name, "status")
    objects.update(target, new, budget, dry_run)


def _refuse(why: str, retry_after_s: int = 0) -> errors.ApiError:
    details: Tree = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if not retry_after_s:
        return errors.ApiError(429, "TooManyRequests", _TEXT, details)
    details["retryAfterSeconds"] = retry_after_s
    return errors.ApiError(429, "TooManyRequests", _TEXT, details, (("Retry-After", str(retry_after_s)),))


def _mark(objects: Objects, target: Target, pod: Tree, dry_run: bool) -> None:
    """Say in the pod's status why it goes."""
    status = pod["status"]
    others = [c for c in status.get("conditions") or () if c.get("type") != _CONDITION["type"]]
    condition = {**_CONDITION, "lastTransitionTime": format_time(objects.clock.now())}
    new = {**pod, "status": {**status, "conditions": [*others, condition]}}
    objects.update(Target(target.resource, target.namespace, target.name, "status"), new, pod, dry_run)

"""Creating, deleting, adopting and releasing the pods of a workload, with the events that say so.

Behaviour: pkg/controller/controller_utils.go and controller_ref_manager.go upstream.
"""

from collections.abc import Iterable
from typing import Any, Final

import orjson

from apportion.api import Tree
from apportion.base import Rng
from apportion.client import STRATEGIC_MERGE_PATCH, Request, Response, is_unknown
from apportion.controllers.event_recorder import EventRecorder
from apportion.controllers.object_cache import Item, ObjectCache
from apportion.controllers.steps import Refused, Steps, change
from apportion.controllers.workload_objects import Pod, Workload, decode_pod, make_owner_reference

PREFIX_MAX: Final = 58  # 63 less five random characters
_ATTEMPTS_MAX: Final = 3


class PodControl:
    """Writes pods; what the API answered is in the cache before anybody looks again."""

    def __init__(self, pods: ObjectCache[Pod], recorder: EventRecorder, rng: Rng) -> None:
        self._pods = pods
        self._recorder = recorder
        self._rng = rng
        # names of pods of which nobody knows whether they were created, by the owner's uid, the prefix and the slot
        self._uncertain: dict[tuple[str, str, str], str] = {}

    # ---- creating -----------------------------------------------------------------------------------------

    def create(self, owner: Workload, template: Tree, prefix: str = "", slot: str = "") -> Steps[Pod]:
        """Create a pod from a template under a generated name; raises Refused.

        The name is drawn here: an answer that was lost leaves the name behind, and the next attempt to fill the same
        ``slot``, among whose pods the owner makes no difference, finds the pod.
        """
        prefix = (prefix or f"{owner.name}-")[:PREFIX_MAX]
        body = make_pod(owner, template)
        body["metadata"]["generateName"] = prefix
        try:
            pod = yield from self._create_named(owner, body, prefix, slot)
        except Refused as refusal:
            if not refusal.is_namespace_ending:
                message = f"Error creating: {refusal}"
                yield from self._recorder.record(owner, "Warning", "FailedCreate", message)
            raise
        yield from self._recorder.record(owner, "Normal", "SuccessfulCreate", f"Created pod: {pod.name}")
        return pod

    def _create_named(self, owner: Workload, body: Tree, prefix: str, slot: str) -> Steps[Pod]:
        place = (owner.uid, prefix, slot)
        if self._pods.find(owner.namespace, self._uncertain.get(place, "")) is not None:
            del self._uncertain[place]  # the watch has told of it: this is about another pod
        for attempt in range(_ATTEMPTS_MAX):
            name = self._uncertain.get(place) or prefix + self._rng.suffix()
            body["metadata"]["name"] = name
            request = Request("create", "pods", owner.namespace, "", orjson.dumps(body))
            response = yield request
            if is_unknown(response.code):
                self._uncertain[place] = name
                raise Refused(request, response)
            self._uncertain.pop(place, None)
            if response.code < 300:
                return self._pods.confirm(response.body)
            found = yield from self._find_taken(owner, name, response)
            if found is not None:
                return found
            if response.code != 409 or attempt == _ATTEMPTS_MAX - 1:
                raise Refused(request, response)
        raise AssertionError("unreachable")

    def _find_taken(self, owner: Workload, name: str, response: Response) -> Steps[Pod | None]:
        """Return the pod under a taken name if it is the one that an earlier attempt created."""
        if response.code != 409:
            return None
        found = yield Request("get", "pods", owner.namespace, name)
        if found.code >= 300:
            return None
        pod = self._pods.confirm(found.body)
        controller = pod.metadata.controller
        return pod if controller is not None and controller.uid == owner.uid else None

    # ---- deleting -----------------------------------------------------------------------------------------

    def delete(self, owner: Workload, pod: Pod) -> Steps[bool]:
        """Delete a pod, this one and no other of its name; False when it was gone. Raises Refused."""
        try:
            response = yield from delete_pod(pod)
        except Refused as refusal:
            yield from self._recorder.record(owner, "Warning", "FailedDelete", f"Error deleting: {refusal}")
            raise
        if response is None:
            self._pods.forget(pod)
            return False
        self._pods.confirm(response.body)
        yield from self._recorder.record(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")
        return True


def delete_pod(pod: Pod) -> Steps[Response | None]:
    """Delete a pod; returns the pod as it is then, None when it is gone. Raises Refused."""
    meta = pod.metadata
    body = orjson.dumps({"preconditions": {"uid": pod.uid}})
    try:
        return (yield from change(Request("delete", "pods", meta.namespace, meta.name, body), pod.uid))
    except Refused as refusal:
        if not is_unknown(refusal.code):
            raise
        response = yield Request("get", "pods", meta.namespace, meta.name)
        if response.code == 404 or (response.code < 300 and decode_pod(response.body).uid != pod.uid):
            return None
        if response.code >= 300 or not decode_pod(response.body).is_deleted:
            raise
        return response


def make_pod(owner: Workload, template: Tree) -> Tree:
    """Return a pod of a template, without a name."""
    meta = template.get("metadata") or {}
    kept: dict[str, Any] = {name: meta[name] for name in ("labels", "annotations", "finalizers") if meta.get(name)}
    references = {"namespace": owner.namespace, "ownerReferences": [make_owner_reference(owner)]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**kept, **references}, "spec": template.get("spec") or {}}


# ---- whose it is ------------------------------------------------------------------------------------------


def patch_owner(
    resource: str, item: Item, reference: Tree, add: Iterable[str] = (), remove: Iterable[str] = ()
) -> Steps[Response | None]:
    """Add, or with a ``$patch`` take away, an owner reference; finalizers come and go with it. None: it is gone."""
    meta = item.metadata
    wanted: Tree = {"uid": meta.uid, "ownerReferences": [reference]}
    if add:
        wanted["finalizers"] = list(add)
    if remove:
        wanted["$deleteFromPrimitiveList/finalizers"] = list(remove)
    body = orjson.dumps({"metadata": wanted})
    request = Request("patch", resource, meta.namespace, meta.name, body, content_type=STRATEGIC_MERGE_PATCH)
    return (yield from change(request, meta.uid))

"""Writing the pods of a StatefulSet and their volume claims. Source: statefulset/stateful_pod_control.go."""

from typing import Any, Final

import orjson

from apportion.client import MERGE_PATCH, Request
from apportion.controllers.event_recorder import EventRecorder
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.pod_control import delete_pod
from apportion.controllers.revisions import get_template
from apportion.controllers.stateful_pods import (
    choose_owners,
    find_ordinal,
    get_claim_names,
    get_identity,
    get_pod_name,
    is_stale,
    make_claim,
    make_stateful_pod,
)
from apportion.controllers.steps import Refused, Steps, send
from apportion.controllers.workload_objects import Pod, Workload

CLAIMS: Final = "persistentvolumeclaims"


class StatefulControl:
    """Writes pods and claims; what the API answered is in the caches at once. Everything raises Refused."""

    def __init__(self, pods: ObjectCache[Pod], claims: ObjectCache[Workload], recorder: EventRecorder) -> None:
        self._pods = pods
        self._claims = claims
        self._recorder = recorder

    # ---- pods ---------------------------------------------------------------------------------------------

    def create(self, owner: Workload, ordinal: int, revision: Workload) -> Steps[bool]:
        """Create a pod and what claims it lacks; False while a claim of its predecessor is there."""
        name = get_pod_name(owner, ordinal)
        if any(c.is_deleted or is_stale(c, name) for c in self._find_claims(owner, ordinal)):
            return False
        try:
            yield from self.create_claims(owner, ordinal)
            body = make_stateful_pod(owner, get_template(revision), ordinal, revision.name)
            yield from self._create_pod(owner, name, body)
        except Refused as refusal:
            text = f"create Pod {name} in StatefulSet {owner.name} failed error: {refusal}"
            if not refusal.is_namespace_ending:
                yield from self._recorder.record(owner, "Warning", "FailedCreate", text)
            raise
        text = f"create Pod {name} in StatefulSet {owner.name} successful"
        yield from self._recorder.record(owner, "Normal", "SuccessfulCreate", text)
        return True

    def _create_pod(self, owner: Workload, name: str, body: dict[str, Any]) -> Steps[None]:
        request = Request("create", "pods", owner.namespace, "", orjson.dumps(body))
        response = yield from send(request, 409)
        if response.code != 409:
            self._pods.confirm(response.body)
            return
        taken = yield from send(Request("get", "pods", owner.namespace, name))
        controller = self._pods.confirm(taken.body).metadata.controller
        if controller is None or controller.uid != owner.uid:
            raise Refused(request, response)

    def delete(self, owner: Workload, pod: Pod) -> Steps[None]:
        """Delete a pod, this one and no later one of its name."""
        what = f"delete Pod {pod.name} in StatefulSet {owner.name}"
        try:
            response = yield from delete_pod(pod)
        except Refused as refusal:
            yield from self._recorder.record(owner, "Warning", "FailedDelete", f"{what} failed error: {refusal}")
            raise
        if response is not None:
            self._pods.confirm(response.body)
            yield from self._recorder.record(owner, "Normal", "SuccessfulDelete", f"{what} successful")
        else:
            self._pods.forget(pod)

    def restore_identity(self, owner: Workload, ordinal: int, pod: Pod) -> Steps[None]:
        """Give a pod the labels back by which it is found."""
        identity = get_identity(pod.name, ordinal)
        if identity.items() <= pod.labels.items():
            return
        body = orjson.dumps({"metadata": {"uid": pod.uid, "labels": identity}})
        request = Request("patch", "pods", owner.namespace, pod.name, body, content_type=MERGE_PATCH)
        response = yield from send(request, 404)
        if response.code < 300:
            self._pods.confirm(response.body)

    # ---- claims -------------------------------------------------------------------------------------------

    def _find_claims(self, owner: Workload, ordinal: int) -> list[Workload]:
        found = (self._claims.find(owner.namespace, n) for n in get_claim_names(owner, ordinal).values())
        return [c for c in found if c is not None]

    def create_claims(self, owner: Workload, ordinal: int) -> Steps[None]:
        """Create the claims that a pod lacks."""
        names = get_claim_names(owner, ordinal)
        for template in owner.spec.get("volumeClaimTemplates") or ():
            name = names[template["metadata"]["name"]]
            if self._claims.find(owner.namespace, name) is None:
                yield from self._create_claim(owner, template, name, get_pod_name(owner, ordinal))

    def _create_claim(self, owner: Workload, template: dict[str, Any], name: str, pod_name: str) -> Steps[None]:
        body = orjson.dumps(make_claim(owner, template, name))
        what = f"create Claim {name} Pod {pod_name} in StatefulSet {owner.name}"
        try:
            response = yield from send(Request("create", CLAIMS, owner.namespace, "", body), 409)
        except Refused as refusal:
            yield from self._recorder.record(owner, "Warning", "FailedCreate", f"{what} failed error: {refusal}")
            raise
        if response.code < 300:
            self._claims.confirm(response.body)
            yield from self._recorder.record(owner, "Normal", "SuccessfulCreate", f"{what} success")

    def set_claim_owners(self, owner: Workload, pod: Pod, is_condemned: bool) -> Steps[None]:
        """Have the claims of a pod go with the set, with the pod, or with neither."""
        ordinal = find_ordinal(owner, pod)
        for claim in self._find_claims(owner, ordinal) if ordinal is not None else ():
            known = claim.tree["metadata"].get("ownerReferences") or []
            wanted = choose_owners(owner, pod, is_condemned, known)
            if wanted == known:
                continue
            guard = {"uid": claim.uid, "resourceVersion": claim.metadata.resource_version}
            body = orjson.dumps({"metadata": {**guard, "ownerReferences": wanted or None}})
            request = Request("patch", CLAIMS, claim.namespace, claim.name, body, content_type=MERGE_PATCH)
            response = yield from send(request, 404)
            if response.code < 300:
                self._claims.confirm(response.body)

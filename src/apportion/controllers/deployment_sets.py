"""Writing the replica sets of a deployment: the new one, their sizes, their revisions, and clearing old ones away.

Source: pkg/controller/deployment/sync.go and util/deployment_util.go.
"""

from typing import Final

import orjson

from apportion.api import Tree
from apportion.client import MERGE_PATCH, Request
from apportion.controllers.deployment_look import (
    DESIRED,
    HASH_LABEL,
    LARGEST,
    REVISION,
    DeploymentLook,
    get_revision,
    strip_hash,
)
from apportion.controllers.event_recorder import EventRecorder
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.steps import Refused, Steps, change, send
from apportion.controllers.template_hash import hash_template
from apportion.controllers.workload_objects import Workload, decode_workload, make_owner_reference

SETS: Final = "replicasets"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
HISTORY_MAX: Final = 2000  # characters
_NOT_COPIED: Final = frozenset({
    "kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, LARGEST,
    "deprecated.deployment.rollback.to",
})  # fmt: skip


class NameTakenError(Refused):
    """The name of a new set belongs to another template; the deployment has to count a collision."""


class SetControl:
    """Writes replica sets; what the API answered is in the cache and in the look at once."""

    def __init__(self, sets: ObjectCache[Workload], recorder: EventRecorder) -> None:
        self._sets = sets
        self._recorder = recorder

    # ---- the new set --------------------------------------------------------------------------------------

    def update_new(self, look: DeploymentLook, revision: int) -> Steps[None]:
        """Give the new set the deployment's annotations, its revision and its minimum of ready seconds."""
        new = look.new
        assert new is not None
        known = dict(new.metadata.annotations)
        annotations = _annotate(look, known, revision, is_known=True)
        patch: Tree = {}
        if annotations != known:
            patch["metadata"] = {"annotations": annotations}
        if new.min_ready_s != look.owner.min_ready_s:
            patch["spec"] = {"minReadySeconds": look.owner.min_ready_s}
        if patch:
            yield from self._patch(look, new, patch)

    def create_new(self, look: DeploymentLook, revision: int) -> Steps[None]:
        """Create the set for the deployment's template; raises NameTakenError, Refused."""
        body = _make_set(look, revision)
        request = Request("create", SETS, look.owner.namespace, "", orjson.dumps(body))
        response = yield request
        if response.code == 409:
            yield from self._find_taken(look, request, body)
            return
        if response.code >= 300:
            raise Refused(request, response)
        look.add_new(self._sets.confirm(response.body))
        size = body["spec"]["replicas"]
        if size:
            text = f"Scaled up replica set {body['metadata']['name']} from 0 to {size}"
            yield from self._recorder.record(look.owner, "Normal", "ScalingReplicaSet", text)

    def _find_taken(self, look: DeploymentLook, request: Request, body: Tree) -> Steps[None]:
        """Take the set that has the name if it is the one that was to be made."""
        name = body["metadata"]["name"]
        response = yield from send(Request("get", SETS, look.owner.namespace, name))
        found = decode_workload(response.body)
        controller = found.metadata.controller
        is_mine = controller is not None and controller.uid == look.owner.uid
        if not is_mine or strip_hash(found.spec["template"]) != strip_hash(look.template):
            raise NameTakenError(request, response)
        look.add_new(self._sets.confirm(response.body))

    # ---- sizes --------------------------------------------------------------------------------------------

    def scale(self, look: DeploymentLook, target: Workload, size: int) -> Steps[bool]:
        """Give a set its size, and write down for which size of the deployment; returns whether the size changed."""
        wanted = {DESIRED: str(look.wanted), LARGEST: str(look.largest)}
        before = target.replicas
        patch: Tree = {}
        if before != size:
            patch["spec"] = {"replicas": size}
        if not wanted.items() <= target.metadata.annotations.items():
            patch["metadata"] = {"annotations": wanted}
        if patch:
            yield from self._patch(look, target, patch)
        if before != size:
            direction = "up" if size > before else "down"
            text = f"Scaled {direction} replica set {target.name} from {before} to {size}"
            yield from self._recorder.record(look.owner, "Normal", "ScalingReplicaSet", text)
        return before != size

    def clean_up(self, look: DeploymentLook) -> Steps[None]:
        """Delete the oldest empty sets beyond the limit of revisions."""
        limit = look.owner.spec.get("revisionHistoryLimit")
        olds = sorted((s for s in look.olds if not s.is_deleted), key=lambda s: (get_revision(s), s.name))
        if limit is None or len(olds) <= limit:
            return
        for old in olds[: len(olds) - int(limit)]:
            is_seen = old.count("observedGeneration") >= old.metadata.generation
            if old.count("replicas") or old.replicas or not is_seen:
                continue
            body = orjson.dumps({"preconditions": {"uid": old.uid}, "propagationPolicy": "Background"})
            yield from change(Request("delete", SETS, old.namespace, old.name, body), old.uid)
            self._sets.forget(old)

    def _patch(self, look: DeploymentLook, target: Workload, patch: Tree) -> Steps[None]:
        body = orjson.dumps({**patch, "metadata": {**patch.get("metadata", {}), "uid": target.uid}})
        request = Request("patch", SETS, target.namespace, target.name, body, content_type=MERGE_PATCH)
        response = yield from send(request)
        look.put(self._sets.confirm(response.body))


def get_new_name(look: DeploymentLook) -> str:
    """Return the name of the set for the deployment's template."""
    return f"{look.owner.name}-{hash_template(look.template, look.collisions)}"


def _make_set(look: DeploymentLook, revision: int) -> Tree:
    owner = look.owner
    name_hash = hash_template(look.template, look.collisions)
    selector = owner.spec["selector"]
    labels = {**(look.template["metadata"].get("labels") or {}), HASH_LABEL: name_hash}
    meta = {
        "name": get_new_name(look),
        "namespace": owner.namespace,
        "labels": labels,
        "annotations": _annotate(look, {}, revision, is_known=False),
        "ownerReferences": [make_owner_reference(owner)],
    }
    spec = {
        "replicas": look.get_new_size(0),
        "minReadySeconds": owner.min_ready_s,
        "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: name_hash}},
        "template": {**look.template, "metadata": {**look.template["metadata"], "labels": labels}},
    }
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}


def _annotate(look: DeploymentLook, known: dict[str, str], revision: int, is_known: bool) -> dict[str, str]:
    """Return the annotations of the new set."""
    copied = {k: v for k, v in look.owner.metadata.annotations.items() if k not in _NOT_COPIED}
    done = {**known, **copied}
    before = known.get(REVISION)
    if before is None or (before.isdecimal() and int(before) < revision):
        done[REVISION] = str(revision)
        if before is not None:  # the deployment went back to this set
            done[HISTORY] = _extend_history(known.get(HISTORY, ""), before)
    if not is_known:
        done.update({DESIRED: str(look.wanted), LARGEST: str(look.largest)})
    return done


def _extend_history(history: str, revision: str) -> str:
    revisions = [*filter(None, history.split(",")), revision]
    while len(",".join(revisions)) > HISTORY_MAX:
        del revisions[0]
    return ",".join(revisions)

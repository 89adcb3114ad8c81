"""ControllerRevisions: the templates that a workload had, so that it can go back and pods can tell which one is theirs.

Behaviour: pkg/controller/history and the update files of the daemon and stateful set controllers upstream.
"""

from collections.abc import Collection
from typing import Final

import orjson

from apportion.api import Tree
from apportion.client import MERGE_PATCH, Request
from apportion.controllers.object_cache import ObjectCache
from apportion.controllers.steps import Refused, Steps, change, send
from apportion.controllers.template_hash import hash_template
from apportion.controllers.workload_objects import Workload, decode_workload, make_owner_reference

REVISIONS: Final = "controllerrevisions"
REVISION_HASH: Final = "controller-revision-hash"
PREFIX_MAX: Final = 223


class CollisionError(Refused):
    """The name of a new revision belongs to another template; the workload has to count a collision."""


def make_data(template: Tree) -> Tree:
    """Return what a revision holds: the patch that gives a workload its template back."""
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def get_template(revision: Workload) -> Tree:
    """Return the template in a revision."""
    template: Tree = revision.tree["data"]["spec"]["template"]
    return {k: v for k, v in template.items() if k != "$patch"}


def get_number(revision: Workload) -> int:
    """Return the number of a revision; a higher one is newer."""
    return int(revision.tree.get("revision", 0))


def sort_revisions(revisions: Collection[Workload]) -> list[Workload]:
    """Return revisions, oldest first."""
    return sorted(revisions, key=lambda r: (get_number(r), r.metadata.creation_timestamp or "", r.name))


class RevisionControl:
    """Writes revisions; ``label`` is where their hash stands."""

    def __init__(self, revisions: ObjectCache[Workload], label: str) -> None:
        self._revisions = revisions
        self._label = label

    def bring_up(self, owner: Workload, known: list[Workload], collisions: int | None) -> Steps[Workload]:
        """Return the revision of the owner's template, as the newest one; ``known`` is sorted.

        Raises CollisionError, Refused.
        """
        data = make_data(owner.spec["template"])
        found = next((r for r in reversed(known) if r.tree["data"] == data), None)
        number = get_number(known[-1]) + 1 if known else 1
        if found is None:
            return (yield from self._create(owner, data, number, collisions))
        if get_number(found) == number - 1:
            return found
        body = orjson.dumps({"metadata": {"uid": found.uid}, "revision": number})
        request = Request("patch", REVISIONS, found.namespace, found.name, body, content_type=MERGE_PATCH)
        return self._revisions.confirm((yield from send(request)).body)

    def _create(self, owner: Workload, data: Tree, number: int, collisions: int | None) -> Steps[Workload]:
        template_hash = hash_template(owner.spec["template"], collisions)
        labels = (owner.spec["template"].get("metadata") or {}).get("labels") or {}
        meta = {
            "name": f"{owner.name[:PREFIX_MAX]}-{template_hash}",
            "namespace": owner.namespace,
            "labels": {**labels, self._label: template_hash},
            "annotations": dict(owner.metadata.annotations),
            "ownerReferences": [make_owner_reference(owner)],
        }
        body = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "data": data}
        request = Request("create", REVISIONS, owner.namespace, "", orjson.dumps({**body, "revision": number}))
        response = yield from send(request, 409)
        if response.code != 409:
            return self._revisions.confirm(response.body)
        response = yield from send(Request("get", REVISIONS, owner.namespace, str(meta["name"])))
        taken = decode_workload(response.body)
        controller = taken.metadata.controller
        if controller is None or controller.uid != owner.uid or taken.tree["data"] != data:
            raise CollisionError(request, response)
        return self._revisions.confirm(response.body)

    def clean_up(self, owner: Workload, known: list[Workload], live: Collection[str], count: int) -> Steps[None]:
        """Delete the oldest revisions, except those named in ``live``; ``count`` is how many count for the limit."""
        idle = [r for r in known if r.name not in live]
        limit = int(owner.spec.get("revisionHistoryLimit", 10))
        for revision in idle[: max(count - limit, 0)]:
            body = orjson.dumps({"preconditions": {"uid": revision.uid}})
            yield from change(Request("delete", REVISIONS, owner.namespace, revision.name, body), revision.uid)
            self._revisions.forget(revision)

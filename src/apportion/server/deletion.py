"""Deleting: preconditions, grace, finalizers, propagation. Source: apiserver/pkg/registry/generic/registry/store.go."""

from typing import Any, Final

from msgspec import Struct

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server import errors, protobuf
from apportion.server.bodies import parse_body, parse_dry_run
from apportion.server.objects import Objects, Stored
from apportion.server.request import ApiRequest, Parameters, Target
from apportion.server.timestamps import format_time, parse_time
from apportion.server.versions import encode

_PROPAGATIONS: Final = ("Foreground", "Background", "Orphan")
_HELD_BY: Final = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
_FINISHED: Final = ("Succeeded", "Failed")
_DEFAULT_GRACE_S: Final = 30


class DeleteOptions(Struct, frozen=True):
    """What a deletion asks for; None where nothing was said."""

    grace_s: int | None = None
    propagation: str | None = None
    uid: str | None = None
    version: str | None = None
    dry_run: bool = False

    @classmethod
    def parse(cls, request: ApiRequest, parameters: Parameters) -> "DeleteOptions":
        """Read the body, and the query where the body is silent; raises ApiError 400 and 422."""
        return cls.from_tree(_parse_options(request), parameters)

    @classmethod
    def from_tree(cls, given: Tree, parameters: Parameters) -> "DeleteOptions":
        """Read options that were parsed already; raises ApiError 400 and 422."""
        if not isinstance(given.get("gracePeriodSeconds", 0), int | None):
            raise errors.bad_request("the delete options must be an object of kind DeleteOptions")
        preconditions = given.get("preconditions") or {}
        propagation = given.get("propagationPolicy") or parameters.get("propagationPolicy") or None
        if propagation not in (None, *_PROPAGATIONS):
            known = ", ".join(f'"{p}"' for p in (*_PROPAGATIONS, "nil"))
            problem = f'Unsupported value: "{propagation}": supported values: {known}'
            raise errors.invalid("meta.k8s.io", "DeleteOptions", "", [ValidationError("propagationPolicy", problem)])
        grace = given.get("gracePeriodSeconds", parameters.get_int("gracePeriodSeconds"))
        orphan = given.get("orphanDependents", parameters.get_bool("orphanDependents"))
        return cls(
            None if grace is None else max(int(grace), 0),
            "Orphan" if orphan else propagation,
            preconditions.get("uid"),
            preconditions.get("resourceVersion"),
            given.get("dryRun") == ["All"] or parse_dry_run(parameters, "DeleteOptions"),
        )


def _parse_options(request: ApiRequest) -> dict[str, Any]:
    if not request.body.strip():
        return {}
    # a client that names no type, or one that is no object's, sends JSON
    media = request.content_type if request.content_type.startswith(protobuf.MEDIA_TYPE) else ""
    return parse_body(request.body, media, "DeleteOptions")[0]


class Deletion(Struct, frozen=True):
    """The object after a deletion, and whether it is gone."""

    stored: Stored
    is_gone: bool


def delete_object(objects: Objects, target: Target, options: DeleteOptions) -> Deletion:
    """Delete an object, or mark it as being deleted while grace, finalizers or a namespace's content hold it.

    Raises ApiError 404 and 409.
    """
    old = objects.get(target)
    check_preconditions(old, target, options)
    if target.resource.plural == "namespaces":
        return _terminate_namespace(objects, target, old, options)
    new = _mark(old, options, objects.clock.now(), _get_grace_s(old, options))
    held = bool(new["metadata"].get("finalizers")) or new["metadata"]["deletionGracePeriodSeconds"] > 0
    if held:
        return Deletion(objects.replace(target, new, old, options.dry_run), is_gone=False)
    if target.resource.plural != "pods":
        new = old  # what is deleted without a wait never was "being deleted"
    if options.dry_run:
        return Deletion(Stored(new, encode(new)), is_gone=True)
    return Deletion(objects.remove(target, new), is_gone=True)


def check_preconditions(old: Tree, target: Target, options: DeleteOptions) -> None:
    """Raise ApiError 409 when an object is not the one that a deletion means."""
    resource, metadata = target.resource, old["metadata"]
    if options.uid is not None and options.uid != metadata["uid"]:
        raise errors.wrong_uid(
            resource.group, resource.plural, target.namespace, target.name, options.uid, metadata["uid"]
        )
    if options.version is not None and options.version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(resource.group, resource.plural, target.name, why)


def _get_grace_s(tree: Tree, options: DeleteOptions) -> int:
    """Only pods get time to end, and only when there is somebody who could use it."""
    if tree["kind"] != "Pod":
        return 0
    spec, status = tree.get("spec") or {}, tree.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in _FINISHED:
        return 0
    if options.grace_s is not None:
        return options.grace_s
    return int(spec.get("terminationGracePeriodSeconds", _DEFAULT_GRACE_S))


def _mark(old: Tree, options: DeleteOptions, now_s: float, grace_s: int) -> Tree:
    """Return the object as being deleted; a later deletion can shorten the time that is left, not lengthen it."""
    metadata = dict(old["metadata"])
    before_s = metadata.get("deletionGracePeriodSeconds", 0)
    if not metadata.get("deletionTimestamp"):
        metadata["deletionTimestamp"] = format_time(now_s + grace_s)
        metadata["deletionGracePeriodSeconds"] = grace_s
        if "generation" in metadata:
            metadata["generation"] += 1
    elif grace_s < before_s:
        asked_s = parse_time(metadata["deletionTimestamp"]) - before_s
        metadata["deletionTimestamp"] = format_time(asked_s + grace_s)
        metadata["deletionGracePeriodSeconds"] = grace_s
    held_by = _HELD_BY.get(options.propagation or "")
    finalizers = metadata.get("finalizers") or []
    if options.propagation:
        finalizers = [f for f in finalizers if f not in _HELD_BY.values()]
    if held_by:
        finalizers = [*finalizers, held_by]
    metadata.pop("finalizers", None)
    return {**old, "metadata": {**metadata, "finalizers": finalizers} if finalizers else metadata}


def _terminate_namespace(objects: Objects, target: Target, old: Tree, options: DeleteOptions) -> Deletion:
    """Mark a namespace; it goes when its finalizer has been taken, which means that it is empty."""
    if target.name in ("default", "kube-system"):
        why = "this namespace may not be deleted"
        raise errors.forbidden("", "namespaces", target.name, why)
    if old["metadata"].get("deletionTimestamp"):
        return Deletion(Stored(old, encode(old)), is_gone=False)
    now = format_time(objects.clock.now())
    status = {**(old.get("status") or {}), "phase": "Terminating"}
    new = {**old, "metadata": {**old["metadata"], "deletionTimestamp": now}, "status": status}
    return Deletion(objects.replace(target, new, old, options.dry_run), is_gone=False)

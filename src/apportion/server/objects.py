"""The writing verbs on stored objects: the one place through which every change of an object goes."""

from typing import Any, Final

import orjson
from msgspec import Struct

from apportion.api import CheckCEL, Tree
from apportion.base import Clock, Rng, ValidationError
from apportion.server import errors
from apportion.server.admission import Admission
from apportion.server.event_expiry import STORAGE, TTL_S, EventExpiry
from apportion.server.request import Target
from apportion.server.resources import Resource
from apportion.server.schema import canonicalize
from apportion.server.strategies import (
    check_changed,
    check_identity,
    check_object,
    check_resize,
    check_update,
    complete,
    complete_changed,
    count_generation,
    date_taints,
    finish_create,
    prepare_create,
    prepare_resize,
    prepare_status_update,
    prepare_update,
)
from apportion.server.timestamps import format_time
from apportion.server.versions import encode
from apportion.store import MUST_NOT_EXIST, Entry, Key, RevisionConflictError, Store

TREES_MAX: Final = 4096


class Stored(Struct, frozen=True):
    """An object as it is stored, before or after a write."""

    tree: Tree
    raw: bytes


def get_key(target: Target) -> Key:
    return Key(target.resource.storage, target.namespace, target.name)


class Objects:
    """Creates, updates and removes objects in their stored version; raises ApiError, and then changed nothing."""

    def __init__(
        self, store: Store, clock: Clock, rng: Rng, check_cel: CheckCEL | None, event_ttl_s: float = TTL_S
    ) -> None:
        self._expiry = EventExpiry(store, clock, event_ttl_s)
        self.store = store
        self.clock = clock
        self.admission = Admission(store, clock, rng)
        self._check_cel = check_cel
        self._trees: dict[Key, tuple[int, Tree]] = {}  # of the objects that were read or written last

    def get_entry(self, target: Target) -> Entry:
        """Return the stored entry; raises ApiError 404."""
        entry = self.store.find(get_key(target))
        if entry is None:
            raise errors.not_found(target.resource.group, target.resource.plural, target.name)
        return entry

    def get(self, target: Target) -> Tree:
        """Return the stored object, parsed, which must not be changed in place; raises ApiError 404."""
        entry = self.get_entry(target)
        known = self._trees.get(entry.key)
        if known is not None and known[0] == entry.revision:
            return known[1]
        tree: Tree = orjson.loads(entry.value)
        self._remember(entry, tree)
        return tree

    def _remember(self, entry: Entry, tree: Tree) -> None:
        """Keep what the bytes of an entry say; nobody changes a tree in place."""
        self._trees.pop(entry.key, None)
        self._trees[entry.key] = (entry.revision, tree)
        if len(self._trees) > TREES_MAX:
            del self._trees[next(iter(self._trees))]

    # ---- create -------------------------------------------------------------------------------------------

    def create(self, tree: Tree, resource: Resource, dry_run: bool) -> Stored:
        """Store a new canonical object."""
        kind = resource.kind
        now = format_time(self.clock.now())
        tree = date_taints(complete(prepare_create(tree, resource, now), kind), kind, now)
        self._check(check_object(tree, kind, self._check_cel), resource, tree)
        tree = finish_create(self.admission.admit_new(tree, resource), kind)
        if dry_run:
            self._refuse_existing(tree, resource)
            return Stored(tree, encode(tree))
        return self._put(tree, resource, MUST_NOT_EXIST)

    def restore(self, tree: Tree, resource: Resource) -> Stored:
        """Store an object of another cluster as it was there, with its uid, times, owners and status."""
        kind = resource.kind
        known = canonicalize(tree, resource.shape, kind.name, [])
        metadata = {k: v for k, v in known["metadata"].items() if k not in ("resourceVersion", "managedFields")}
        metadata.setdefault("creationTimestamp", format_time(self.clock.now()))
        tree = complete({**known, "kind": kind.name, "apiVersion": resource.api_version, "metadata": metadata}, kind)
        self._check(check_object(tree, kind, self._check_cel), resource, tree)
        return self._put(tree, resource, MUST_NOT_EXIST)

    def _refuse_existing(self, tree: Tree, resource: Resource) -> None:
        metadata = tree["metadata"]
        if self.store.find(Key(resource.storage, metadata.get("namespace", ""), metadata["name"])) is not None:
            raise errors.already_exists(resource.group, resource.plural, metadata["name"])

    # ---- update -------------------------------------------------------------------------------------------

    def update(self, target: Target, new: Tree, old: Tree, dry_run: bool) -> Stored:
        """Store a changed object; one that did not change keeps its version.

        A resourceVersion in ``new`` must be the current one.
        """
        resource, kind = target.resource, target.resource.kind
        version = new["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise errors.conflict(resource.group, resource.plural, target.name)
        new = {**new, "metadata": {**new["metadata"], "uid": new["metadata"].get("uid") or old["metadata"]["uid"]}}
        self._check(check_identity(new, old), resource, old)
        prepared, found = self._prepare_update(target, new, old)
        self._check(check_changed(prepared, old, kind, self._check_cel) + found, resource, prepared)
        is_status = target.subresource == "status"
        return self.replace(target, count_generation(prepared, old, kind, is_status), old, dry_run)

    def _prepare_update(self, target: Target, new: Tree, old: Tree) -> tuple[Tree, list[ValidationError]]:
        """Return what a door lets through of an update, complete, and what it must not change."""
        resource, kind = target.resource, target.resource.kind
        if target.subresource == "resize":
            resized = complete(prepare_resize(new, old), kind)
            return resized, check_resize(new, resized, old)
        if target.subresource == "status":
            prepared = complete_changed(prepare_status_update(new, old, resource), old, kind)
        else:
            prepared = complete_changed(prepare_update(new, old, resource), old, kind)
            prepared = self.admission.admit_update(prepared, old, kind)
            prepared = date_taints(prepared, kind, format_time(self.clock.now()))
        return prepared, check_update(prepared, old, kind)

    def replace(self, target: Target, new: Tree, old: Tree, dry_run: bool) -> Stored:
        """Store a checked object in the place of ``old``, or remove it when nothing holds it back any more."""
        if new == old:
            return Stored(old, encode(old))
        if dry_run:
            return Stored(new, encode(new))
        if is_released(new):
            return self.remove(target, new)
        return self._put(new, target.resource, int(old["metadata"]["resourceVersion"]))

    def remove(self, target: Target, tree: Tree) -> Stored:
        """Take an object out of the store; its last state carries the version of the deletion."""
        removed = self.store.delete(get_key(target), _Versioned(tree), None)
        self._trees.pop(removed.key, None)
        if target.resource.storage == STORAGE:
            self._expiry.forget(get_key(target))
        self.admission.forget(target.resource.storage)
        return Stored(orjson.loads(removed.value), removed.value)

    def _put(self, tree: Tree, resource: Resource, expected: int) -> Stored:
        metadata = tree["metadata"]
        key = Key(resource.storage, metadata.get("namespace", ""), metadata["name"])
        try:
            entry = self.store.put(key, _Versioned(tree), expected)
        except RevisionConflictError:
            if expected == MUST_NOT_EXIST:
                raise errors.already_exists(resource.group, resource.plural, metadata["name"]) from None
            raise errors.conflict(resource.group, resource.plural, metadata["name"]) from None
        self.admission.forget(resource.storage)
        if resource.storage == STORAGE:
            self._expiry.touch(key)
        stored = {**tree, "metadata": {**metadata, "resourceVersion": str(entry.revision)}}
        self._remember(entry, stored)
        return Stored(stored, entry.value)

    def _check(self, found: list[Any], resource: Resource, tree: Tree) -> None:
        if found:
            name = tree["metadata"].get("name") or ""
            raise errors.invalid(resource.group, resource.kind.name, name, found)


def is_released(tree: Tree) -> bool:
    """Return whether an object that is being deleted waits for nothing any more."""
    metadata = tree["metadata"]
    if not metadata.get("deletionTimestamp") or metadata.get("finalizers"):
        return False
    if tree["kind"] == "Namespace":
        return not (tree.get("spec") or {}).get("finalizers")
    return not metadata.get("deletionGracePeriodSeconds")


class _Versioned:
    """Encodes an object under the revision that it gets."""

    __slots__ = ("_tree",)

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def __call__(self, revision: int) -> bytes:
        return encode({**self._tree, "metadata": {**self._tree["metadata"], "resourceVersion": str(revision)}})

"""Deletes what nobody owns any more, and carries foreground and orphan deletions out.

Behaviour: pkg/controller/garbagecollector upstream: an object goes when none of its owners exists; an owner counts as
missing only when the API says so, or has another object under its name.
"""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import orjson

from apportion.api import Tree
from apportion.api.kinds import find_kind, split_api_version
from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Response, Task, Transport
from apportion.controllers.controller import Controller, decode_frame
from apportion.controllers.gone import SeenUids

CONTESTED_S: Final = 0.005
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
WATCHED: Final = (
    "namespaces", "nodes", "pods", "services", "configmaps", "secrets", "serviceaccounts", "persistentvolumeclaims",
    "resourceclaims", "resourceclaimtemplates", "resourceslices", "podgroups", "workloads", "replicationcontrollers",
    "replicasets", "deployments", "statefulsets", "daemonsets", "jobs", "cronjobs", "controllerrevisions", "leases",
    "endpointslices", "poddisruptionbudgets",
)  # fmt: skip


class _Meta(msgspec.Struct, rename="camel", gc=False):
    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[Tree, ...] = ()


class _Object(msgspec.Struct, gc=False):
    metadata: _Meta


class Key(NamedTuple):
    """One object."""

    resource: str
    namespace: str
    name: str


_OBJECT: Final = msgspec.json.Decoder(_Object).decode


class GarbageCollector(Controller[Key]):
    """Watches the kinds that own or are owned. Work per event is proportional to the owners of one object."""

    def __init__(self, transport: Transport, clock: Clock, resources: Sequence[str] = WATCHED) -> None:
        super().__init__(transport, clock)
        self._resources = resources
        self._objects: dict[Key, _Meta] = {}
        self._by_uid: dict[str, Key] = {}
        self._dependents: dict[str, dict[Key, None]] = {}  # by the uid of an owner
        self._gone = SeenUids()
        self._contested: set[Key] = set()  # changed by others while we acted; each is looked at again after a while

    def start(self) -> None:
        """Watch."""
        for resource in self._resources:
            self._transport.watch(resource, partial(self._on_object, resource))

    # ---- what exists --------------------------------------------------------------------------------------

    def _on_object(self, resource: str, frame: bytes) -> None:
        event = decode_frame(frame)
        meta = _OBJECT(event.object).metadata
        key = Key(resource, meta.namespace, meta.name)
        known = self._objects.get(key, meta)
        self._forget(key)
        if event.type == "DELETED":
            self._gone.add(meta.uid)
            # the owners as last known: a deletion that the watch missed comes without any
            for other in (*self._dependents.get(meta.uid, ()), *self._keys(known.owner_references)):
                self.queue.add(other)
            return
        self._objects[key] = meta
        self._by_uid[meta.uid] = key
        for owner in meta.owner_references:
            self._dependents.setdefault(owner["uid"], {})[key] = None
        if key not in self._contested and (meta.owner_references or _is_held(meta)):
            self.queue.add(key)

    def _forget(self, key: Key) -> None:
        meta = self._objects.pop(key, None)
        if meta is None:
            return
        self._by_uid.pop(meta.uid, None)
        for owner in meta.owner_references:
            known = self._dependents.get(owner["uid"], {})
            known.pop(key, None)
            if not known:
                self._dependents.pop(owner["uid"], None)

    def _keys(self, owners: Sequence[Tree]) -> list[Key]:
        return [self._by_uid[o["uid"]] for o in owners if o["uid"] in self._by_uid]

    # ---- one object ---------------------------------------------------------------------------------------

    def _sync(self, key: Key) -> Task:
        self._contested.discard(key)
        meta = self._objects.get(key)
        if meta is None:
            return None
        if meta.deletion_timestamp is not None and ORPHAN in meta.finalizers:
            return (yield from self._orphan(key, meta))
        if meta.deletion_timestamp is not None and FOREGROUND in meta.finalizers:
            return (yield from self._delete_dependents(key, meta))
        if meta.deletion_timestamp is None and meta.owner_references:
            return (yield from self._check_owners(key, meta))
        return None

    def _check_owners(self, key: Key, meta: _Meta) -> Task:
        """Delete an object without owners; one that has some keeps only those."""
        solid, waiting = [], []
        for owner in meta.owner_references:
            exists = yield from self._exists(owner, key.namespace)
            if isinstance(exists, str):
                return exists
            if exists and self._is_waiting(owner):
                waiting.append(owner)
            elif exists:
                solid.append(owner)
        if not solid:
            blocks = any(self._blocks(other, meta.uid) for other in self._dependents.get(meta.uid, ()))
            policy = "Foreground" if waiting and blocks else "Background"
            return (yield from self._delete(key, meta, policy))
        if len(solid) < len(meta.owner_references):
            return (yield from self._patch(key, meta, {"ownerReferences": solid}))
        return None

    def _exists(self, owner: Tree, namespace: str) -> Generator[Request, Response, bool | str]:
        """Return whether an owner exists, or what went wrong; one that no watch has shown is asked for."""
        if owner["uid"] in self._by_uid:
            return True
        if owner["uid"] in self._gone:
            return False
        kind = find_kind(split_api_version(owner["apiVersion"])[0], owner["kind"])
        if kind is None:
            return True  # not a kind of ours: nothing can be said about it
        response = yield Request("get", kind.plural, namespace if kind.namespaced else "", owner["name"])
        if response.code == 404:
            return False
        if response.code >= 300:
            return f"get owner {owner['kind']} {owner['name']}: {response.message}"
        return _OBJECT(response.body).metadata.uid == str(owner["uid"])

    def _is_waiting(self, owner: Tree) -> bool:
        """Return whether an owner is being deleted and waits for this dependent."""
        key = self._by_uid.get(owner["uid"])
        meta = self._objects.get(key) if key is not None else None
        is_going = meta is not None and meta.deletion_timestamp is not None and FOREGROUND in meta.finalizers
        return is_going and bool(owner.get("blockOwnerDeletion"))

    def _blocks(self, key: Key, uid: str) -> bool:
        owners = self._objects[key].owner_references
        return any(o["uid"] == uid and o.get("blockOwnerDeletion") for o in owners)

    # ---- deletions that were asked for --------------------------------------------------------------------

    def _orphan(self, key: Key, meta: _Meta) -> Task:
        for other in list(self._dependents.get(meta.uid, ())):
            dependent = self._objects[other]
            left = [o for o in dependent.owner_references if o["uid"] != meta.uid]
            problem = yield from self._patch(other, dependent, {"ownerReferences": left or None})
            if problem is not None:
                return problem
        return (yield from self._release(key, meta, ORPHAN))

    def _delete_dependents(self, key: Key, meta: _Meta) -> Task:
        """Have every dependent looked at; the last one that blocks lets the owner go."""
        dependents = list(self._dependents.get(meta.uid, ()))
        for other in dependents:
            self.queue.add(other)
        if any(self._blocks(other, meta.uid) for other in dependents):
            return None
        return (yield from self._release(key, meta, FOREGROUND))

    # ---- requests -----------------------------------------------------------------------------------------

    def _release(self, key: Key, meta: _Meta, finalizer: str) -> Task:
        left = [f for f in meta.finalizers if f != finalizer]
        return (yield from self._patch(key, meta, {"finalizers": left or None}))

    def _patch(self, key: Key, meta: _Meta, change: dict[str, Any]) -> Task:
        """Change an object's metadata as it was read; a conflict is looked at again."""
        body = orjson.dumps({"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, **change}})
        response = yield Request("patch", *key, body, content_type=MERGE_PATCH)
        return None if response.code < 300 or response.code == 404 else response.message or "refused"

    def _delete(self, key: Key, meta: _Meta, policy: str) -> Task:
        guard = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        body = orjson.dumps({"preconditions": guard, "propagationPolicy": policy})
        response = yield Request("delete", *key, body)
        if response.code == 409:  # somebody is at work on the object, and may not have done yet
            self._contested.add(key)
            self.queue.add_after(key, CONTESTED_S)
            return None
        return None if response.code < 300 or response.code == 404 else response.message or "refused"


def _is_held(meta: _Meta) -> bool:
    return meta.deletion_timestamp is not None and (FOREGROUND in meta.finalizers or ORPHAN in meta.finalizers)

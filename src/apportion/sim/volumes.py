"""A stand-in for the volume controller and for provisioners, as far as pods that wait for their volumes need them.

A claim whose node was selected (WaitForFirstConsumer) gets a volume made; a claim that a volume names is bound;
a volume that nobody uses becomes available.
Claims of classes that bind at once stay as they are: nobody here makes volumes that no pod has asked for.
"""

from typing import Any, Final

import orjson

from apportion.api.storage import BOUND_BY_CONTROLLER, SELECTED_NODE
from apportion.base import Clock
from apportion.client import MERGE_PATCH, Request, Task, Transport
from apportion.controllers import Controller, decode_frame

BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_CONFLICTS: Final = (404, 409)
Tree = dict[str, Any]


class StandInVolumes(Controller[str]):
    """Watches storage classes, volumes and claims; one key is one claim (namespace/name) or one volume (/name)."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        super().__init__(transport, clock)
        self._classes: dict[str, Tree] = {}
        self._volumes: dict[str, Tree] = {}
        self._claims: dict[str, Tree] = {}  # those that are not bound

    def start(self) -> None:
        """Watch what claims refer to, then the claims."""
        self._transport.watch("storageclasses", self._on_class)
        self._transport.watch("persistentvolumes", self._on_volume)
        self._transport.watch("persistentvolumeclaims", self._on_claim)

    def _on_class(self, frame: bytes) -> None:
        _keep(self._classes, frame)

    def _on_volume(self, frame: bytes) -> None:
        volume = _keep(self._volumes, frame)
        ref = volume["spec"].get("claimRef")
        if ref:
            self.queue.add(f"{ref.get('namespace')}/{ref.get('name')}")
        elif _phase(volume) == "Pending":
            self.queue.add(f"/{volume['metadata']['name']}")

    def _on_claim(self, frame: bytes) -> None:
        event = decode_frame(frame)
        claim: Tree = orjson.loads(bytes(event.object))
        key = f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
        if event.type == "DELETED" or (claim.get("status") or {}).get("phase") in ("Bound", "Lost"):
            self._claims.pop(key, None)
            return
        self._claims[key] = claim
        self.queue.add(key)

    def _sync(self, key: str) -> Task:
        for request in self._list_requests(key):
            response = yield request
            if response.code >= 300:
                return None if response.code in _CONFLICTS else response.message
        return None

    def _list_requests(self, key: str) -> list[Request]:
        if key.startswith("/"):
            volume = self._volumes.get(key[1:])
            is_new = volume is not None and _phase(volume) == "Pending" and not volume["spec"].get("claimRef")
            return [_set_volume_phase(key[1:], "Available")] if is_new else []
        claim = self._claims.get(key)
        if claim is None or claim["metadata"].get("deletionTimestamp"):
            return []
        tied = next((v for v in self._volumes.values() if _is_tied(v, claim)), None)
        return self._bind(claim, tied) if tied is not None else self._provision(claim)

    def _provision(self, claim: Tree) -> list[Request]:
        """Return what makes a volume for a claim whose node was selected; nothing for others."""
        provisioner = self._classes.get(claim["spec"].get("storageClassName") or "", {}).get("provisioner")
        is_wanted = SELECTED_NODE in (claim["metadata"].get("annotations") or {})
        if not is_wanted or provisioner in (None, _NO_PROVISIONER):
            return []
        body = orjson.dumps(_make_volume(claim, str(provisioner)))
        return [Request("create", "persistentvolumes", "", f"pvc-{claim['metadata']['uid']}", body)]

    def _bind(self, claim: Tree, volume: Tree) -> list[Request]:
        meta, name = claim["metadata"], volume["metadata"]["name"]
        spec = {
            "metadata": {"uid": meta["uid"], "annotations": {BIND_COMPLETED: "yes", BOUND_BY_CONTROLLER: "yes"}},
            "spec": {"volumeName": name},
        }
        room = {"capacity": volume["spec"].get("capacity"), "accessModes": volume["spec"].get("accessModes")}
        where = ("persistentvolumeclaims", meta["namespace"], meta["name"])
        return [
            _set_volume_phase(name, "Bound"),
            Request("patch", *where, orjson.dumps(spec), "", MERGE_PATCH),
            Request("patch", *where, orjson.dumps({"status": {"phase": "Bound", **room}}), "status", MERGE_PATCH),
        ]


def _phase(volume: Tree) -> str:
    return str((volume.get("status") or {}).get("phase", "Pending"))


def _set_volume_phase(name: str, phase: str) -> Request:
    body = orjson.dumps({"status": {"phase": phase}})
    return Request("patch", "persistentvolumes", "", name, body, "status", MERGE_PATCH)


def _keep(known: dict[str, Tree], frame: bytes) -> Tree:
    event = decode_frame(frame)
    tree: Tree = orjson.loads(bytes(event.object))
    if event.type == "DELETED":
        known.pop(tree["metadata"]["name"], None)
    else:
        known[tree["metadata"]["name"]] = tree
    return {**tree, "spec": tree.get("spec") or {}}


def _is_tied(volume: Tree, claim: Tree) -> bool:
    """Return whether a volume names the claim; one that was made before the claim knows no uid of it."""
    ref, meta = volume["spec"].get("claimRef") or {}, claim["metadata"]
    is_named = (ref.get("namespace"), ref.get("name")) == (meta["namespace"], meta["name"])
    return is_named and ref.get("uid") == meta["uid"]


def _make_volume(claim: Tree, provisioner: str) -> Tree:
    meta, spec = claim["metadata"], claim["spec"]
    name = f"pvc-{meta['uid']}"
    ref = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta["namespace"], "name": meta["name"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner}},
        "spec": {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Delete",
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "claimRef": {**ref, "uid": meta["uid"]},
            "csi": {"driver": provisioner, "volumeHandle": name},
        },
    }

"""Manifests and cluster dumps into an API server, before anything else happens there.

Manifests are created as a client would create them. Objects of a dump (they have a uid) keep who they are: uid,
times, owners, status, node and allocation.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from apportion.server import RESOURCES, ApiError, ApiRequest, Resource, Server
from apportion.sim.manifests import Loaded

Tree = dict[str, Any]
_CONFLICT: Final = 409
_FIRST: Final = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "DeviceClass", "Node")
_BY_TYPE: Final = {(r.api_version, r.kind.name): r for r in RESOURCES}


@dataclass(slots=True)
class Preloaded:
    """What became of the objects: how many were made, how many were there already, and what went wrong."""

    made: int = 0
    existed: int = 0
    problems: list[str] = field(default_factory=list)


def preload(
    server: Server, loaded: Loaded, progress: Callable[[int, int], None] = lambda done, total: None
) -> Preloaded:
    """Bring objects into the server; what cannot be brought in is a problem, never the end of the others."""
    result = Preloaded()
    entries = sorted(loaded.objects, key=lambda e: _rank(e.tree))
    known = {uid for e in entries if (uid := e.tree["metadata"].get("uid"))}
    for number, entry in enumerate(entries):
        tree = entry.tree
        resource = _BY_TYPE.get((tree["apiVersion"], tree["kind"]))
        if resource is None:
            result.problems.append(f"{_describe(tree)}: {tree['apiVersion']} is not served here")
            continue
        if resource.kind.namespaced:
            tree = _with_namespace(server, tree)
        _bring(server, resource, _without_lost_owners(tree, known, result), result)
        if number % 100 == 0:
            progress(number, len(entries))
    return result


def _rank(tree: Tree) -> int:
    """What others refer to comes first, pods come last."""
    if tree["kind"] in _FIRST:
        return _FIRST.index(tree["kind"])
    return len(_FIRST) + int(tree["kind"] == "Pod")


def _describe(tree: Tree) -> str:
    meta = tree["metadata"]
    return (
        f"{tree['kind']} {'/'.join(filter(None, (meta.get('namespace'), meta.get('name', meta.get('generateName')))))}"
    )


def _with_namespace(server: Server, tree: Tree) -> Tree:
    namespace = tree["metadata"].get("namespace") or "default"
    body = orjson.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    if server.handle(ApiRequest("GET", f"/api/v1/namespaces/{namespace}")).code >= 300:
        server.handle(ApiRequest("POST", "/api/v1/namespaces", body=body))
    return {**tree, "metadata": {**tree["metadata"], "namespace": namespace}}


def _without_lost_owners(tree: Tree, known: set[str], result: Preloaded) -> Tree:
    """Leave out owners that are not in the input: garbage collection would take the object away with them."""
    owners = tree["metadata"].get("ownerReferences") or []
    kept = [o for o in owners if o.get("uid", "") in known]
    if len(kept) == len(owners):
        return tree
    lost = next(o for o in owners if o not in kept)
    result.problems.append(f"{_describe(tree)}: its owner {lost['kind']} {lost['name']} is not in the input; left out")
    return {**tree, "metadata": {**tree["metadata"], "ownerReferences": kept}}


def _bring(server: Server, resource: Resource, tree: Tree, result: Preloaded) -> None:
    if tree["metadata"].get("uid"):
        try:
            server.restore(tree, resource)
            result.made += 1
        except ApiError as error:
            _count(result, tree, error.code, str(error))
        return
    path = _path(resource, tree)
    response = server.handle(ApiRequest("POST", path, body=orjson.dumps(tree)))
    if response.code >= 300:
        _count(result, tree, response.code, orjson.loads(response.body).get("message", ""))
        return
    result.made += 1
    if tree.get("status") and resource.has_status and resource.kind.name != "Node":
        name = orjson.loads(response.body)["metadata"]["name"]
        body = orjson.dumps({"status": tree["status"]})
        merge = "application/merge-patch+json"
        answer = server.handle(ApiRequest("PATCH", f"{path}/{name}/status", body=body, content_type=merge))
        if answer.code >= 300:
            _count(result, tree, answer.code, orjson.loads(answer.body).get("message", ""))


def _count(result: Preloaded, tree: Tree, code: int, message: str) -> None:
    if code == _CONFLICT:
        result.existed += 1
    else:
        result.problems.append(f"{_describe(tree)}: {message}")


def _path(resource: Resource, tree: Tree) -> str:
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.api_version}"
    scope = f"namespaces/{tree['metadata']['namespace']}/" if resource.kind.namespaced else ""
    return f"{root}/{scope}{resource.plural}"

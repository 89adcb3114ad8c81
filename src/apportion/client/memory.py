"""A transport over a plain set of objects in memory: what the scheduler needs of an API when there is none.

It keeps resource versions, checks preconditions, applies JSON patches and merge patches, and feeds watches. It does
not validate, default or authorise: whoever loads the objects does that first.
"""

from collections import deque
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import orjson

from apportion.client.events import EVENTS
from apportion.client.transport import (
    JSON_PATCH,
    STRATEGIC_MERGE_PATCH,
    OnDone,
    OnSynced,
    Request,
    Response,
    Transport,
    WatchHandle,
    WatchSink,
)

Tree: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str, str]  # resource, namespace, name
DELETED_AT: Final = "2026-01-01T00:00:00Z"  # there is no clock here; that it is set is what counts


class _Watch:
    """A sink, and the version from which on changes are news to it."""

    __slots__ = ("has_synced", "since", "sink")

    def __init__(self, sink: WatchSink, since: int) -> None:
        self.sink: WatchSink | None = sink
        self.since = since
        self.has_synced = False

    def close(self) -> None:
        self.sink = None


class MemoryTransport(Transport):
    """Objects by (resource, namespace, name). Nothing happens before ``deliver`` is called."""

    def __init__(self) -> None:
        self._objects: dict[Key, bytes] = {}
        self._watches: dict[str, list[_Watch]] = {}
        self._feed: deque[tuple[str, str, bytes, int]] = deque()
        self._answers: deque[tuple[OnDone, Response]] = deque()
        self._version = 0
        self.events: list[Tree] = []  # API events in the order in which they were recorded
        self.keep_events = True

    # ---- loading ------------------------------------------------------------------------------------------

    def put(self, resource: str, tree: Tree) -> None:
        """Store an object as it is, with a new resource version, and announce it."""
        meta = tree["metadata"]
        key = (resource, meta.get("namespace", ""), meta["name"])
        self._store(key, tree, "MODIFIED" if key in self._objects else "ADDED")

    def remove(self, resource: str, namespace: str, name: str) -> None:
        """Take an object away and announce that. Raises KeyError when there is none."""
        key = (resource, namespace, name)
        self._store(key, orjson.loads(self._objects[key]), "DELETED")
        del self._objects[key]

    def trees(self, resource: str) -> Iterable[Tree]:
        """Yield the objects of a resource in the order in which they were first stored."""
        return [orjson.loads(raw) for key, raw in self._objects.items() if key[0] == resource]

    def find(self, resource: str, namespace: str, name: str) -> Tree | None:
        """Return one object."""
        raw = self._objects.get((resource, namespace, name))
        return None if raw is None else orjson.loads(raw)

    def _store(self, key: Key, tree: Tree, change: str) -> bytes:
        self._version += 1
        tree["metadata"]["resourceVersion"] = str(self._version)
        raw = orjson.dumps(tree)
        self._objects[key] = raw
        self._feed.append((key[0], change, raw, self._version))
        return raw

    # ---- Transport ----------------------------------------------------------------------------------------

    def submit(self, request: Request, on_done: OnDone) -> None:
        """Carry the request out; the answer waits for ``deliver``."""
        self._answers.append((on_done, self._execute(request)))

    def watch(self, resource: str, sink: WatchSink, on_synced: OnSynced | None = None) -> WatchHandle:
        """Deliver the objects that exist at once, and every change after that."""
        watch = _Watch(sink, self._version)
        self._watches.setdefault(resource, []).append(watch)
        for key, raw in self._objects.items():
            if key[0] == resource:
                sink(_frame("ADDED", raw))
        watch.has_synced = True
        if on_synced is not None:
            on_synced()
        return watch

    def close(self) -> None:
        """Answer nothing and deliver nothing any more."""
        self._answers.clear()
        self._watches.clear()

    def deliver(self) -> bool:
        """Hand out one answer or one watch event, answers first. False when there is none."""
        if self._answers:
            on_done, response = self._answers.popleft()
            on_done(response)
            return True
        if self._feed:
            resource, change, raw, version = self._feed.popleft()
            watches = self._watches.get(resource)
            frame = _frame(change, raw) if watches else b""
            for watch in watches or ():
                if watch.sink is not None and version > watch.since:
                    watch.sink(frame)
            return True
        return False

    # ---- verbs --------------------------------------------------------------------------------------------

    def _execute(self, request: Request) -> Response:
        if request.verb == "create" and request.subresource == "binding":
            return self._bind(request)
        if request.verb == "create":
            return self._create(request)
        if request.verb == "patch":
            return self._patch(request)
        if request.verb == "delete":
            return self._delete(request)
        if request.verb == "get":
            raw = self._objects.get((request.resource, request.namespace, request.name))
            return _not_found(request) if raw is None else Response(200, raw)
        return Response(405, message=f"{request.verb} {request.resource} is not available in memory")

    def _create(self, request: Request) -> Response:
        if request.resource == EVENTS:
            if self.keep_events:
                self.events.append(orjson.loads(request.body))
            return Response(201)
        tree = orjson.loads(request.body)
        meta = tree["metadata"]
        meta.setdefault("uid", f"uid-{self._version + 1}")
        key = (request.resource, request.namespace, meta["name"])
        if key in self._objects:
            return Response(409, message=f'{request.resource} "{key[2]}" already exists')
        return Response(201, self._store(key, tree, "ADDED"))

    def _bind(self, request: Request) -> Response:
        key = (request.resource, request.namespace, request.name)
        raw = self._objects.get(key)
        if raw is None:
            return _not_found(request)
        pod, binding = orjson.loads(raw), orjson.loads(request.body)
        uid = binding["metadata"].get("uid")
        if uid and uid != pod["metadata"].get("uid"):
            return Response(409, message=f"the UID in the precondition ({uid}) does not match the UID of the pod")
        if pod["spec"].get("nodeName"):
            return Response(409, message=f"pod {request.name} is already assigned to node {pod['spec']['nodeName']!r}")
        pod["spec"]["nodeName"] = binding["target"]["name"]
        _set_condition(pod, {"type": "PodScheduled", "status": "True"})
        self._store(key, pod, "MODIFIED")
        return Response(201)

    def _delete(self, request: Request) -> Response:
        key = (request.resource, request.namespace, request.name)
        raw = self._objects.get(key)
        if raw is None:
            return _not_found(request)
        tree = orjson.loads(raw)
        uid = (orjson.loads(request.body) if request.body else {}).get("preconditions", {}).get("uid")
        if uid and uid != tree["metadata"].get("uid"):
            return Response(409, message=f"the UID in the precondition ({uid}) does not match the UID of the object")
        if tree["metadata"].get("finalizers"):
            tree["metadata"].setdefault("deletionTimestamp", DELETED_AT)
            return Response(200, self._store(key, tree, "MODIFIED"))
        self._store(key, tree, "DELETED")
        del self._objects[key]
        return Response(200, raw)

    def _patch(self, request: Request) -> Response:
        if request.resource == EVENTS:
            return Response(200)
        key = (request.resource, request.namespace, request.name)
        raw = self._objects.get(key)
        if raw is None:
            return _not_found(request)
        tree, patch = orjson.loads(raw), orjson.loads(request.body)
        if request.content_type == JSON_PATCH:
            problem = apply_json_patch(tree, patch)
            if problem is not None:
                return Response(422, message=problem)
        else:
            meta = patch.get("metadata", {})
            for name in ("uid", "resourceVersion"):
                if name in meta and meta[name] != tree["metadata"].get(name):
                    text = "the object has been modified; please apply your changes to the latest version"
                    return Response(
                        409,
                        message=f'Operation cannot be fulfilled on {request.resource} "{request.name}": {text}',
                    )
            _merge(tree, patch, request.content_type == STRATEGIC_MERGE_PATCH)
        stored = self._store(key, tree, "MODIFIED")
        if tree["metadata"].get("deletionTimestamp") and not tree["metadata"].get("finalizers"):
            self.remove(*key)  # the last finalizer is gone
        return Response(200, stored)


def _frame(change: str, raw: bytes) -> bytes:
    return b'{"type":"' + change.encode() + b'","object":' + raw + b"}"


def _not_found(request: Request) -> Response:
    return Response(404, message=f'{request.resource} "{request.name}" not found')


def _set_condition(pod: Tree, condition: Tree) -> None:
    status = pod.setdefault("status", {})
    conditions = [c for c in status.get("conditions", ()) if c.get("type") != condition["type"]]
    status["conditions"] = [*conditions, condition]


def _merge(tree: Tree, patch: Tree, is_strategic: bool) -> None:
    """Apply a merge patch (RFC 7386), and of its strategic form what our own components use, see `_merge_entries`."""
    for name, value in patch.items():
        directive, _, target = name.partition("/")
        if directive == "$deleteFromPrimitiveList":
            tree[target] = [v for v in tree.get(target, ()) if v not in value]
        elif value is None:
            tree.pop(name, None)
        elif name == "conditions" and isinstance(value, list):
            for condition in value:
                _set_condition({"status": tree}, condition)
        elif name == "reservedFor" and is_strategic:
            tree[name] = _merge_entries(tree.get(name, []), value)
        elif isinstance(value, dict) and isinstance(tree.get(name), dict):
            _merge(tree[name], value, is_strategic)
        else:
            tree[name] = value


def _merge_entries(entries: list[Tree], changes: list[Tree]) -> list[Tree]:
    """Return a list whose entries are known by uid, with some added or deleted."""
    gone = {c["uid"] for c in changes if c.get("$patch") == "delete"}
    known = {e["uid"] for e in entries}
    added = [c for c in changes if "$patch" not in c and c["uid"] not in known]
    return [e for e in entries if e["uid"] not in gone] + added


def apply_json_patch(tree: Tree, patch: list[Tree]) -> str | None:
    """Apply test, add, replace and remove operations in place (RFC 6902); returns what failed."""
    for operation in patch:
        parts = [p.replace("~1", "/").replace("~0", "~") for p in operation["path"].split("/")[1:]]
        parent: Any = tree
        for part in parts[:-1]:
            parent = parent.get(part) if isinstance(parent, dict) else parent[int(part)]
            if parent is None:
                return f"the path {operation['path']} does not exist"
        problem = _apply_operation(parent, parts[-1], operation)
        if problem is not None:
            return problem
    return None


def _apply_operation(parent: Any, last: str, operation: Tree) -> str | None:
    kind, path = operation["op"], operation["path"]
    if kind == "test":
        found = parent.get(last) if isinstance(parent, dict) else parent[int(last)]
        return None if found == operation["value"] else f"testing path {path} failed"
    if isinstance(parent, list):
        if kind == "add":
            parent.insert(len(parent) if last == "-" else int(last), operation["value"])
        elif kind == "remove":
            del parent[int(last)]
        else:
            parent[int(last)] = operation["value"]
    elif kind == "remove":
        if last not in parent:
            return f"the path {path} does not exist"
        del parent[last]
    else:
        parent[last] = operation["value"]
    return None

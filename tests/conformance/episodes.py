"""Recorded episodes as scenarios, and what the API holds after a phase in a form that two runs share."""

import gzip
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from apportion.sim.play import Scenario
from apportion.sim.play.scenario import Apply, Delete, Patch, Run, Step
from apportion.sim.play.story import list_events
from apportion.sim.play.world import World, find_resource

Tree = dict[str, Any]
_TYPES = {"json-patch": "json", "merge-patch": "merge", "strategic-merge-patch": "strategic"}
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_SUFFIX = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?=-g-|(?![\w-]))")


def read_episodes(path: Path) -> dict[str, Tree]:
    with gzip.open(path) as file:
        return {e["id"]: e for e in map(orjson.loads, file)}


def to_scenario(episode: Tree) -> tuple[Scenario, dict[int, Tree]]:
    """Return the episode as a scenario without kubelets, and by step after which it ends what was recorded then."""
    namespace = episode["namespace"]
    text = orjson.dumps(episode["phases"]).replace(b"{ns}", namespace.encode())
    actions: list[Apply | Patch | Delete | Run] = [
        Apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}])
    ]
    ends: dict[int, Tree] = {}
    for phase in orjson.loads(text):
        actions += [_action(namespace, request) for request in phase["requests"] if request["code"] < 300]
        actions.append(Run(float(phase["settleSeconds"])))
        ends[len(actions) - 1] = phase
    return Scenario([Step(type(a).__name__.lower(), 0, a) for a in actions], {}, None, kubelets=False), ends


def _action(namespace: str, request: Tree) -> Apply | Patch | Delete:
    if request["do"] == "create":
        tree = request["object"]
        return Apply([{**tree, "metadata": {"namespace": namespace, **tree["metadata"]}}])
    where = {"kind": request["kind"], "name": request["name"], "namespace": namespace}
    if request["do"] == "delete":
        return Delete(**where, force=bool(request.get("force")))
    kind = next(t for name, t in _TYPES.items() if f"/{name}+" in request["type"])
    return Patch(**where, patch=request["patch"], subresource=request.get("subresource") or "", type=kind)


# ---- what is compared -------------------------------------------------------------------------------------


def observe(world: World, namespace: str) -> dict[str, list[Tree]]:
    """Return what the recorder kept of a namespace."""
    listed = {
        plural: world.list_objects(find_resource(kind, version), namespace)
        for plural, kind, version in (("pods", "Pod", "v1"), ("resourceclaims", "ResourceClaim", "resource.k8s.io/v1"))
    }
    events = [_shorten(e) for e in list_events(world, namespace)]
    return {**listed, "events": events}


def _shorten(event: Tree) -> Tree:
    regarding = event["regarding"]
    shortened = {k: event.get(k) for k in ("type", "reason", "note", "action")}
    by = event.get("reportingController")
    return {**shortened, "regarding": f"{regarding['kind']}/{regarding['name']}", "by": by}


def normalize(after: dict[str, list[Tree]], equals: Sequence[tuple[str, str]] = ()) -> dict[str, list[Any]]:
    """Return the objects without what differs from run to run, sorted; events once each.

    ``equals`` are names that stand for each other, with the name that they get.
    """
    text = orjson.dumps(after).decode()
    for name, common in equals:
        text = text.replace(name, common)
    after = orjson.loads(text)
    objects = {p: [_strip(t) for t in after.get(p, ())] for p in ("pods", "resourceclaims")}
    events = {orjson.dumps(_strip(e), option=orjson.OPT_SORT_KEYS) for e in after["events"]}
    sorted_objects = {p: sorted(trees, key=_sort_key) for p, trees in objects.items()}
    return {**sorted_objects, "events": [orjson.loads(e) for e in sorted(events)]}


def _sort_key(tree: Any) -> bytes:
    return orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _strip(v) for k, v in value.items() if k not in ("resourceVersion", "managedFields")}
    if isinstance(value, list):
        return [_strip(v) for v in value]
    if isinstance(value, str):
        return _SUFFIX.sub("-*", _TIME.sub("TIME", _UID.sub("UID", value)))
    return value

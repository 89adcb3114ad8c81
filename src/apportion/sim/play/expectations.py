"""What must hold now: partial objects, events, places in the queue."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from apportion.base import InputError
from apportion.sched.explain import judge, status_json
from apportion.sched.framework import Status
from apportion.server import Resource
from apportion.sim.play.matching import compare, matches_text
from apportion.sim.play.scenario import EventItem, Events, Explain, ExplainItem, Item, ObjectItem, QueueItem, Tree
from apportion.sim.play.story import list_events
from apportion.sim.play.world import World, describe, find_resource, namespace_of

Marks = dict[str, dict[str, str]]
_PLACES: Final = {"unschedulable": "parked", "error backoff": "backoff", "in flight": "inFlight"}
_EXAMPLES_MAX: Final = 5


@dataclass(slots=True)
class Finding:
    """Why an item does not hold, and the pods (``namespace/name``) that have to do with it."""

    problems: list[str] = field(default_factory=list)
    pods: list[str] = field(default_factory=list)


def check_item(world: World, item: Item, marks: Marks) -> Finding:
    """Return what is wrong with an item; no problems when it holds. Raises InputError for an unknown kind or mark."""
    if isinstance(item, QueueItem):
        return _check_queue(world, item)
    if isinstance(item, Events):
        return _check_events(world, item)
    if isinstance(item, ExplainItem):
        return _check_explain(world, item.explain)
    return _check_object(world, item, marks)


# ---- objects ----------------------------------------------------------------------------------------------


def _check_object(world: World, item: ObjectItem, marks: Marks) -> Finding:
    tree = dict(item.tree)
    resource = find_resource(tree.pop("kind"), tree.pop("apiVersion", ""))
    meta = tree.get("metadata") or {}
    candidates = _find_candidates(world, resource, meta)
    kind = resource.kind.name
    compared = [(c, _differences(world, item, tree, c, resource, marks)) for c in candidates]
    matching = [c for c, differences in compared if not differences]
    pods = [p for c in candidates[:_EXAMPLES_MAX] for p in _pods_of(resource, c)]
    if item.absent:
        problems = [f"{kind} {_name(c)}: expected none that matches" for c in matching]
        return Finding(problems, pods)
    if item.count is not None:
        text = f"{kind}: expected {item.count} that match, found {len(matching)} of {len(candidates)}"
        return Finding([] if len(matching) == item.count else [text, *_closest(compared, kind)], pods)
    if matching:
        return Finding()
    if not candidates:
        return Finding([f"{kind} {meta.get('name', '')}: does not exist".replace(" :", ":")], pods)
    return Finding(_closest(compared, kind), pods)


def _find_candidates(world: World, resource: Resource, meta: Tree) -> list[Tree]:
    name, namespace = meta.get("name"), meta.get("namespace")
    if isinstance(name, str):
        found = world.find_object(resource, namespace_of(resource, namespace), name)
        return [] if found is None else [found]
    return world.list_objects(resource, namespace if isinstance(namespace, str) else "")


def _differences(
    world: World, item: ObjectItem, tree: Tree, found: Tree, resource: Resource, marks: Marks
) -> list[str]:
    differences = [str(d) for d in compare(tree, found, resource.shape)]
    if item.unchanged_since is not None:
        if item.unchanged_since not in marks:
            raise InputError(f"there is no mark {item.unchanged_since!r}; known are {', '.join(marks) or 'none'}")
        before = marks[item.unchanged_since].get(describe(resource, found))
        now = found["metadata"]["resourceVersion"]
        if before != now:
            was = f"resourceVersion was {before}" if before else "it did not exist"
            differences.append(f"changed since {item.unchanged_since}: {was}, is {now}")
    return differences


def _closest(compared: list[tuple[Tree, list[str]]], kind: str) -> list[str]:
    """Return the differences of the objects that come nearest."""
    near = sorted((pair for pair in compared if pair[1]), key=lambda pair: len(pair[1]))[:_EXAMPLES_MAX]
    return [f"{kind} {_name(found)}: {text}" for found, differences in near for text in differences]


def _name(tree: Tree) -> str:
    meta = tree["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def _pods_of(resource: Resource, tree: Tree) -> Iterable[str]:
    meta = tree["metadata"]
    if resource.kind.name == "Pod":
        return [_name(tree)]
    owners = [o["name"] for o in meta.get("ownerReferences", ()) if o["kind"] == "Pod"]
    users = [r["name"] for r in (tree.get("status") or {}).get("reservedFor", ())] if "status" in tree else []
    return [f"{meta.get('namespace', '')}/{name}" for name in dict.fromkeys([*owners, *users])]


# ---- events -----------------------------------------------------------------------------------------------


def _check_events(world: World, item: Events) -> Finding:
    finding = Finding()
    recorded = list_events(world)
    for wanted in item.events:
        count = sum(_occurrences(e) for e in recorded if _matches_event(wanted, e))
        if count == wanted.count or (wanted.count is None and count):
            continue
        text = f"events {_describe(wanted)}: expected {wanted.count or 'one or more'}, found {count}"
        regarding = [e for e in recorded if _regards(wanted, e)]
        shown = [f"  recorded: {e.get('type')} {e.get('reason')}: {e.get('note')}" for e in regarding[-_EXAMPLES_MAX:]]
        finding.problems += [text, *shown]
        if wanted.regarding.get("kind", "Pod") == "Pod" and "name" in wanted.regarding:
            finding.pods.append(f"{wanted.regarding.get('namespace', 'default')}/{wanted.regarding['name']}")
    return finding


def _occurrences(event: Tree) -> int:
    """Return how often an event happened: a series counts as often as it says."""
    series = event.get("series") or {}
    return int(series.get("count") or event.get("deprecatedCount") or 1)


def _matches_event(wanted: EventItem, event: Tree) -> bool:
    fields = ("reason", "type", "note")
    pairs = [(getattr(wanted, name), event.get(name)) for name in fields if getattr(wanted, name) is not None]
    return _regards(wanted, event) and all(matches_text(w, f) for w, f in pairs)


def _regards(wanted: EventItem, event: Tree) -> bool:
    regarding = event.get("regarding") or {}
    return all(regarding.get(k) == v for k, v in wanted.regarding.items())


def _describe(wanted: EventItem) -> str:
    parts = {n: getattr(wanted, n) for n in ("reason", "type", "note") if getattr(wanted, n) is not None}
    text = ", ".join(f"{n} {v['contains'] if isinstance(v, dict) else v!r}" for n, v in parts.items())
    about = "/".join(wanted.regarding.get(k, "") for k in ("kind", "namespace", "name")).strip("/")
    return f"({text}{f' about {about}' if about else ''})"


# ---- the queue --------------------------------------------------------------------------------------------


def places(world: World) -> dict[str, str]:
    """Return where each pod of the scheduling queue stands, by ``namespace/name``."""
    dump: list[dict[str, Any]] = world.plane.scheduler.queue.dump()
    return {e["pod"]: _PLACES.get(e["where"], e["where"]) for e in dump}


def _check_queue(world: World, item: QueueItem) -> Finding:
    finding = Finding()
    found = places(world)
    for pod, wanted in item.queue.items():
        if found.get(pod) != wanted:
            finding.problems.append(f"queue {pod}: expected {wanted}, found {found.get(pod, 'not in the queue')}")
            finding.pods.append(pod)
    return finding


# ---- what explain says ------------------------------------------------------------------------------------


def _check_explain(world: World, wanted: Explain) -> Finding:
    scheduler = world.plane.scheduler
    pod = next((p for p in scheduler.pending.values() if p.key == wanted.pod), None)
    if pod is None or pod.uid in scheduler.state.pods:
        return Finding([f"explain {wanted.pod}: no pending pod is called so"], [wanted.pod])
    judgement = judge(scheduler, pod)
    finding = Finding()
    if wanted.message is not None and not matches_text(wanted.message, judgement.message):
        finding.problems.append(f"explain {pod.key}: message: expected {wanted.message!r}, found {judgement.message!r}")
    for name, expected in wanted.nodes.items():
        found = judgement.nodes.get(name) or judgement.pre_filter
        text = f"explain {pod.key}: node {name}"
        if found is None:
            finding.problems.append(f"{text}: does not exist")
        elif not isinstance(found, Status) or isinstance(expected, str):
            said = str(status_json(found)) if isinstance(found, Status) else "fits"
            finding.problems += [] if said == expected else [f"{text}: expected {expected}, found {said}"]
        else:
            finding.problems += [f"{text}: {d}" for d in compare(expected, status_json(found))]
    finding.pods += [pod.key] if finding.problems else []
    return finding

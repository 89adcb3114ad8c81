"""The story of a pod: where it stands, what was recorded about it, why it waits."""

from typing import Any

from apportion.sched.explain import judge
from apportion.server import Resource
from apportion.sim.play.scenario import Tree
from apportion.sim.play.world import World, find_resource

EVENTS_MAX = 20


def tell(world: World, key: str) -> list[str]:
    """Return lines about the pod ``namespace/name``."""
    namespace, _, name = key.partition("/")
    pod = world.find_object(find_resource("Pod", ""), namespace, name)
    if pod is None:
        return [f"pod {key}: does not exist", *_tell_events(world, namespace, name)]
    status = pod.get("status", {})
    lines = [f"pod {key}: {status.get('phase', '?')}, node {pod['spec'].get('nodeName', 'none')}"]
    lines += [f"  condition {_tell_condition(c)}" for c in status.get("conditions", ())]
    lines += _tell_claims(world, pod)
    lines += _tell_events(world, namespace, name)
    return lines + _tell_queue(world, pod)


def _tell_condition(condition: Tree) -> str:
    text = f"{condition['type']}={condition['status']}"
    detail = ": ".join(filter(None, (condition.get("reason"), condition.get("message"))))
    return f"{text} ({detail})" if detail else text


def _tell_claims(world: World, pod: Tree) -> list[str]:
    resource = find_resource("ResourceClaim", "")
    made = {s["name"]: s.get("resourceClaimName") for s in pod.get("status", {}).get("resourceClaimStatuses", ())}
    lines = []
    for entry in pod["spec"].get("resourceClaims", ()):
        name = entry.get("resourceClaimName") or made.get(entry["name"])
        claim = world.find_object(resource, pod["metadata"]["namespace"], name) if name else None
        lines.append(f"  claim {entry['name']}: {_tell_claim(resource, name, claim)}")
    return lines


def _tell_claim(resource: Resource, name: str | None, claim: Tree | None) -> str:
    if claim is None:
        return f"{name} does not exist" if name else "no claim made yet"
    status = claim.get("status", {})
    results = status.get("allocation", {}).get("devices", {}).get("results", ())
    devices = ", ".join(f"{r['driver']}/{r['pool']}/{r['device']}" for r in results)
    users = ", ".join(r["name"] for r in status.get("reservedFor", ()))
    state = f"allocated ({devices})" if "allocation" in status else "not allocated"
    return f"{name}, {state}, reserved for {users or 'nobody'}"


def list_events(world: World, namespace: str = "") -> list[Tree]:
    """Return the recorded events in the order of their times."""
    events = world.list_objects(find_resource("Event", "events.k8s.io/v1"), namespace)
    return sorted(events, key=lambda e: (e.get("eventTime") or "", int(e["metadata"]["resourceVersion"])))


def _tell_events(world: World, namespace: str, name: str) -> list[str]:
    regarding = [e for e in list_events(world, namespace) if (e.get("regarding") or {}).get("name") == name]
    return [f"  event {_tell_event(e)}" for e in regarding[-EVENTS_MAX:]]


def _tell_event(event: Tree) -> str:
    return f"{event.get('type')} {event.get('reason')}: {event.get('note', '')}"


def _tell_queue(world: World, pod: Tree) -> list[str]:
    uid = pod["metadata"]["uid"]
    lines = [f"  queue: {describe_entry(e)}" for e in world.plane.scheduler.queue.dump() if e["uid"] == uid]
    info = world.plane.scheduler.pending.get(uid)
    if info is not None and uid not in world.plane.scheduler.state.pods:
        message = judge(world.plane.scheduler, info).message
        lines.append(f"  now: {message or 'a node fits'}")
    return lines


def describe_entry(entry: dict[str, Any]) -> str:
    """Return one line about a pod in the scheduling queue."""
    where = "parked" if entry["where"] == "unschedulable" else entry["where"]
    text = f"{where}, attempts {entry['attempts']}"
    holders = [*entry["unschedulable_plugins"], *entry["pending_plugins"], *([entry["gate"]] if entry["gate"] else [])]
    if holders:
        text += f", held by {', '.join(holders)}"
    if entry["wakes_on"]:
        text += f", wakes on {', '.join(entry['wakes_on'])}"
    if entry["backoff_left_s"]:
        text += f", backoff left {entry['backoff_left_s']:.3f}s"
    return text

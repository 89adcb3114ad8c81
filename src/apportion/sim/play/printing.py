"""What ``print`` steps show."""

import yaml

from apportion.base import InputError
from apportion.server import Resource
from apportion.sim.play.scenario import Tree
from apportion.sim.play.story import describe_entry, list_events
from apportion.sim.play.world import World, find_resource, namespace_of


def show(world: World, what: str) -> list[str]:
    """Return lines for ``queue``, ``events``, KIND, KIND/NAMESPACE or KIND/NAMESPACE/NAME (KIND/NAME without one).

    Raises InputError for a kind that does not exist.
    """
    if what == "queue":
        entries = world.plane.scheduler.queue.dump()
        return [f"{e['pod']}: {describe_entry(e)}" for e in entries] or ["the queue is empty"]
    if what == "events":
        return [_describe_event(e) for e in list_events(world)] or ["no events"]
    kind, *rest = what.split("/")
    resource = find_resource(kind, "")
    return _show_objects(world, resource, rest)


def _show_objects(world: World, resource: Resource, rest: list[str]) -> list[str]:
    if len(rest) > (2 if resource.kind.namespaced else 1):
        form = "KIND/NAMESPACE/NAME" if resource.kind.namespaced else "KIND/NAME"
        raise InputError(f"print {resource.kind.name}: write it as {form}")
    if rest and (len(rest) == 2 or not resource.kind.namespaced):
        namespace = rest[0] if len(rest) == 2 else ""
        found = world.find_object(resource, namespace_of(resource, namespace), rest[-1])
        return _dump(found) if found is not None else [f"{resource.kind.name} {'/'.join(rest)} does not exist"]
    trees = world.list_objects(resource, rest[0] if rest else "")
    return [line for tree in trees for line in ["---", *_dump(tree)]] or [f"no {resource.plural}"]


def _dump(tree: Tree) -> list[str]:
    text: str = yaml.safe_dump(tree, sort_keys=True, allow_unicode=True, width=120)
    return text.splitlines()


def _describe_event(event: Tree) -> str:
    about = event.get("regarding") or {}
    name = "/".join(filter(None, (about.get("kind"), about.get("namespace"), about.get("name"))))
    return f"{event.get('eventTime')} {event.get('type')} {event.get('reason')} {name}: {event.get('note', '')}"

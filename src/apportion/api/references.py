"""References between objects by uid, filled in where the input names the object only."""

from collections.abc import Iterable
from typing import Final, TypeAlias

from apportion.api.kinds import Tree, describe_object, split_api_version

# (API group, kind, namespace, name) -> uid; cluster-scoped objects have the namespace "".
_Uids: TypeAlias = dict[tuple[str, str, str, str], str]

_CONSUMER_KINDS: Final = {"pods": "Pod", "podgroups": "PodGroup"}


def fill_references(trees: Iterable[Tree]) -> tuple[list[Tree], list[str]]:
    """Return the objects with uids in ownerReferences and reservedFor, and a warning for each that was filled
    in.

    A reference to an object that is not among them is left as it is, also with a warning.
    """
    trees = list(trees)
    uids = _collect_uids(trees)
    warnings: list[str] = []
    return [_fill(tree, uids, warnings) for tree in trees], warnings


def _collect_uids(trees: list[Tree]) -> _Uids:
    uids: _Uids = {}
    for tree in trees:
        meta = tree["metadata"]
        group = split_api_version(tree["apiVersion"])[0]
        uids[group, tree["kind"], meta.get("namespace") or "", meta.get("name") or ""] = meta.get("uid") or ""
    return uids


def _fill(tree: Tree, uids: _Uids, warnings: list[str]) -> Tree:
    owners = tree["metadata"].get("ownerReferences")
    if owners and any(not o.get("uid") for o in owners):
        filled = [_fill_owner(tree, o, uids, warnings) for o in owners]
        tree = {**tree, "metadata": {**tree["metadata"], "ownerReferences": filled}}
    status = tree.get("status")
    consumers = status.get("reservedFor") if isinstance(status, dict) else None
    if consumers and any(not c.get("uid") for c in consumers):
        filled = [_fill_consumer(tree, c, uids, warnings) for c in consumers]
        tree = {**tree, "status": {**tree["status"], "reservedFor": filled}}
    return tree


def _fill_owner(tree: Tree, owner: Tree, uids: _Uids, warnings: list[str]) -> Tree:
    group = split_api_version(owner.get("apiVersion") or "")[0]
    return _fill_uid(tree, "owner", owner, (group, owner.get("kind") or "", owner.get("name") or ""), uids, warnings)


def _fill_consumer(tree: Tree, consumer: Tree, uids: _Uids, warnings: list[str]) -> Tree:
    kind = _CONSUMER_KINDS.get(consumer.get("resource") or "", "")
    target = (consumer.get("apiGroup") or "", kind, consumer.get("name") or "")
    return _fill_uid(tree, "consumer", consumer, target, uids, warnings)


def _fill_uid(
    tree: Tree, what: str, reference: Tree, target: tuple[str, str, str], uids: _Uids, warnings: list[str]
) -> Tree:
    if reference.get("uid"):
        return reference
    group, kind, name = target
    namespace = tree["metadata"].get("namespace") or ""
    uid = uids.get((group, kind, namespace, name)) or uids.get((group, kind, "", name))
    if not uid:
        warnings.append(f"{describe_object(tree)}: {what} {kind} {name} has no uid and is not in the input")
        return reference
    warnings.append(f"{describe_object(tree)}: {what} {kind} {name} had no uid; filled in from the input")
    return {**reference, "uid": uid}

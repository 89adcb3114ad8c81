"""What an API server would add to a new object, for objects that reach the scheduler without one."""

from typing import Final

from apportion.api.conversion import convert_to_preferred
from apportion.api.defaults import set_defaults
from apportion.api.kinds import Kind, Tree
from apportion.api.pod_admission import add_default_tolerations, merge_label_keys

CREATED_AT: Final = "2026-01-01T00:00:00Z"


def complete(tree: Tree, kind: Kind) -> Tree:
    """Return the object in its stored version with defaults; it has a name, and gets a uid made from that."""
    tree = set_defaults(convert_to_preferred(tree, kind), kind)
    meta = tree["metadata"]
    uid = f"{kind.plural}-{meta.get('namespace', '')}-{meta['name']}"
    tree = {**tree, "metadata": {"uid": uid, "creationTimestamp": CREATED_AT, **meta}}
    if kind.name == "Pod":
        return _complete_pod(tree)
    return _complete_node(tree) if kind.name == "Node" else tree


def _complete_pod(tree: Tree) -> Tree:
    spec = add_default_tolerations(merge_label_keys(tree["spec"], tree["metadata"].get("labels") or {}))
    return {
        **tree,
        "spec": {"priority": 0, "preemptionPolicy": "PreemptLowerPriority", **spec},
        "status": {"phase": "Pending", **(tree.get("status") or {})},
    }


def _complete_node(tree: Tree) -> Tree:
    status = tree.get("status") or {}
    room = {name: str(amount) for name, amount in (status.get("capacity") or {}).items()}
    given = {name: str(amount) for name, amount in (status.get("allocatable") or {}).items()}
    return {
        **tree,
        "spec": tree.get("spec") or {},
        "status": {**status, "capacity": room, "allocatable": given or room},
    }

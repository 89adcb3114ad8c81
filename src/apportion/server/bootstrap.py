"""What exists in every cluster from the start."""

from typing import Final

from apportion.api import Tree
from apportion.api.validation import SYSTEM_PRIORITY_CLASSES
from apportion.server.objects import Objects
from apportion.server.resources import get_resource
from apportion.store import Key

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_TEXTS: Final = {
    "system-node-critical": "For pods that their node cannot do without; they may not be moved away from it.",
    "system-cluster-critical": "For pods that the cluster cannot do without; they may be moved to another node.",
}


def create_system_objects(objects: Objects) -> None:
    """Create the namespaces and priority classes of Kubernetes itself, as far as they are missing."""
    for name in _NAMESPACES:
        _create(objects, "namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
    for name, value in SYSTEM_PRIORITY_CLASSES.items():
        tree = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": name}}
        _create(objects, "priorityclasses", {**tree, "value": value, "description": _TEXTS.get(name, "")})


def _create(objects: Objects, plural: str, tree: Tree) -> None:
    resource = get_resource(plural)
    if objects.store.find(Key(resource.storage, "", tree["metadata"]["name"])) is None:
        objects.create(tree, resource, dry_run=False)

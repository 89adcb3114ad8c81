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

# The API under a name that pods know. Source: pkg/controlplane/controller/kubernetesservice upstream.
_SERVICE: Final[Tree] = {
    "kind": "Service",
    "apiVersion": "v1",
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": "10.96.0.1",
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}],
    },
}


def create_system_objects(objects: Objects) -> None:
    """Create the namespaces, priority classes and service of Kubernetes itself, as far as they are missing."""
    for name in _NAMESPACES:
        _create(objects, "namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})
    for name, value in SYSTEM_PRIORITY_CLASSES.items():
        tree = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": name}}
        _create(objects, "priorityclasses", {**tree, "value": value, "description": _TEXTS.get(name, "")})
    _create(objects, "services", _SERVICE)


def _create(objects: Objects, plural: str, tree: Tree) -> None:
    resource = get_resource(plural)
    metadata = tree["metadata"]
    if objects.store.find(Key(resource.storage, metadata.get("namespace", ""), metadata["name"])) is None:
        objects.create(tree, resource, dry_run=False)

"""Daemon pods: one for each node where they may run, bound to it by node affinity (pkg/controller/daemon
upstream).
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import orjson

from apportion.api.core import Node, PodSpec
from apportion.api.decode import decode_as
from apportion.api.kinds import Tree
from apportion.api.selectors import NodeMatcher, compile_node_selector, tolerates
from apportion.sim.pod_templates import (
    Child,
    check_selector,
    hash_template,
    make_pod,
    read_object,
    read_template,
)

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ADDED_TOLERATIONS: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
_HOST_NETWORK_TOLERATION: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


class DaemonExpander:
    """Makes daemon pods for the nodes of one input."""

    def __init__(self, nodes: Sequence[Tree]) -> None:
        self._nodes = [decode_as(Node, orjson.dumps(n)) for n in nodes]

    def expand(self, tree: Tree) -> Iterator[Child]:
        """Yield a pod for each node that the DaemonSet's selector, affinity and tolerations allow."""
        spec = read_object(tree, "spec")
        template = read_template(tree, spec.get("template"), "spec.template")
        check_selector(spec, template)
        pod_spec = {**template["spec"], "tolerations": _add_tolerations(template["spec"])}
        view = decode_as(PodSpec, orjson.dumps(pod_spec))
        affinity = view.affinity.node_affinity if view.affinity is not None else None
        required = affinity.required if affinity is not None else None
        matcher = compile_node_selector(required) if required is not None else None
        labels = {"controller-revision-hash": hash_template(template), "pod-template-generation": "1"}
        for node in self._nodes:
            if _runs_on(node, view, matcher):
                fields = {**pod_spec, "affinity": _bind_to_node(pod_spec.get("affinity"), node.metadata.name)}
                pod = make_pod(tree, template, labels, spec=fields)
                yield Child(pod, f"{tree['metadata']['name']}-", node=node.metadata.name)


def _add_tolerations(spec: Tree) -> list[Tree]:
    tolerations = list(spec.get("tolerations") or ())
    added = [*_ADDED_TOLERATIONS, *([_HOST_NETWORK_TOLERATION] if spec.get("hostNetwork") else [])]
    for key, effect in added:
        toleration = {"key": key, "operator": "Exists", "effect": effect}
        if toleration not in tolerations:
            tolerations.append(toleration)
    return tolerations


def _runs_on(node: Node, spec: PodSpec, matcher: NodeMatcher | None) -> bool:
    labels = node.metadata.labels
    if spec.node_name and spec.node_name != node.metadata.name:
        return False
    if any(labels.get(k) != v for k, v in spec.node_selector.items()):
        return False
    if matcher is not None and not matcher.matches(node.metadata.name, labels):
        return False
    return all(
        taint.effect not in ("NoSchedule", "NoExecute") or any(tolerates(t, taint) for t in spec.tolerations)
        for taint in node.spec.taints
    )


def _bind_to_node(affinity: Any, node: str) -> Tree:
    """Return the affinity with the required node terms replaced by the node's name."""
    bound: Tree = dict(affinity or {})
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    node_affinity = bound.get("nodeAffinity") or {}
    bound["nodeAffinity"] = {**node_affinity, _REQUIRED: {"nodeSelectorTerms": [term]}}
    return bound


def find_daemon_node(pod: Tree) -> str | None:
    """Return the node that an existing daemon pod is on, or bound to by its affinity."""
    spec = pod.get("spec") or {}
    if spec.get("nodeName"):
        return str(spec["nodeName"])
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("values"):
                return str(field["values"][0])
    return None

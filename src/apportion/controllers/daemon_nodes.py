"""On which nodes a DaemonSet runs, and what its pods look like there.

Source: pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod) and daemon/util.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import orjson

from apportion.api import Tree, compile_node_selector, decode_as, tolerates
from apportion.api.core import Affinity, Node, PodSpec, Taint, Toleration
from apportion.controllers.revisions import REVISION_HASH
from apportion.controllers.workload_objects import Pod, Workload

GENERATION_LABEL: Final = "pod-template-generation"
GENERATION: Final = "deprecated.daemonset.template.generation"
_NODE_TAINT: Final = "node.kubernetes.io/"
_TOLERATED: Final = (
    ("not-ready", "NoExecute"), ("unreachable", "NoExecute"), ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"), ("pid-pressure", "NoSchedule"), ("unschedulable", "NoSchedule"),
)  # fmt: skip
_HOST_NETWORK: Final = ("network-unavailable", "NoSchedule")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What decides about a node; stays the same object until it changes."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]

    @classmethod
    def of(cls, node: Node) -> "NodeFacts":
        """Return the facts of a node."""
        return cls(node.metadata.name, node.metadata.labels, node.spec.taints)


class Placement:
    """Where the pods of one template may run: on a node, not any more on one where they already run, or not at all."""

    def __init__(self, template: Tree) -> None:
        spec = decode_as(PodSpec, orjson.dumps(template["spec"]))
        self._node_name = spec.node_name
        self._labels = spec.node_selector
        required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
        self._matcher = compile_node_selector(required) if required is not None else None
        self._tolerations = (*spec.tolerations, *_list_tolerations(spec.host_network))
        self._known: dict[str, tuple[NodeFacts, tuple[bool, bool]]] = {}

    def judge(self, facts: NodeFacts) -> tuple[bool, bool]:
        """Return whether a pod should run on a node, and whether one that runs there may go on."""
        known = self._known.get(facts.name)
        if known is None or known[0] is not facts:
            known = self._known[facts.name] = (facts, self._judge(facts))
        return known[1]

    def forget(self, name: str) -> None:
        """Forget a node that is gone."""
        self._known.pop(name, None)

    def _judge(self, facts: NodeFacts) -> tuple[bool, bool]:
        if self._node_name not in ("", facts.name) or not self._labels.items() <= facts.labels.items():
            return False, False
        if self._matcher is not None and not self._matcher.matches(facts.name, facts.labels):
            return False, False
        hard = [t for t in facts.taints if t.effect in ("NoSchedule", "NoExecute") and not self._tolerates(t)]
        return not hard, all(t.effect != "NoExecute" for t in hard)

    def _tolerates(self, taint: Taint) -> bool:
        return any(tolerates(t, taint) for t in self._tolerations)


def _list_tolerations(host_network: bool) -> list[Toleration]:
    wanted = (*_TOLERATED, *([_HOST_NETWORK] if host_network else []))
    return [Toleration(key=_NODE_TAINT + key, operator="Exists", effect=effect) for key, effect in wanted]


def make_daemon_template(owner: Workload, node: str, revision_hash: str) -> Tree:
    """Return the template of the pod on one node: bound to it by affinity, tolerant of what may befall a node."""
    template = owner.spec["template"]
    meta, spec = template.get("metadata") or {}, dict(template["spec"])
    labels = {**(meta.get("labels") or {}), REVISION_HASH: revision_hash}
    generation = owner.metadata.annotations.get(GENERATION)
    if generation is not None:
        labels[GENERATION_LABEL] = generation
    added: list[Tree] = [msgspec.to_builtins(t) for t in _list_tolerations(bool(spec.get("hostNetwork")))]
    kept = [t for t in spec.get("tolerations") or () if t not in added]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity: dict[str, Any] = spec.get("affinity") or {}
    node_affinity = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": required,
    }
    spec.update(tolerations=[*kept, *added], affinity={**affinity, "nodeAffinity": node_affinity})
    return {**template, "metadata": {**meta, "labels": labels}, "spec": spec}


def find_target(pod: Pod) -> str | None:
    """Return the node that a pod is on or was made for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    raw = bytes(pod.spec.affinity)
    affinity = decode_as(Affinity, raw) if raw != b"null" else None
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In" and len(field.values) == 1:
                return field.values[0]
    return None


def is_updated(pod: Pod, owner: Workload, revision_hash: str) -> bool:
    """Return whether a pod was made from the owner's template."""
    generation = owner.metadata.annotations.get(GENERATION)
    same = generation is not None and pod.labels.get(GENERATION_LABEL) == generation
    return same or pod.labels.get(REVISION_HASH) == revision_hash

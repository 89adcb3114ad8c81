"""A cluster for the simulator: read, completed, in an order that does not depend on the order of the files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from apportion.api.feature_gates import FeatureGates
from apportion.api.kinds import Tree, find_kind_of
from apportion.base import Rng
from apportion.cel import check_expressions
from apportion.sim.intake import DEFAULT_NOW, ClusterInput, complete_cluster
from apportion.sim.manifests import Loaded, Rejected, SourcedObject, load_paths

# an assumed node has room for whatever is not known of it
_ASSUMED_ROOM: Final = {"cpu": "256", "memory": "4Ti", "ephemeral-storage": "64Ti", "pods": "256"}


@dataclass(slots=True)
class Cluster:
    """``objects`` are (resource, tree) in the order in which the scheduler shall see them."""

    objects: list[tuple[str, Tree]] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    not_understood: list[dict[str, Any]] = field(default_factory=list)
    nodes_assumed: list[str] = field(default_factory=list)


def load_cluster(
    paths: Sequence[str], stdin: BinaryIO | None, gates: FeatureGates, assume_nodes: bool, seed: int
) -> Cluster:
    """Read ``paths`` and complete what they describe, as an API server and its controllers would.

    Raises InputError when a path cannot be read and LimitError when there is too much; anything else that is wrong
    with an object is listed, and the other objects load.
    """
    loaded = load_paths(paths, stdin, check_expressions(gates.as_dict()))
    assumed = _assume_nodes(loaded) if assume_nodes else []
    found = complete_cluster(loaded, rng=Rng(seed))
    return Cluster(
        objects=_in_order(found),
        rejected=[_describe(r) for r in found.rejected],
        warnings=found.warnings,
        not_understood=[_entry(r) for r in found.not_understood],
        nodes_assumed=assumed,
    )


def _describe(rejected: Rejected) -> str:
    where = f"{rejected.file}, document {rejected.document + 1}"
    what = f", {rejected.object}" if rejected.object else ""
    at = f": {rejected.field}" if rejected.field else ""
    return f"{where}{what}{at}: {rejected.reason}"


def _entry(rejected: Rejected) -> dict[str, Any]:
    return {"object": rejected.object, "file": rejected.file, "reason": rejected.reason}


# ---- nodes that nobody describes ------------------------------------------------------------------------------


def _assume_nodes(loaded: Loaded) -> list[str]:
    """Add a Node for every name that slices, pods or allocations use and no Node object has; returns the names."""
    known: set[str] = set()
    named: set[str] = set()
    for entry in loaded.objects:
        tree = entry.tree
        if tree["kind"] == "Node":
            known.add(tree["metadata"]["name"])
        else:
            named.update(_named_nodes(tree))
    assumed = sorted(named - known)
    for index, name in enumerate(assumed):
        loaded.objects.append(SourcedObject(_assumed_node(name), "--assume-nodes", 0, index))
    return assumed


def _named_nodes(tree: Tree) -> Iterator[str]:
    kind, spec = tree["kind"], tree.get("spec", {})
    if kind == "Pod" and spec.get("nodeName"):
        yield spec["nodeName"]
    elif kind == "ResourceSlice":
        owners = [spec, *(spec.get("devices") or ())]
        yield from (o["nodeName"] for o in owners if o.get("nodeName"))
    elif kind == "ResourceClaim":
        allocation = tree.get("status", {}).get("allocation") or {}
        yield from _selected_names((allocation.get("nodeSelector") or {}).get("nodeSelectorTerms", ()))


def _selected_names(terms: Iterable[Tree]) -> Iterator[str]:
    for term in terms:
        for requirement in term.get("matchFields", ()):
            if requirement.get("key") == "metadata.name" and requirement.get("operator") == "In":
                yield from requirement.get("values", ())


def _assumed_node(name: str) -> Tree:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
            "creationTimestamp": DEFAULT_NOW,
        },
        "spec": {},
        "status": {
            "capacity": dict(_ASSUMED_ROOM),
            "allocatable": dict(_ASSUMED_ROOM),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


# ---- order ----------------------------------------------------------------------------------------------------


def _in_order(found: ClusterInput) -> list[tuple[str, Tree]]:
    """Return everything but pods by namespace and name, then pods by priority, creation and input order."""
    others: list[tuple[str, Tree]] = []
    pods: list[Tree] = []
    for tree in found.trees():
        kind = find_kind_of(tree)
        assert kind is not None, "only known kinds are loaded"
        if kind.plural == "pods":
            pods.append(tree)
        else:
            others.append((kind.plural, tree))
    others.sort(key=lambda o: (o[0], o[1]["metadata"].get("namespace", ""), o[1]["metadata"]["name"]))
    pods.sort(key=lambda p: (-(p["spec"].get("priority") or 0), p["metadata"].get("creationTimestamp") or ""))
    return [*others, *(("pods", p) for p in pods)]

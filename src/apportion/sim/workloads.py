"""Expands workloads into pods, as their controllers would, next to the pods that exist already.

A workload yields children: pods, claims for volumes, or other workloads, which are expanded in turn. Pods and
child workloads of a dump count towards what a workload asks for. What cannot be expanded is listed with the
reason.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from apportion.api.identity import NameGenerator, fill_identity, fill_name
from apportion.api.kinds import Kind, Tree, Use, describe_object, find_kind_of
from apportion.base import LimitError, ValidationError
from apportion.sim.core_workloads import (
    expand_deployment,
    expand_job,
    expand_replication_controller,
    expand_stateful_set,
    make_cron_job_expander,
)
from apportion.sim.daemon_sets import DaemonExpander, find_daemon_node
from apportion.sim.manifests import Rejected, SourcedObject
from apportion.sim.pod_templates import Child, InvalidTemplateError
from apportion.sim.ray_workloads import expand_ray_cluster, expand_ray_job
from apportion.sim.training_workloads import (
    expand_job_set,
    expand_leader_worker_set,
    expand_mpi_job,
    expand_pytorch_job,
)

PODS_MAX: Final = 200_000
_Expander: TypeAlias = Callable[[Tree], Iterator[Child]]
# (kind, namespace, name) of a controller
_OwnerKey: TypeAlias = tuple[str, str, str]
_SUSPEND_FIELDS: Final = (("spec", "suspend"), ("spec", "runPolicy", "suspend"))
_FINISHED: Final = ("Succeeded", "Failed")


@dataclass(slots=True)
class Expansion:
    """The input with pods in place of what stood for them; workloads stay in it, since selectors are read off
    them.
    """

    objects: list[SourcedObject] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def expand_workloads(
    objects: Iterable[SourcedObject], names: NameGenerator, now: str, pods_max: int = PODS_MAX
) -> Expansion:
    """Return the objects with all workloads expanded, in input order, children right after the workload.

    ``now`` (RFC 3339) dates what is created. Raises LimitError when there would be more than ``pods_max``
    pods.
    """
    return _Expanding(list(objects), names, now, pods_max).run()


class _Expanding:
    """One run: what exists by name and by owner, and what was added to it."""

    def __init__(self, objects: list[SourcedObject], names: NameGenerator, now: str, pods_max: int) -> None:
        self._names = names
        self._now = now
        self._pods_max = pods_max
        self._pods = 0
        self._result = Expansion()
        self._existing: set[_OwnerKey] = set()
        self._owned: Counter[tuple[_OwnerKey, str]] = Counter()
        self._daemon_nodes: set[tuple[_OwnerKey, str]] = set()
        self._owner_names: dict[tuple[str, str], list[str]] = {}
        for entry in objects:
            self._reserve_name(entry.tree)
        self._objects = [self._identify(entry) for entry in objects]
        for entry in self._objects:
            self._record(entry.tree)
        nodes = [e.tree for e in self._objects if e.tree["kind"] == "Node"]
        self._expanders = _make_expanders(DaemonExpander(nodes), now)

    def run(self) -> Expansion:
        for entry in self._objects:
            self._result.objects.append(entry)
            waiting = deque([entry]) if _is_workload(entry.tree) else deque()
            while waiting:
                children = self._expand(waiting.popleft())
                self._result.objects.extend(children)
                waiting.extend(c for c in children if _is_workload(c.tree))
        return self._result

    # ---- what exists ------------------------------------------------------------------------------------

    def _reserve_name(self, tree: Tree) -> None:
        kind, meta = find_kind_of(tree), tree["metadata"]
        if kind is not None and meta.get("name"):
            self._names.reserve(kind.qualified_name, meta.get("namespace") or "", meta["name"])

    def _identify(self, entry: SourcedObject) -> SourcedObject:
        kind = find_kind_of(entry.tree)
        if kind is None:
            return entry
        if kind.use is Use.WORKLOAD:  # its children name it by uid
            return replace(entry, tree=fill_identity(entry.tree, kind, self._names, self._now))
        return replace(entry, tree=fill_name(entry.tree, kind, self._names))

    def _record(self, tree: Tree) -> None:
        kind, namespace = tree["kind"], tree["metadata"].get("namespace") or ""
        self._existing.add((kind, namespace, tree["metadata"].get("name") or ""))
        if kind == "Pod":
            self._count_pod()
        owner = _find_controller(tree)
        if owner is None:
            return
        if kind == "Pod":
            self._owner_names.setdefault((owner[0], namespace), []).append(owner[2])
            node = find_daemon_node(tree) if owner[0] == "DaemonSet" else None
            if node is not None:
                self._daemon_nodes.add((owner, node))
        if kind != "Pod" or (tree.get("status") or {}).get("phase") not in _FINISHED:
            self._owned[owner, kind] += 1

    def _count_pod(self, count: int = 1, what: str = "the input") -> None:
        self._pods += count
        if self._pods > self._pods_max:
            raise LimitError(f"more than {self._pods_max} pods with {what}; lower its replicas or raise the limit")

    def _find_known_hash(self, tree: Tree) -> str | None:
        """Return the pod-template-hash that pods of this Deployment have, whose ReplicaSet is not in the
        input.
        """
        meta = tree["metadata"]
        prefix = f"{meta['name']}-"
        owners = self._owner_names.get(("ReplicaSet", meta["namespace"]), ())
        suffixes = Counter(
            o.removeprefix(prefix) for o in owners if o.startswith(prefix) and "-" not in o.removeprefix(prefix)
        )
        return max(suffixes, key=lambda s: (suffixes[s], s), default=None)

    # ---- expanding --------------------------------------------------------------------------------------

    def _expand(self, entry: SourcedObject) -> list[SourcedObject]:
        tree = entry.tree
        if any(_is_set(tree, path) for path in _SUSPEND_FIELDS):
            self._result.warnings.append(f"{describe_object(tree)} is suspended; it has no pods")
            return []
        made: list[SourcedObject] = []
        try:
            for child in self._yield_children(tree):
                made.extend(replace(entry, tree=t) for t in self._create(tree, child))
        except InvalidTemplateError as error:
            self._reject(entry, error.problems)
        except ValidationError as error:
            self._reject(entry, [error])
        return made

    def _yield_children(self, tree: Tree) -> Iterator[Child]:
        if tree["kind"] == "Deployment":
            return expand_deployment(tree, self._find_known_hash(tree))
        return self._expanders[tree["kind"]](tree)

    def _reject(self, entry: SourcedObject, problems: list[ValidationError]) -> None:
        what = describe_object(entry.tree)
        for p in problems:
            self._result.rejected.append(Rejected(entry.file, entry.document, what, p.field, p.detail))

    def _create(self, owner: Tree, child: Child) -> Iterator[Tree]:
        kind = _get_child_kind(child)
        namespace = child.tree["metadata"]["namespace"]
        count = self._count_missing(owner, child, kind, namespace)
        if kind.name == "Pod":
            self._count_pod(count, describe_object(owner))
        for _ in range(count):
            name = child.name
            if name.endswith("-"):
                name = self._names.generate(kind.qualified_name, namespace, name)
            self._existing.add((kind.name, namespace, name))
            metadata = {"name": name, **child.tree["metadata"]}
            if child.name.endswith("-"):
                metadata["generateName"] = child.name
            # as old as what it stands for, so that the order of the files does not decide whose pods come first
            created = owner["metadata"].get("creationTimestamp")
            if created:
                metadata.setdefault("creationTimestamp", created)
            tree = {**child.tree, "metadata": metadata}
            # A uid on a pod would tell admission that a server has admitted it already.
            yield fill_identity(tree, kind, self._names, self._now) if kind.use is Use.WORKLOAD else tree

    def _count_missing(self, owner: Tree, child: Child, kind: Kind, namespace: str) -> int:
        """Return how many of the child's objects do not exist yet."""
        key = (owner["kind"], owner["metadata"]["namespace"], owner["metadata"]["name"])
        if child.node:
            return 0 if (key, child.node) in self._daemon_nodes else 1
        if owner["kind"] in _ONE_CHILD and kind.use is Use.WORKLOAD and self._owned[key, kind.name]:
            return 0  # under whatever name it has
        if not child.name.endswith("-"):
            return 0 if (kind.name, namespace, child.name) in self._existing else 1
        taken = min(self._owned[key, kind.name], child.count)
        self._owned[key, kind.name] -= taken
        return child.count - taken


# Their child workload counts under any name, not only under the one that would be given here.
_ONE_CHILD: Final = ("Deployment", "CronJob", "RayJob")


def _make_expanders(daemons: DaemonExpander, now: str) -> dict[str, _Expander]:
    return {
        "CronJob": make_cron_job_expander(now),
        "DaemonSet": daemons.expand,
        "Job": expand_job,
        "JobSet": expand_job_set,
        "LeaderWorkerSet": expand_leader_worker_set,
        "MPIJob": expand_mpi_job,
        "PyTorchJob": expand_pytorch_job,
        "RayCluster": expand_ray_cluster,
        "RayJob": expand_ray_job,
        "ReplicaSet": expand_replication_controller,
        "ReplicationController": expand_replication_controller,
        "StatefulSet": expand_stateful_set,
    }


def _get_child_kind(child: Child) -> Kind:
    kind = find_kind_of(child.tree)
    assert kind is not None, "expanders make known kinds only"
    return kind


def _is_workload(tree: Tree) -> bool:
    kind = find_kind_of(tree)
    return kind is not None and kind.use is Use.WORKLOAD


def _is_set(tree: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree is True


def _find_controller(tree: Tree) -> _OwnerKey | None:
    for owner in tree["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return owner.get("kind") or "", tree["metadata"].get("namespace") or "", owner.get("name") or ""
    return None

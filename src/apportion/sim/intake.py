"""From files to a cluster: manifests are read, workloads expanded, objects admitted, claims created."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from apportion.api.admission import AdmissionContext, admit
from apportion.api.identity import NameGenerator
from apportion.api.kinds import Tree, describe_object, find_kind_of
from apportion.api.references import fill_references
from apportion.api.validation import CheckCEL
from apportion.base import Rng, ValidationError
from apportion.sim.claims import create_claims
from apportion.sim.manifests import Loaded, Rejected, SourcedObject, load_paths
from apportion.sim.workloads import PODS_MAX, expand_workloads

DEFAULT_NOW = "2026-01-01T00:00:00Z"


@dataclass(slots=True)
class ClusterInput:
    """All objects as an API server would hold them after the controllers have run, and what could not be used."""

    objects: list[SourcedObject] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    not_understood: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def trees(self) -> list[Tree]:
        """Return the objects without where they came from, in order."""
        return [o.tree for o in self.objects]


def read_cluster(
    paths: Sequence[str],
    stdin: BinaryIO | None = None,
    *,
    rng: Rng,
    now: str = DEFAULT_NOW,
    check_cel: CheckCEL | None = None,
    pods_max: int = PODS_MAX,
) -> ClusterInput:
    """Read files, folders and ``-`` into a cluster; the same input and seed always give the same objects.

    ``now`` (RFC 3339) is the creation time of objects that have none. Raises InputError when a path cannot be read and
    LimitError when there are too many objects or pods; all else that is wrong is listed in the result.
    """
    return complete_cluster(load_paths(paths, stdin, check_cel), rng=rng, now=now, pods_max=pods_max)


def complete_cluster(loaded: Loaded, *, rng: Rng, now: str = DEFAULT_NOW, pods_max: int = PODS_MAX) -> ClusterInput:
    """Expand, admit and connect objects that are loaded; raises LimitError when there are too many pods."""
    names = NameGenerator(rng.fork("generated-names"))
    expanded = expand_workloads(loaded.objects, names, now, pods_max)
    context = AdmissionContext.from_trees((o.tree for o in expanded.objects), names, now)
    result = ClusterInput(
        rejected=loaded.rejected + expanded.rejected,
        not_understood=list(loaded.not_understood),
        warnings=loaded.warnings + expanded.warnings,
    )
    new_pods = {
        _name_key(o.tree) for o in expanded.objects if o.tree["kind"] == "Pod" and not o.tree["metadata"].get("uid")
    }
    admitted = _adopt_pod_uids(_admit_all(expanded.objects, context, result), new_pods, result.warnings)
    claimed = create_claims(admitted, context)
    trees, warnings = fill_references(o.tree for o in claimed.objects)
    result.objects = [
        o if o.tree is tree else replace(o, tree=tree) for o, tree in zip(claimed.objects, trees, strict=True)
    ]
    result.rejected += claimed.rejected
    result.warnings += claimed.warnings + warnings
    return result


def _name_key(tree: Tree) -> tuple[str, str]:
    return tree["metadata"].get("namespace") or "", tree["metadata"].get("name") or ""


def _adopt_pod_uids(
    objects: list[SourcedObject], new_pods: set[tuple[str, str]], warnings: list[str]
) -> list[SourcedObject]:
    """Give new pods the uid by which a claim of a dump knows its owner, so that the captured claim stays theirs."""
    known: dict[tuple[str, str], str] = {}
    for entry in objects:
        if entry.tree["kind"] == "ResourceClaim":
            for owner in entry.tree["metadata"].get("ownerReferences") or ():
                if owner.get("kind") == "Pod" and owner.get("controller") and owner.get("uid"):
                    known[_name_key(entry.tree)[0], owner.get("name") or ""] = owner["uid"]
    adopted = []
    for entry in objects:
        key = _name_key(entry.tree)
        if entry.tree["kind"] == "Pod" and key in known and key in new_pods:
            warnings.append(f"{describe_object(entry.tree)}: had no uid; took the one its claim names as owner")
            meta = {**entry.tree["metadata"], "uid": known[key]}
            entry = replace(entry, tree={**entry.tree, "metadata": meta})
        adopted.append(entry)
    return adopted


def _admit_all(objects: list[SourcedObject], context: AdmissionContext, result: ClusterInput) -> list[SourcedObject]:
    admitted: list[SourcedObject] = []
    for entry in objects:
        kind = find_kind_of(entry.tree)
        assert kind is not None, "the loader lets known kinds through only"
        try:
            admitted.append(replace(entry, tree=admit(entry.tree, kind, context)))
        except ValidationError as error:
            what = describe_object(entry.tree)
            result.rejected.append(Rejected(entry.file, entry.document, what, error.field, error.detail))
    return admitted

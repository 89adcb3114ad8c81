"""Resource claims of pods that name a claim template: created, adopted, or left for the scheduler to report.

Follows the ResourceClaim controller (pkg/controller/resourceclaim upstream): the names, owner, annotation and
the entry in the pod's status are those that it would write.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from apportion.api.admission import AdmissionContext, admit
from apportion.api.identity import claim_name_prefix
from apportion.api.kinds import Tree, describe_object, get_kind
from apportion.base import ValidationError
from apportion.sim.manifests import Rejected, SourcedObject

POD_CLAIM_ANNOTATION: Final = "resource.kubernetes.io/pod-claim-name"
_CLAIM: Final = get_kind("resource.k8s.io", "ResourceClaim")
_FINISHED: Final = ("Succeeded", "Failed")


@dataclass(slots=True)
class ClaimedInput:
    """The input with claims for all pods whose template is in it."""

    objects: list[SourcedObject] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def create_claims(objects: Iterable[SourcedObject], context: AdmissionContext) -> ClaimedInput:
    """Return the objects with generated claims, each right before its pod, and with the pods' status naming
    them.

    Expects admitted objects. Pods that have finished need no claims; for pods on a node whose recorded claim
    is not in the input there is a warning, since the devices that they hold are unknown.
    """
    return _Claiming(list(objects), context).run()


class _Claiming:
    """One run over the input: which templates and claims there are, and what was made from them."""

    def __init__(self, objects: list[SourcedObject], context: AdmissionContext) -> None:
        self._objects = objects
        self._context = context
        self._result = ClaimedInput()
        self._templates: dict[tuple[str, str], Tree] = {}
        self._claims: dict[tuple[str, str], Tree] = {}
        self._orphans: dict[tuple[str, str], list[Tree]] = {}
        for entry in objects:
            self._record(entry.tree)

    def _record(self, tree: Tree) -> None:
        meta = tree["metadata"]
        key = (meta.get("namespace") or "", meta.get("name") or "")
        if tree["kind"] == "ResourceClaimTemplate":
            self._templates[key] = tree
        elif tree["kind"] == "ResourceClaim":
            self._claims[key] = tree
            for owner in meta.get("ownerReferences") or ():
                if owner.get("kind") == "Pod":
                    self._orphans.setdefault((key[0], owner.get("name") or ""), []).append(tree)

    def run(self) -> ClaimedInput:
        for entry in self._objects:
            if entry.tree["kind"] == "Pod" and _needs_claims(entry.tree):
                entry = self._claim_for(entry)
            self._result.objects.append(entry)
        return self._result

    def _claim_for(self, entry: SourcedObject) -> SourcedObject:
        pod = entry.tree
        status = pod.get("status") or {}
        recorded = list(status.get("resourceClaimStatuses") or ())
        statuses = {s.get("name"): s for s in recorded}
        added: list[Tree] = []
        for item in pod["spec"].get("resourceClaims") or ():
            if item.get("resourceClaimTemplateName") is None:
                continue
            if item["name"] in statuses and self._is_settled(pod, statuses[item["name"]]):
                continue
            name = self._find_claim(pod, item) or self._create(entry, item)
            if name is not None:
                added.append({"name": item["name"], "resourceClaimName": name})
        if not added:
            return entry
        replaced = {s["name"] for s in added}
        merged = [s for s in recorded if s.get("name") not in replaced] + added
        return replace(entry, tree={**pod, "status": {**status, "resourceClaimStatuses": merged}})

    def _is_settled(self, pod: Tree, status: Tree) -> bool:
        """Return whether the recorded claim stands: no claim is needed, it exists, or the pod has a node
        already.
        """
        name = status.get("resourceClaimName")
        if name is None or (pod["metadata"]["namespace"], name) in self._claims:
            return True
        if pod["spec"].get("nodeName"):
            self._result.warnings.append(
                f"{describe_object(pod)}: its claim {name} is not in the input; the devices it holds are unknown"
            )
            return True
        return False

    def _find_claim(self, pod: Tree, item: Tree) -> str | None:
        """Return the name of a claim in the input that the pod owns for this entry (``item``)."""
        meta = pod["metadata"]
        for claim in self._orphans.get((meta["namespace"], meta["name"]), ()):
            annotation = (claim["metadata"].get("annotations") or {}).get(POD_CLAIM_ANNOTATION)
            name: str = claim["metadata"]["name"]
            # Before 1.28 claims had this very name, and no annotation.
            by_name = annotation is None and name == f"{meta['name']}-{item['name']}"
            if (annotation == item["name"] or by_name) and _is_owned(claim, meta):
                return name
        return None

    def _create(self, entry: SourcedObject, item: Tree) -> str | None:
        pod = entry.tree["metadata"]
        template = self._templates.get((pod["namespace"], item["resourceClaimTemplateName"]))
        if template is None:
            return None
        try:
            claim = admit(_make_claim(pod, item["name"], template), _CLAIM, self._context)
        except ValidationError as error:
            what = f"ResourceClaim for {describe_object(entry.tree)}"
            rejected = Rejected(entry.file, entry.document, what, error.field, error.detail)
            self._result.rejected.append(rejected)
            return None
        self._claims[pod["namespace"], claim["metadata"]["name"]] = claim
        self._result.objects.append(replace(entry, tree=claim))
        return str(claim["metadata"]["name"])


def _needs_claims(pod: Tree) -> bool:
    finished = (pod.get("status") or {}).get("phase") in _FINISHED
    return bool(pod["spec"].get("resourceClaims")) and not finished and not pod["metadata"].get("deletionTimestamp")


def _is_owned(claim: Tree, pod: Tree) -> bool:
    owners = claim["metadata"]["ownerReferences"]
    return any(o.get("name") == pod["name"] and o.get("uid") in (None, "", pod.get("uid")) for o in owners)


def _make_claim(pod: Tree, entry_name: str, template: Tree) -> Tree:
    spec = template.get("spec") or {}
    meta = spec.get("metadata") or {}
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod["name"],
        "uid": pod["uid"],
        "controller": True,
    }
    metadata = {
        "generateName": claim_name_prefix(pod["name"], entry_name),
        "namespace": pod["namespace"],
        "annotations": {**(meta.get("annotations") or {}), POD_CLAIM_ANNOTATION: entry_name},
        "ownerReferences": [owner],
        **({"labels": meta["labels"]} if meta.get("labels") else {}),
    }
    return {
        "apiVersion": _CLAIM.api_version,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": spec.get("spec") or {},
        "status": {},
    }

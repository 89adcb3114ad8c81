"""Which fields of a pod's spec an update may change. Source: ValidatePodUpdate in pkg/apis/core/validation."""

from typing import Any, Final

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server.strategies.fields import forbidden, invalid
from apportion.server.strategies.pod_diff import print_spec_difference

_TEXT: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_LISTS: Final = ("containers", "initContainers")
_MUTABLE: Final = ("activeDeadlineSeconds", "tolerations", "schedulingGates")
_TERMS: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ADDITIONS: Final = "only additions are allowed (no mutations or deletions)"


def check_pod_update(new: Tree, old: Tree) -> list[ValidationError]:
    """Return the fields that changed although they must not."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if spec == before:
        return []
    found = _check_gates(spec, before)
    for name in _LISTS:
        if len(spec.get(name) or ()) != len(before.get(name) or ()):
            return [*found, forbidden(f"spec.{name}", "pod updates may not add or remove containers")]
    found += _check_deadline(spec, before) + _check_tolerations(spec, before)
    same = _take_mutable(spec, before)
    if before.get("schedulingGates"):
        found += _check_narrowing(spec, before)
        same = _take_narrowing(same, before)
    if same != before:
        found.append(forbidden("spec", f"{_TEXT}\n{print_spec_difference(before, same)}"))
    return found


def _check_gates(spec: Tree, before: Tree) -> list[ValidationError]:
    known = [g.get("name") for g in before.get("schedulingGates") or ()]
    added = [g.get("name") for g in spec.get("schedulingGates") or () if g.get("name") not in known]
    if not added:
        return []
    why = f"only deletion is allowed, but found new scheduling gate '{added[0]}'"
    return [forbidden("spec.schedulingGates", why)]


def _check_deadline(spec: Tree, before: Tree) -> list[ValidationError]:
    field, given, was = (
        "spec.activeDeadlineSeconds",
        spec.get("activeDeadlineSeconds"),
        before.get("activeDeadlineSeconds"),
    )
    if was is None:
        return []
    if given is None:
        return [invalid(field, None, "must not update from a positive integer to nil value")]
    return [invalid(field, given, "must be less than or equal to previous value")] if given > was else []


def _check_tolerations(spec: Tree, before: Tree) -> list[ValidationError]:
    def identify(toleration: Tree) -> Tree:
        return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}

    given = [identify(t) for t in spec.get("tolerations") or ()]
    if all(identify(t) in given for t in before.get("tolerations") or ()):
        return []
    return [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")]


def _take_mutable(spec: Tree, before: Tree) -> Tree:
    """Return a spec in which everything that may change is as it was."""
    same = {k: v for k, v in spec.items() if k not in _MUTABLE}
    same.update({k: before[k] for k in _MUTABLE if k in before})
    for name in _LISTS:
        if name in spec and name in before:
            pairs = zip(spec[name], before[name], strict=True)
            same[name] = [{**c, "image": was["image"]} if "image" in was else c for c, was in pairs]
    if (before.get("terminationGracePeriodSeconds") or 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        same["terminationGracePeriodSeconds"] = before["terminationGracePeriodSeconds"]
    return same


# ---- pods that are held by gates may still be narrowed down to fewer nodes ----------------------------------------


def _check_narrowing(spec: Tree, before: Tree) -> list[ValidationError]:
    found = []
    selector, was = spec.get("nodeSelector") or {}, before.get("nodeSelector") or {}
    if any(selector.get(k) != v for k, v in was.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        found.append(invalid("spec.nodeSelector", selector, why))
    field = f"spec.affinity.nodeAffinity.{_TERMS}.nodeSelectorTerms"
    terms, terms_before = _get_terms(spec), _get_terms(before)
    if terms_before and len(terms) != len(terms_before):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [*found, invalid(field, terms, why)]
    pairs = enumerate(zip(terms, terms_before, strict=False))
    return found + [invalid(f"{field}[{i}]", term, _ADDITIONS) for i, (term, one) in pairs if not _adds_only(term, one)]


def _get_terms(spec: Tree) -> list[Any]:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_TERMS) or {}
    return list(required.get("nodeSelectorTerms") or ())


def _adds_only(term: Tree, before: Tree) -> bool:
    """Return whether a term asks for all that it asked for before; one that asked for nothing stays as it is."""
    names = ("matchExpressions", "matchFields")
    if not any(before.get(n) for n in names):
        return not any(term.get(n) for n in names)
    return all(e in (term.get(n) or ()) for n in names for e in before.get(n) or ())


def _take_narrowing(same: Tree, before: Tree) -> Tree:
    """Return a spec whose node selector and node affinity are as they were."""
    done = {k: v for k, v in same.items() if k not in ("nodeSelector", "affinity")}
    affinity = {k: v for k, v in (same.get("affinity") or {}).items() if k != "nodeAffinity"}
    was = before.get("affinity") or {}
    affinity.update({k: was[k] for k in ("nodeAffinity",) if k in was})
    if affinity or "affinity" in before:
        done["affinity"] = affinity
    if "nodeSelector" in before:
        done["nodeSelector"] = before["nodeSelector"]
    return done

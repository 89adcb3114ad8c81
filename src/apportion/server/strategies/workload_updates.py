"""What an update of a workload must not change. Source: pkg/apis/{apps,batch}/validation/validation.go upstream."""

from typing import Any, Final

from apportion.api import Tree
from apportion.base import ValidationError
from apportion.server.strategies.fields import fix, forbidden, invalid

_SET_MUTABLE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_SET_TEXT: Final = (
    f"updates to statefulset spec for fields other than {', '.join(repr(n) for n in _SET_MUTABLE[:-1])} and "
    f"{_SET_MUTABLE[-1]!r} are forbidden"
)
_JOB_FIXED: Final = fix(
    "spec.completionMode",
    "spec.podFailurePolicy",
    "spec.backoffLimitPerIndex",
    "spec.managedBy",
    "spec.successPolicy",
)
_DIRECTIVES: Final = ("tolerations", "nodeSelector", "schedulingGates")


def check_stateful_set_update(new: Tree, old: Tree) -> list[ValidationError]:
    """Only what does not name or store its pods may change."""
    fixed = [{k: v for k, v in (t.get("spec") or {}).items() if k not in _SET_MUTABLE} for t in (new, old)]
    return [] if fixed[0] == fixed[1] else [forbidden("spec", _SET_TEXT)]


def check_job_update(new: Tree, old: Tree) -> list[ValidationError]:
    """How much is to be done is fixed; where it runs may change while the job has not started."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    found = _check_completions(spec, before)
    found += fix("spec.selector")(new, old)
    template, was = spec.get("template") or {}, before.get("template") or {}
    if before.get("suspend") and not (old.get("status") or {}).get("startTime"):
        was = _take_directives(was, template)
    if template != was:
        found.append(invalid("spec.template", template, "field is immutable"))
    return found + _JOB_FIXED(new, old)


def _check_completions(spec: Tree, before: Tree) -> list[ValidationError]:
    field, given, was = "spec.completions", spec.get("completions"), before.get("completions")
    if given == was:
        return []
    if spec.get("completionMode") != "Indexed":
        return [invalid(field, given, "field is immutable")]
    if given is None:
        return [ValidationError(field, "Required value: cannot set to nil when completion mode is Indexed")]
    if given != spec.get("parallelism"):
        return [invalid(field, given, "can only be modified in tandem with `parallelism`")]
    return []


def _take_directives(template: Tree, source: Tree) -> Tree:
    """Return a pod template with the labels, annotations and scheduling directives of another one."""
    metadata = {k: v for k, v in (template.get("metadata") or {}).items() if k not in ("labels", "annotations")}
    given = source.get("metadata") or {}
    metadata.update({k: given[k] for k in ("labels", "annotations") if k in given})
    spec, wanted = dict(template.get("spec") or {}), source.get("spec") or {}
    for name in _DIRECTIVES:
        _copy(spec, wanted, name)
    affinity = dict(spec.get("affinity") or {})
    _copy(affinity, wanted.get("affinity") or {}, "nodeAffinity")
    spec.pop("affinity", None)
    if affinity or "affinity" in wanted:
        spec["affinity"] = affinity
    # the gate MutablePodResourcesForSuspendedJobs
    for name in ("containers", "initContainers"):
        if name in spec:
            spec[name] = _take_resources(spec[name], wanted.get(name) or [])
    return {**template, "metadata": metadata, "spec": spec}


def _take_resources(containers: list[Any], source: list[Any]) -> list[Any]:
    by_name = {c.get("name"): c.get("resources", {}) for c in source}
    return [{**c, "resources": by_name.get(c.get("name"), c.get("resources", {}))} for c in containers]


def _copy(target: Tree, source: Tree, name: str) -> None:
    target.pop(name, None)
    if name in source:
        target[name] = source[name]

"""What is wrong with a workload besides its pods. Source: pkg/apis/{apps,batch}/validation/validation.go upstream."""

from typing import Any, Final

import orjson

from apportion.api import Kind, Tree, compile_label_selector, decode_as, validate_pod_template
from apportion.api.view import LabelSelector
from apportion.base import ValidationError
from apportion.server.strategies.fields import forbidden, invalid, read_path
from apportion.server.strategies.pod_checks import check_running_pod

_SELECTING: Final = frozenset({"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"})
_SIZES: Final = ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
_JOB_SIZES: Final = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
_CONCURRENCY: Final = ("Allow", "Forbid", "Replace")
_CRON_NAME_MAX: Final = 52
_CRON_FIELDS: Final = 5


def check_workload(tree: Tree, kind: Kind) -> list[ValidationError]:
    """Return what is wrong with the spec of a workload, its pod template included."""
    spec = tree["spec"]
    if kind.name == "CronJob":
        return _check_cron_job(tree, spec)
    if kind.name == "Job":
        return _check_job(spec, "spec")
    return _check_selecting(spec, kind) if kind.name in _SELECTING else []


def check_sizes(spec: Tree, names: tuple[str, ...], field: str) -> list[ValidationError]:
    """Return the numbers that are negative."""
    given = ((f"{field}.{n}", spec.get(n)) for n in names)
    why = "must be greater than or equal to 0"
    return [invalid(path, value, why) for path, value in given if isinstance(value, int) and value < 0]


def _check_selecting(spec: Tree, kind: Kind) -> list[ValidationError]:
    selector, template = spec.get("selector"), spec.get("template")
    found = check_sizes(spec, _SIZES, "spec")
    if selector == {}:
        found.append(invalid("spec.selector", selector, f"empty selector is invalid for {kind.name.lower()}"))
    elif not selector:
        found.append(ValidationError("spec.selector", "Required value"))
    if not isinstance(template, dict):
        return [*found, ValidationError("spec.template", "Required value")]
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector:
        matcher = compile_label_selector(decode_as(LabelSelector, orjson.dumps(selector)), "spec.selector")
        if not matcher.matches(labels):
            why = "`selector` does not match template `labels`"
            found.append(invalid("spec.template.metadata.labels", labels, why))
    found += _check_template(template, "spec.template")
    policy = read_path(template, "spec", "restartPolicy")
    if policy not in (None, "", "Always"):
        why = f'Unsupported value: "{policy}": supported values: "Always"'
        found.append(ValidationError("spec.template.spec.restartPolicy", why))
    if read_path(template, "spec", "activeDeadlineSeconds") is not None:
        why = "activeDeadlineSeconds in ReplicaSet is not Supported"
        found.append(forbidden("spec.template.spec.activeDeadlineSeconds", why))
    return found


def _check_template(template: Tree, field: str) -> list[ValidationError]:
    return validate_pod_template(template, field) + check_running_pod(template.get("spec") or {}, f"{field}.spec")


def _check_job(spec: Tree, field: str) -> list[ValidationError]:
    found = check_sizes(spec, _JOB_SIZES, field)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        why = "Required value: when completion mode is Indexed"
        found.append(ValidationError(f"{field}.completions", why))
    template = spec.get("template")
    if not isinstance(template, dict):
        return [*found, ValidationError(f"{field}.template", "Required value")]
    found += _check_template(template, f"{field}.template")
    # "Always" may also be the default that nobody asked for
    if read_path(template, "spec", "restartPolicy") in (None, "", "Always"):
        why = 'Required value: valid values: "OnFailure", "Never"'
        found.append(ValidationError(f"{field}.template.spec.restartPolicy", why))
    return found


def _check_cron_job(tree: Tree, spec: Tree) -> list[ValidationError]:
    found = []
    if len(tree["metadata"].get("name") or "") > _CRON_NAME_MAX:
        why = f"must be no more than {_CRON_NAME_MAX} characters"
        found.append(invalid("metadata.name", tree["metadata"]["name"], why))
    found += _check_schedule(spec.get("schedule"))
    policy = spec.get("concurrencyPolicy")
    if policy not in _CONCURRENCY:
        known = ", ".join(f'"{p}"' for p in _CONCURRENCY)
        why = f'Unsupported value: "{policy}": supported values: {known}'
        found.append(ValidationError("spec.concurrencyPolicy", why))
    job = read_path(spec, "jobTemplate", "spec")
    return found + (_check_job(job, "spec.jobTemplate.spec") if isinstance(job, dict) else [])


def _check_schedule(schedule: Any) -> list[ValidationError]:
    if not schedule:
        return [ValidationError("spec.schedule", "Required value")]
    parts = schedule.split()
    if schedule.startswith("@") or len(parts) == _CRON_FIELDS:
        return []
    why = f"expected exactly {_CRON_FIELDS} fields, found {len(parts)}: [{' '.join(parts)}]"
    return [invalid("spec.schedule", schedule, why)]
